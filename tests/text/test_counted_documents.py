"""Counted documents as a table, pieces and their numbers, and n-grams of several fields."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.loops import for_each
from tests.text.documents import SmallDocument
from textcat.text import CountedDocuments, TextSettings, count_terms
from textcat.text.counting import DocumentCounter
from textcat.text.piece_counts import (
    ChunkCounts,
    RunCounter,
    SplitCounter,
)
from textcat.text.tokenizers import TOKENIZERS

labels = st.lists(st.sampled_from(["earn", "acq", "corn"]), max_size=3, unique=True).map(tuple)
tables = st.lists(st.tuples(labels, st.sampled_from(["train", "test", "unused"])), max_size=8)


def as_counted(rows: list[tuple[tuple[str, ...], str]]) -> CountedDocuments:
    counts = csr_array(np.arange(2 * len(rows), dtype=np.int32).reshape(len(rows), 2))
    ids = [f"d{number}" for number in range(len(rows))]
    return CountedDocuments(
        counts, ["a", "b"], ids, [each for each, _ in rows], [side for _, side in rows], (1, 2)
    )


@given(tables, st.permutations(["earn", "acq", "corn", "oil"]), st.integers(0, 4))
def test_labels_become_columns_in_the_order_that_is_asked_for(rows, order, number) -> None:
    """Labels that are not asked for are left out; a category without documents has an empty column."""
    categories = order[:number]
    found = as_counted(rows).make_sparse_labels(categories).toarray()
    assert found.shape == (len(rows), number)
    assert found.tolist() == [[category in each for category in categories] for each, _ in rows]


@given(tables, st.data())
def test_taking_rows_keeps_everything_of_them(rows, data) -> None:
    counted = as_counted(rows)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=bool)
    taken = counted.take(mask)
    kept = np.flatnonzero(mask)
    assert taken.counts.toarray().tolist() == counted.counts.toarray()[kept].tolist()
    assert (taken.ids, taken.labels, taken.split) == (
        [f"d{row}" for row in kept],
        [rows[row][0] for row in kept],
        [rows[row][1] for row in kept],
    )
    assert (taken.terms, taken.group_ends) == (counted.terms, counted.group_ends)
    sides = counted.in_split("train", "unused")
    assert sides.tolist() == [side != "test" for _, side in rows]
    assert not counted.in_split().any()


pieces = st.lists(st.lists(st.sampled_from(["a", "bb", "c", "dd"]), max_size=6), max_size=5)


@given(pieces, st.booleans())
@settings(max_examples=60, deadline=None)
def test_both_counters_number_pieces_in_the_order_of_their_first_occurrence(chunks, ahead: bool) -> None:
    """The compiled counter can go on from the pieces of the other, in the middle of a stream."""
    texts = [" ".join(each) for each in chunks]
    plain, started = SplitCounter(str.split), SplitCounter(str.split)
    known = ["c", "a"] if ahead else []
    for counter in (plain, started):
        counter.count(known)
    compiled = RunCounter(TOKENIZERS["alphabetic"], lowercase=False, known=started.list_pieces())
    for part in (texts[:2], texts[2:]):
        one, other = plain.count(part), compiled.count(part)
        rows = np.repeat(np.arange(len(part)), one.lengths)
        by_hand = [Counter(text.split()) for text in part]
        names = plain.list_pieces()
        found = [{} for _ in part]
        for row, column, count in zip(rows, one.columns, one.counts, strict=True):
            found[row][names[column]] = count
        assert found == by_hand
        for name in ("lengths", "counts"):
            assert sorted(getattr(one, name)) == sorted(getattr(other, name))
        assert (csr(one, len(names)) != csr(other, len(names))).nnz == 0
    assert plain.list_pieces() == compiled.list_pieces()
    order = dict.fromkeys([*known, *(piece for each in chunks for piece in each)])
    assert plain.list_pieces() == list(order)


def csr(counts: ChunkCounts, width: int) -> csr_array:
    ends = np.concatenate([[0], np.cumsum(counts.lengths)])
    return csr_array((counts.counts, counts.columns, ends), shape=(len(counts.lengths), width))


FIELDS: list[dict[str, Any]] = [
    {"fields": ["title", "body"]},
    {"fields": ["body", "title"]},
    {"fields": ["title", "body"], "separate_fields": ["title"]},
    {"fields": ["title", "body"], "separate_fields": ["title"], "doubled_fields": ["title"]},
    {"fields": ["title", "body"], "separate_fields": ["title", "body"]},
]
words = st.lists(st.sampled_from(["Corn", "up", "a"]), max_size=4).map(" ".join)


@pytest.mark.parametrize("fields", FIELDS, ids=str)
@given(
    st.lists(st.fixed_dictionaries({"title": words, "body": words}), min_size=1, max_size=4), st.booleans()
)
@settings(max_examples=25, deadline=None)
def test_n_grams_of_fields_are_those_of_their_joined_texts(fields, rows, lowercase: bool) -> None:
    """Merged fields are one text, so that n-grams cross from one to the next; separate ones have a prefix."""
    groups = [
        {"ngrams": [1, 2]},
        {"analyzer": "char_wb", "ngrams": [2, 3]},
        {"analyzer": "char", "ngrams": [4, 4]},
    ]
    chosen = TextSettings.model_validate(
        {"tokenizer": "whitespace", "lowercase": lowercase, "groups": groups, **fields}
    )
    documents = [SmallDocument(str(n), row) for n, row in enumerate(rows)]
    expected = []
    for row in rows:
        counts: Counter[str] = Counter()
        for prefix, names in chosen.field_groups:
            text = "\n".join(row[name] for name in names)
            text = text.lower() if lowercase else text
            tokens = text.split()
            counts.update(prefix + token for token in tokens)
            counts.update(f"{prefix}{a} {b}" for a, b in pairwise(tokens))
            for token in tokens:
                padded = f" {token} "
                counts.update(
                    f"char_wb:{prefix}{padded[i : i + n]}" for n in (2, 3) for i in range(len(padded) - n + 1)
                )
            flat = " ".join(tokens)
            counts.update(f"char:{prefix}{flat[i : i + 4]}" for i in range(len(flat) - 3))
        expected.append(counts)
    counted = count_terms(documents, chosen)
    dense = counted.counts.toarray()
    assert [{counted.terms[j]: int(row[j]) for j in np.flatnonzero(row)} for row in dense] == expected
    again = DocumentCounter(chosen, counted.terms, counted.group_ends).counts(documents)
    assert np.array_equal(again.toarray(), dense)


@for_each(
    ("key", "value"),
    [("weight", 2.0), ("weighting", "tf"), ("norm", "l1"), ("maximum_share", 0.5)],
)
def test_settings_that_only_weigh_groups_do_not_count_anew(key: str, value: Any) -> None:
    plain = TextSettings.model_validate({"groups": [{"ngrams": [1, 2]}]})
    changed = TextSettings.model_validate({"groups": [{"ngrams": [1, 2], key: value}]})
    assert changed.dump_for_counting() == plain.dump_for_counting()
    assert changed.model_dump() != plain.model_dump()


@for_each(
    "change",
    [
        {"tokenizer": "unicode"},
        {"lowercase": False},
        {"stem": "porter_martin"},
        {"stop_list": "smart"},
        {"stop_when": "after_stemming"},
        {"fields": ["body"]},
        {"separate_fields": ["title"]},
        {"groups": [{"ngrams": [1, 3]}]},
        {"groups": [{"ngrams": [1, 2], "minimum_documents": 2}]},
        {"groups": [{"ngrams": [1, 2], "analyzer": "char"}]},
        {"groups": []},
    ],
)
def test_settings_that_change_counts_are_in_the_key_of_counting(change: dict[str, Any]) -> None:
    base = {"groups": [{"ngrams": [1, 2]}]}
    plain, changed = (TextSettings.model_validate(each) for each in (base, base | change))
    assert changed.dump_for_counting() != plain.dump_for_counting()
