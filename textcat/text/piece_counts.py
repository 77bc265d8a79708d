"""Count the pieces of text in chunks of documents: the inner loop of counting, before stop words and stems.

A chunk is a list of documents; a document is a tuple of texts, one for each group of fields that share terms.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import Tokenizer, load_tokenizer

Chunk = Sequence[tuple[str, ...]]

# After this many chunks compiled code repays the tenth of a second that loading it takes.
CHUNKS_BEFORE_COMPILING = 5


@dataclass(frozen=True)
class ChunkCounts:
    """The nonzero counts of a chunk and a group, in document order.

    `lengths`: the number of different pieces of each document; `columns`: their numbers; `counts`: their counts.
    """

    lengths: NDArray[np.int32]
    columns: NDArray[np.int32]
    counts: NDArray[np.int32]

    def renumber(self, columns: NDArray[np.int32]) -> ChunkCounts:
        """Return the counts with piece t renumbered to columns[t]."""
        return ChunkCounts(self.lengths, columns[self.columns], self.counts)


class PieceTable(dict[str, int]):
    """Numbers pieces of text when they are first looked up, and stores the columns of their terms."""

    def __init__(self, columns_of: Callable[[str], list[int]]) -> None:
        super().__init__()
        self._find_columns = columns_of
        self.columns, self.ends = array("i"), array("q", [0])

    def __missing__(self, piece: str) -> int:
        self[piece] = number = len(self)
        self.columns.extend(self._find_columns(piece))
        self.ends.append(len(self.columns))
        return number

    def look_up(self, pieces: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the number of terms of each piece, and the columns of all these terms in order."""
        numbers = np.fromiter(map(self.__getitem__, pieces), np.int64, len(pieces))
        # Copies: an `array` with an exported buffer cannot grow.
        ends, columns = np.array(self.ends, dtype=np.int64), np.array(self.columns, dtype=np.int32)
        starts, lengths = ends[numbers], ends[numbers + 1] - ends[numbers]
        if len(lengths) and lengths.min() == lengths.max() == 1:
            return lengths, columns[starts]
        places = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        return lengths, columns[places]


def count_equal(rows: NDArray[np.int64], columns: NDArray[Any], shape: tuple[int, int]) -> ChunkCounts:
    """Return how often each place occurs, row by row; sorting brings equal places together."""
    keys = rows * max(shape[1], 1) + columns
    keys.sort()
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    rows, columns = np.divmod(keys[starts], max(shape[1], 1))
    return ChunkCounts(
        np.bincount(rows, minlength=shape[0]).astype(np.int32),
        columns.astype(np.int32),
        np.diff(starts, append=len(keys)).astype(np.int32),
    )


class SplitCounter:
    """Counts the pieces of a splitter, numbered in the order in which they first occur."""

    def __init__(self, split: Callable[[str], list[str]]) -> None:
        self._split, self._numbers = split, make_vocabulary()

    def list_pieces(self) -> list[str]:
        """Return the pieces in the order of their numbers."""
        return list(self._numbers)

    def count(self, texts: Sequence[str]) -> ChunkCounts:
        """Return the counts of some texts and number their new pieces."""
        pieces: list[str] = []
        ends = np.zeros(len(texts) + 1, dtype=np.int64)
        for row, text in enumerate(texts, start=1):
            pieces += self._split(text)
            ends[row] = len(pieces)
        numbers = number_pieces(pieces, self._numbers)
        rows = np.repeat(np.arange(len(texts), dtype=np.int64), np.diff(ends))
        return count_equal(rows, numbers, (len(texts), len(self._numbers)))


class RunCounter:
    """Counts runs of characters with compiled code; the pieces `known` have the first numbers."""

    def __init__(self, tokenizer: Tokenizer, *, lowercase: bool, known: Sequence[str] = ()) -> None:
        # Loading the compiler takes a while, which counting a few documents should not wait for.
        from textcat.text.compiled_runs import RunTable  # noqa: PLC0415

        self._encode = tokenizer.make_encoder(lowercase=lowercase)
        self._table = RunTable(tokenizer.characters)
        self._table.count([piece.encode("latin-1") for piece in known])

    def list_pieces(self) -> list[str]:
        """Return the pieces in the order of their numbers."""
        return self._table.list_pieces()

    def count(self, texts: Sequence[str]) -> ChunkCounts:
        """Return the counts of some texts and number their new pieces."""
        return ChunkCounts(*self._table.count(list(map(self._encode, texts))))


PieceCounter = SplitCounter | RunCounter


def make_piece_counter(settings: TextSettings) -> PieceCounter:
    """Return a counter that needs no compiled code."""
    return SplitCounter(load_tokenizer(settings.tokenizer).make_splitter(lowercase=settings.lowercase))


def compile_piece_counter(counter: PieceCounter, settings: TextSettings) -> PieceCounter:
    """Return a compiled counter that continues `counter`, or `counter` if the tokenizer allows none."""
    tokenizer = load_tokenizer(settings.tokenizer)
    if not isinstance(tokenizer, Tokenizer) or not tokenizer.characters:
        return counter
    return RunCounter(tokenizer, lowercase=settings.lowercase, known=counter.list_pieces())


def count_chunk(chunk: Chunk, counters: Sequence[PieceCounter]) -> list[ChunkCounts]:
    """Return the counts of each group of fields by its counter."""
    return [counter.count([texts[group] for texts in chunk]) for group, counter in enumerate(counters)]


def count_chunks(
    settings: TextSettings, chunks: Sequence[Chunk]
) -> tuple[list[list[str]], list[list[ChunkCounts]]]:
    """Count chunks in a worker; return the pieces of each group, and the counts of each chunk and group."""
    counters = [make_piece_counter(settings) for _ in settings.field_groups]
    if len(chunks) > CHUNKS_BEFORE_COMPILING:
        counters = [compile_piece_counter(counter, settings) for counter in counters]
    counted = [count_chunk(chunk, counters) for chunk in chunks]
    return [counter.list_pieces() for counter in counters], counted


def make_vocabulary() -> defaultdict[str, int]:
    """Return a dictionary that numbers each piece when it is first looked up."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    return vocabulary


def number_pieces(pieces: Sequence[str], vocabulary: defaultdict[str, int]) -> NDArray[np.int32]:
    """Return the numbers of pieces; new pieces are added to the vocabulary."""
    return np.fromiter(map(vocabulary.__getitem__, pieces), np.int32, len(pieces))
