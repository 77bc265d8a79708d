"""Counting the pieces of text of a chunk of documents: the hot part of counting, before stems and stop words.

A chunk is a list of documents, a document a tuple of texts, one for each group of fields that share words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textcat.text.settings import TextSettings
from textcat.text.tokenizers import tokenizer_named

Chunk = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class ChunkCounts:
    """The nonzero counts of a chunk and a group, document after document.

    `lengths` is how many different pieces each document has, `columns` their numbers,
    `counts` how often they occur.
    """

    lengths: NDArray[np.int32]
    columns: NDArray[np.int32]
    counts: NDArray[np.int32]

    def renumbered(self, columns: NDArray[np.int32]) -> ChunkCounts:
        """The same counts, the piece of number t being number columns[t]."""
        return ChunkCounts(self.lengths, columns[self.columns], self.counts)


def new_vocabulary() -> defaultdict[str, int]:
    """A dictionary that numbers each piece when it is first looked up."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    return vocabulary


def count_chunk(
    chunk: Chunk, split: Callable[[str], list[str]], vocabularies: Sequence[defaultdict[str, int]]
) -> list[ChunkCounts]:
    """The counts of each group of fields; pieces that a group's vocabulary does not know are added."""
    return [
        _count_texts([texts[group] for texts in chunk], split, vocabulary)
        for group, vocabulary in enumerate(vocabularies)
    ]


def count_chunk_alone(settings: TextSettings, chunk: Chunk) -> list[tuple[list[str], ChunkCounts]]:
    """The same in a process of its own: the pieces of each group in order of number, and their counts."""
    split = tokenizer_named(settings.tokenizer).splitter(lowercase=settings.lowercase)
    vocabularies = [new_vocabulary() for _ in settings.groups]
    counted = count_chunk(chunk, split, vocabularies)
    return [(list(vocabulary), counts) for vocabulary, counts in zip(vocabularies, counted, strict=True)]


def piece_numbers(pieces: Sequence[str], vocabulary: defaultdict[str, int]) -> NDArray[np.int32]:
    """The numbers of pieces, new ones being added."""
    return np.fromiter(map(vocabulary.__getitem__, pieces), np.int32, len(pieces))


def _count_texts(
    texts: Sequence[str], split: Callable[[str], list[str]], vocabulary: defaultdict[str, int]
) -> ChunkCounts:
    pieces: list[str] = []
    ends = np.zeros(len(texts) + 1, dtype=np.int64)
    for row, text in enumerate(texts, start=1):
        pieces += split(text)
        ends[row] = len(pieces)
    numbers = piece_numbers(pieces, vocabulary)
    rows = np.repeat(np.arange(len(texts), dtype=np.int64), np.diff(ends))
    # One sort of (row, number) keys brings equal pieces of a document together: the length of a run is
    # their count.
    width = max(len(vocabulary), 1)
    keys = rows * width + numbers
    keys.sort()
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    rows, columns = np.divmod(keys[starts], width)
    return ChunkCounts(
        np.bincount(rows, minlength=len(texts)).astype(np.int32),
        columns.astype(np.int32),
        np.diff(starts, append=len(keys)).astype(np.int32),
    )
