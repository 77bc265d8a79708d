"""The compiled counter of runs against a plain dictionary, with small tables, with collisions, and by every caller."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from tests.text.documents import documents
from textcat.parallel import SerialExecutor
from textcat.text import TextSettings, count_terms
from textcat.text import piece_counts as module
from textcat.text.piece_counts import (
    ChunkCounts,
    RunCounter,
    RunTable,
    SplitCounter,
    compile_piece_counter,
    make_piece_counter,
)
from textcat.text.tokenizers import TOKENIZERS

LETTERS = b"abcdefghijklmnopqrstuvwxyz\xe9\xff"
# Runs around the length of a code (eight bytes), and long ones that differ in one place only.
run = st.one_of(
    st.binary(min_size=1, max_size=12).map(lambda b: bytes(LETTERS[c % len(LETTERS)] for c in b)),
    st.tuples(st.integers(0, 11), st.sampled_from(LETTERS)).map(
        lambda at: b"a" * at[0] + bytes([at[1]]) + b"a" * (11 - at[0])
    ),
)
text = st.lists(run, max_size=12).map(b" ".join)


def by_text(table: RunTable, texts: list[bytes]) -> list[dict[str, int]]:
    lengths, columns, counts = table.count(texts)
    pieces = table.list_pieces()
    ends = np.cumsum(lengths)
    return [
        {pieces[columns[k]]: int(counts[k]) for k in range(end - length, end)}
        for length, end in zip(lengths, ends, strict=True)
    ]


def expected(texts: list[bytes]) -> list[dict[str, int]]:
    return [dict(Counter(re.findall(r"[a-z\xe9\xff]+", text.decode("latin-1")))) for text in texts]


@settings(deadline=None)
@given(st.lists(st.lists(text, max_size=5), max_size=4), st.sampled_from([1, 2, 64]), st.booleans())
@example([[b"x" * 5000, b"x" * 5000 + b" " + b"x" * 4999 + b"y"]], 1, False)
def test_runs_are_counted_as_by_a_dictionary(
    batches: list[list[bytes]], capacity: int, collide: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_INITIAL_CAPACITY", capacity)
        table = RunTable(LETTERS)
    if collide:
        # A key whose products have no top bits sends every run to the first slot.
        table._key = np.uint64(0)
    met: list[str] = []
    for texts in batches:
        assert by_text(table, texts) == expected(texts)
        met += re.findall(r"[a-z\xe9\xff]+", b"\n".join(texts).decode("latin-1"))
    assert table.list_pieces() == list(dict.fromkeys(met))
    assert len(table) == len(set(met))


@for_each("tokenizer", sorted(TOKENIZERS))
@for_each("lowercase", [True, False])
def test_a_quicker_counter_goes_on_with_the_same_numbers(tokenizer: str, lowercase: bool) -> None:
    chosen = TextSettings(tokenizer=tokenizer, lowercase=lowercase, fields=("body",))
    before = ["IBM's U.S. don't na\u00efve", "x-ray \u212aelvin \u0130stanbul <B>bold</B>"]
    after = ["the x-ray of IBM, IBM", "", "\u0410\u0411 caf\u00e9 caf\u00e9 incomprehensibilities " * 2]
    plain = make_piece_counter(chosen)
    plain.count(before)
    faster = compile_piece_counter(piece_counter_after(chosen, before), chosen)
    assert isinstance(faster, RunCounter if TOKENIZERS[tokenizer].characters else SplitCounter)
    left, right = plain.count(after), faster.count(after)
    assert plain.list_pieces() == faster.list_pieces()
    for row in range(len(after)):
        assert counts_of(left, row) == counts_of(right, row)


def piece_counter_after(chosen: TextSettings, texts: list[str]) -> SplitCounter:
    counter = make_piece_counter(chosen)
    counter.count(texts)
    assert isinstance(counter, SplitCounter)
    return counter


def counts_of(counts: ChunkCounts, row: int) -> dict[int, int]:
    end = int(counts.lengths[: row + 1].sum())
    own = slice(end - int(counts.lengths[row]), end)
    return dict(zip(counts.columns[own].tolist(), counts.counts[own].tolist(), strict=True))


def test_workers_that_count_compiled_find_the_same() -> None:
    bodies = [f"word{number % 7} shared {'x' * (number % 13)} caf\u00e9" for number in range(40)]
    chosen = TextSettings(fields=("body",), tokenizer="alphanumeric")
    alone = count_terms(documents(*bodies), chosen, chunk_size=40)
    for chunk_size in (1, 2, 7):
        found = count_terms(documents(*bodies), chosen, chunk_size=chunk_size, executor=SerialExecutor())
        assert found.terms == alone.terms
        assert (found.counts != alone.counts).nnz == 0
