"""Counting terms: documents in, a sparse matrix of counts out, in chunks and if wished in several processes.

Chunks are counted by raw token; stop words and stems are settled afterwards, over the distinct tokens. The
terms are sorted at the end, so the result depends neither on the size of the chunks nor on the number of
processes. Only counts and distinct tokens are kept, never the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from textcat.errors import UsageError
from textcat.text.chunks import (
    Chunk,
    ChunkCounts,
    count_chunk,
    count_chunk_alone,
    new_vocabulary,
    token_numbers,
)
from textcat.text.counted import CountedDocuments
from textcat.text.settings import TextSettings
from textcat.text.terms import merge_tokens
from textcat.text.tokenizers import TOKENIZERS

# Documents whose tokens are counted together: with more, the tokens no longer fit the processor's cache.
DOCUMENTS_A_CHUNK = 200
# Chunks that each process is given at a time: enough to keep it busy, few enough to stay small in memory.
CHUNKS_A_PROCESS = 16


class TextDocument(Protocol):
    """What counting needs of a document."""

    @property
    def id(self) -> str:
        """The document's name in its corpus."""

    @property
    def fields(self) -> Mapping[str, str]:
        """The texts, by field."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories of the document."""

    @property
    def split(self) -> str:
        """The part of the corpus the document belongs to."""


@dataclass
class _Roll:
    """What is noted of each document while its text goes by."""

    ids: list[str] = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)
    split: list[str] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)

    def chunks(self, documents: Iterable[TextDocument], settings: TextSettings, size: int) -> Iterator[Chunk]:
        """The texts of the documents by group of fields, `size` documents at a time."""
        groups = [names for _, names in settings.groups]
        remaining = iter(documents)
        while batch := list(islice(remaining, size)):
            for document in batch:
                self.ids.append(document.id)
                self.labels.append(tuple(document.labels))
                self.split.append(document.split)
                self.fields.update(document.fields)
            yield [
                tuple("\n".join(doc.fields.get(n, "") for n in names) for names in groups) for doc in batch
            ]


def count(
    documents: Iterable[TextDocument],
    settings: TextSettings,
    *,
    n_jobs: int = 1,
    chunk_size: int = DOCUMENTS_A_CHUNK,
    progress: Callable[[int], None] | None = None,
    missing_fields: bool = False,
) -> CountedDocuments:
    """Count the terms of documents; the result is the same for any `n_jobs` and `chunk_size`.

    `progress` is called with the number of documents just done. A field of the settings that no document has
    is an error unless `missing_fields` allows it.
    """
    roll = _Roll()
    vocabularies = [new_vocabulary() for _ in settings.groups]
    chunks = roll.chunks(documents, settings, chunk_size)
    counted = (
        _counted_here(chunks, settings, vocabularies)
        if n_jobs == 1
        else _counted_in_processes(chunks, settings, vocabularies, n_jobs)
    )
    parts: list[list[ChunkCounts]] = []
    starts = [0]
    for size, part in counted:
        parts.append(part)
        starts.append(starts[-1] + size)
        if progress is not None:
            progress(size)
    if roll.ids and not missing_fields:
        _refuse_unknown_fields(settings, roll.fields)
    terms, columns = merge_tokens(
        [(prefix, vocabulary) for (prefix, _), vocabulary in zip(settings.groups, vocabularies, strict=True)],
        settings,
    )
    matrix = _assemble(parts, starts, columns, len(terms))
    return CountedDocuments(matrix, terms, roll.ids, roll.labels, roll.split)


def _counted_here(
    chunks: Iterator[Chunk], settings: TextSettings, vocabularies: list[defaultdict[str, int]]
) -> Iterator[tuple[int, list[ChunkCounts]]]:
    split = TOKENIZERS[settings.tokenizer].splitter(lowercase=settings.lowercase)
    for chunk in chunks:
        yield len(chunk), count_chunk(chunk, split, vocabularies)


def _counted_in_processes(
    chunks: Iterator[Chunk], settings: TextSettings, vocabularies: list[defaultdict[str, int]], n_jobs: int
) -> Iterator[tuple[int, list[ChunkCounts]]]:
    with Parallel(n_jobs=n_jobs) as pool:
        while wave := list(islice(chunks, CHUNKS_A_PROCESS * effective_n_jobs(n_jobs))):
            results = pool(delayed(count_chunk_alone)(chunk, settings) for chunk in wave)
            for chunk, groups in zip(wave, results, strict=True):
                yield (
                    len(chunk),
                    [
                        counts.renumbered(token_numbers(tokens, vocabulary))
                        for (tokens, counts), vocabulary in zip(groups, vocabularies, strict=True)
                    ],
                )


def _assemble(
    parts: list[list[ChunkCounts]], starts: list[int], columns: list[NDArray[np.int32]], terms: int
) -> csr_array:
    """One matrix of the chunks and groups of fields; tokens of the same term are added up."""
    blocks: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]] = []
    for start, part in zip(starts, parts, strict=False):
        for group, counts in enumerate(part):
            column = columns[group][counts.columns]
            kept = column >= 0
            blocks.append((counts.rows[kept] + np.int32(start), column[kept], counts.counts[kept]))
    empty = np.empty(0, dtype=np.int32)
    rows, cols, data = (np.concatenate([empty, *(block[part] for block in blocks)]) for part in range(3))
    matrix = csr_array(coo_array((data, (rows, cols)), shape=(starts[-1], terms), dtype=np.int32))
    matrix.sum_duplicates()
    return matrix


def _refuse_unknown_fields(settings: TextSettings, present: set[str]) -> None:
    missing = [name for name in settings.fields if name not in present]
    if missing:
        raise UsageError(
            f"no document has the field {', '.join(missing)}",
            where="text.fields",
            hint=f"The documents have: {', '.join(sorted(present)) or 'no fields at all'}.",
        )
