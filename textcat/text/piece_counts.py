"""Counting the pieces of text of a chunk of documents: the hot part of counting, before stems and stop words.

A chunk is a list of documents, a document a tuple of texts, one for each group of fields that share words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import Tokenizer, load_tokenizer

Chunk = Sequence[tuple[str, ...]]

# After so many chunks compiled code is worth the tenth of a second that it takes to load.
CHUNKS_BEFORE_COMPILING = 5


@dataclass(frozen=True)
class ChunkCounts:
    """The nonzero counts of a chunk and a group, document after document.

    `lengths` is how many different pieces each document has, `columns` their numbers,
    `counts` how often they occur.
    """

    lengths: NDArray[np.int32]
    columns: NDArray[np.int32]
    counts: NDArray[np.int32]

    def renumber(self, columns: NDArray[np.int32]) -> ChunkCounts:
        """The same counts, the piece of number t being number columns[t]."""
        return ChunkCounts(self.lengths, columns[self.columns], self.counts)


class PieceCounter(Protocol):
    """Numbers pieces of text as they appear, and counts them."""

    def count(self, texts: Sequence[str]) -> ChunkCounts:
        """The counts of some texts; pieces not met before are added."""

    def list_pieces(self) -> list[str]:
        """The pieces by number."""


class SplitCounter:
    """Pieces as a splitter gives them, numbered by a dictionary."""

    def __init__(self, split: Callable[[str], list[str]]) -> None:
        self._split, self._numbers = split, make_vocabulary()

    def list_pieces(self) -> list[str]:
        """The pieces by number."""
        return list(self._numbers)

    def count(self, texts: Sequence[str]) -> ChunkCounts:
        """The counts of some texts; pieces not met before are added."""
        pieces: list[str] = []
        ends = np.zeros(len(texts) + 1, dtype=np.int64)
        for row, text in enumerate(texts, start=1):
            pieces += self._split(text)
            ends[row] = len(pieces)
        numbers = number_pieces(pieces, self._numbers)
        rows = np.repeat(np.arange(len(texts), dtype=np.int64), np.diff(ends))
        # One sort of (row, number) keys brings equal pieces of a document together: the length of a run is
        # their count.
        width = max(len(self._numbers), 1)
        keys = rows * width + numbers
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        rows, columns = np.divmod(keys[starts], width)
        return ChunkCounts(
            np.bincount(rows, minlength=len(texts)).astype(np.int32),
            columns.astype(np.int32),
            np.diff(starts, append=len(keys)).astype(np.int32),
        )


class RunCounter:
    """Pieces that are runs of characters, counted by compiled code; `known` are numbered already."""

    def __init__(self, tokenizer: Tokenizer, *, lowercase: bool, known: Sequence[str] = ()) -> None:
        # The compiler takes a while to load; who counts a few documents should not wait for it.
        from textcat.text.compiled_runs import RunTable  # noqa: PLC0415

        self._encode, self._table = (
            tokenizer.make_encoder(lowercase=lowercase),
            RunTable(tokenizer.characters),
        )
        self._table.count([piece.encode("latin-1") for piece in known])

    def list_pieces(self) -> list[str]:
        """The pieces by number."""
        return self._table.list_pieces()

    def count(self, texts: Sequence[str]) -> ChunkCounts:
        """The counts of some texts; pieces not met before are added."""
        return ChunkCounts(*self._table.count(list(map(self._encode, texts))))


def make_piece_counter(settings: TextSettings) -> PieceCounter:
    """A counter that works at once."""
    return SplitCounter(load_tokenizer(settings.tokenizer).make_splitter(lowercase=settings.lowercase))


def compile_piece_counter(counter: PieceCounter, settings: TextSettings) -> PieceCounter:
    """A compiled counter to go on with, where the tokenizer allows one."""
    tokenizer = load_tokenizer(settings.tokenizer)
    if not isinstance(tokenizer, Tokenizer) or not tokenizer.characters:
        return counter
    return RunCounter(tokenizer, lowercase=settings.lowercase, known=counter.list_pieces())


def count_chunk(chunk: Chunk, counters: Sequence[PieceCounter]) -> list[ChunkCounts]:
    """The counts of each group of fields by its counter."""
    return [counter.count([texts[group] for texts in chunk]) for group, counter in enumerate(counters)]


def count_chunks(
    settings: TextSettings, chunks: Sequence[Chunk]
) -> tuple[list[list[str]], list[list[ChunkCounts]]]:
    """Chunks in a process of its own: the pieces of each group by number, and the counts of each chunk and group."""
    counters = [make_piece_counter(settings) for _ in settings.groups]
    if len(chunks) > CHUNKS_BEFORE_COMPILING:
        counters = [compile_piece_counter(counter, settings) for counter in counters]
    counted = [count_chunk(chunk, counters) for chunk in chunks]
    return [counter.list_pieces() for counter in counters], counted


def make_vocabulary() -> defaultdict[str, int]:
    """A dictionary that numbers each piece when it is first looked up."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    return vocabulary


def number_pieces(pieces: Sequence[str], vocabulary: defaultdict[str, int]) -> NDArray[np.int32]:
    """The numbers of pieces, new ones being added."""
    return np.fromiter(map(vocabulary.__getitem__, pieces), np.int32, len(pieces))
