"""Count the terms of documents in chunks, with one or more workers, into a sparse matrix.

Chunks count the pieces of text that the tokenizer's splitter gives. Words, stop words and stems are computed
afterwards, once for each distinct piece. Terms are sorted at the end, so the result depends neither on the size of
the chunks nor on the executor. Only counts and distinct pieces are kept in memory, no text.

New documents are counted over the terms of a trained model, batch after batch, with the same counts. The columns of a
piece's terms are computed once and cached, so that stemming costs nothing for common words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textcat.errors import UsageError
from textcat.parallel import Executor, start_workers
from textcat.splits import digest_text
from textcat.text.piece_counts import (
    Chunk,
    ChunkCounts,
    PieceTable,
    choose_first_compiled_chunk,
    compile_piece_counter,
    count_chunk,
    count_chunks,
    count_equal,
    make_piece_counter,
    make_vocabulary,
    number_pieces,
)
from textcat.text.terms import make_term_extractor, map_pieces_to_terms
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import TOKENIZERS

if TYPE_CHECKING:
    from textcat.text.ngrams import NgramDocumentCounter


def pack_json(value: object) -> NDArray[np.uint8]:
    """Return a JSON-able value as an array of bytes."""
    return np.frombuffer(json.dumps(value, separators=(",", ":")).encode("ascii"), dtype=np.uint8)


def unpack_json(array: NDArray[np.uint8]) -> Any:
    """Return the value of an array made by `pack_json`."""
    return json.loads(array.tobytes().decode("ascii"))


@dataclass(frozen=True)
class CountedDocuments:
    """Counts, documents x terms (CSR of int32, sorted indices, no zeros), with the names of rows and columns.

    `terms` are sorted by code point, those of each group if there are groups, whose last columns are before
    `group_ends`; `ids`, `labels` and `split` have an entry for each row, in corpus order. `texts` has equal numbers for
    equal texts.
    """

    counts: csr_array
    terms: list[str]
    ids: list[str]
    labels: list[tuple[str, ...]]
    split: list[str]
    group_ends: tuple[int, ...] = ()
    texts: NDArray[np.uint64] | None = None

    def in_split(self, *names: str) -> NDArray[np.bool_]:
        """Return a mask of the rows in one of the named splits."""
        return np.array([name in names for name in self.split], dtype=np.bool_)

    def take(self, rows: NDArray[np.bool_]) -> CountedDocuments:
        """Return the rows of a mask, with all terms."""
        return self.take_rows(np.flatnonzero(rows))

    def take_rows(self, rows: NDArray[np.integer[Any]]) -> CountedDocuments:
        """Return the rows with these numbers, with all terms."""
        return CountedDocuments(
            counts=self.counts[rows],
            terms=self.terms,
            ids=[self.ids[row] for row in rows],
            labels=[self.labels[row] for row in rows],
            split=[self.split[row] for row in rows],
            group_ends=self.group_ends,
            texts=None if self.texts is None else self.texts[rows],
        )

    def make_sparse_labels(self, categories: Sequence[str]) -> csr_array[Any]:
        """Return labels as documents x categories; labels not among `categories` are left out."""
        column = {category: index for index, category in enumerate(categories)}
        rows = [sorted({column[label] for label in labels if label in column}) for labels in self.labels]
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        columns = np.fromiter(chain.from_iterable(rows), dtype=np.int32, count=starts[-1])
        shape = (len(rows), len(categories))
        return csr_array((np.ones(len(columns), dtype=np.bool_), columns, starts), shape=shape)


# Documents per chunk: the words of more documents do not fit the processor's cache.
DOCUMENTS_PER_CHUNK = 200
# Chunks sent to a worker at a time: enough to keep it busy, few enough to stay small in memory.
CHUNKS_PER_WORKER = 16


class TextDocument(Protocol):
    """The parts of a document that counting uses."""

    @property
    def id(self) -> str:
        """The name of the document in its corpus."""

    @property
    def fields(self) -> Mapping[str, str]:
        """Field name -> text."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories of the document."""

    @property
    def split(self) -> str:
        """The split of the corpus that the document is in."""


@dataclass
class _DocumentLog:
    """Records ids, labels, splits and field names while documents are read once."""

    ids: list[str] = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)
    split: list[str] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)
    digests: list[bytes] = field(default_factory=list)

    @property
    def texts(self) -> NDArray[np.uint64]:
        """A number for each text."""
        return np.frombuffer(b"".join(self.digests), dtype="<u8").astype(np.uint64)

    def chunks(self, documents: Iterable[TextDocument], settings: TextSettings, size: int) -> Iterator[Chunk]:
        """Yield the texts of the documents by group of fields, in chunks of `size` documents."""
        groups = [names for _, names in settings.field_groups]
        clean = settings.cleaner or str
        remaining = iter(documents)
        while batch := list(islice(remaining, size)):
            self.ids += [document.id for document in batch]
            self.labels += [tuple(document.labels) for document in batch]
            self.split += [document.split for document in batch]
            self.fields.update(*[document.fields for document in batch])
            chunk: Chunk = [
                tuple([clean("\n".join([doc.fields.get(n, "") for n in names])) for names in groups])
                for doc in batch
            ]
            self.digests += [digest_text(*texts) for texts in chunk]
            yield chunk


def count_terms(
    documents: Iterable[TextDocument],
    settings: TextSettings,
    *,
    n_jobs: int = 1,
    chunk_size: int = DOCUMENTS_PER_CHUNK,
    progress: Callable[[int], None] | None = None,
    missing_fields: bool = False,
    executor: Executor | None = None,
) -> CountedDocuments:
    """Count the terms of documents; the result is the same for any `n_jobs`, `chunk_size` and `executor`.

    Chunks are counted by the executor, or without one in `n_jobs` processes. `progress` is called with the number
    of documents just counted. A field of the settings that no document has is an error unless `missing_fields`.
    """
    log = _DocumentLog()
    chunks = log.chunks(documents, settings, chunk_size)
    report = progress or (lambda documents: None)
    if settings.groups:
        return _count_groups(log, chunks, settings, report, missing_fields=missing_fields)
    with nullcontext(executor) if executor or n_jobs == 1 else start_workers("processes", n_jobs) as workers:
        counting = _count_serially if workers is None else partial(_count_in_parallel, workers)
        pieces, parts = counting(chunks, settings, report)
    if log.ids and not missing_fields:
        _refuse_unknown_fields(settings, log.fields)
    terms, of_pieces = map_pieces_to_terms(
        [(prefix, known) for (prefix, _), known in zip(settings.field_groups, pieces, strict=True)], settings
    )
    counts = _stack_counts([], len(log.ids), len(terms))
    for group, matrix in enumerate(of_pieces):
        found = _stack_counts([part[group] for part in parts], len(log.ids), matrix.shape[0]) @ matrix
        counts = counts + found if group else found
    _sort_columns(counts)
    return CountedDocuments(counts, terms, log.ids, log.labels, log.split, texts=log.texts)


def _count_groups(
    log: _DocumentLog,
    chunks: Iterator[Chunk],
    settings: TextSettings,
    progress: Callable[[int], None],
    *,
    missing_fields: bool,
) -> CountedDocuments:
    """Count groups of n-grams in this process: compiled code is faster than sending text to another one."""
    # Loading the compiler takes a while, which counting words should not wait for.
    from textcat.text.ngrams import NgramCollector  # noqa: PLC0415

    collector = NgramCollector(settings)
    for chunk in chunks:
        collector.add(chunk)
        progress(len(chunk))
    if log.ids and not missing_fields:
        _refuse_unknown_fields(settings, log.fields)
    found = collector.collect()
    return CountedDocuments(
        found.counts, found.terms, log.ids, log.labels, log.split, found.group_ends, log.texts
    )


def _count_serially(
    chunks: Iterator[Chunk], settings: TextSettings, progress: Callable[[int], None]
) -> tuple[list[list[str]], list[list[ChunkCounts]]]:
    """Return the pieces of each group by number, and the counts of each chunk and group."""
    counters = [make_piece_counter(settings) for _ in settings.field_groups]
    parts: list[list[ChunkCounts]] = []
    first_compiled = choose_first_compiled_chunk()
    for number, chunk in enumerate(chunks):
        if number == first_compiled:
            counters = [compile_piece_counter(counter, settings) for counter in counters]
        parts.append(count_chunk(chunk, counters))
        progress(len(chunk))
    return [counter.list_pieces() for counter in counters], parts


def _count_in_parallel(
    workers: Executor, chunks: Iterator[Chunk], settings: TextSettings, progress: Callable[[int], None]
) -> tuple[list[list[str]], list[list[ChunkCounts]]]:
    """Return the same from workers that each count some chunks; their piece numbers are replaced by common ones."""
    vocabularies = [make_vocabulary() for _ in settings.field_groups]
    parts: list[list[ChunkCounts]] = []
    while wave := [some for _ in range(workers.size) if (some := list(islice(chunks, CHUNKS_PER_WORKER)))]:
        for some, (pieces, counted) in zip(
            wave, workers.map_items(count_chunks, settings, wave), strict=True
        ):
            numbers = [number_pieces(own, known) for own, known in zip(pieces, vocabularies, strict=True)]
            for chunk, groups in zip(some, counted, strict=True):
                parts.append([counts.renumber(new) for counts, new in zip(groups, numbers, strict=True)])
                progress(len(chunk))
    return [list(vocabulary) for vocabulary in vocabularies], parts


def _stack_counts(parts: Sequence[ChunkCounts], documents: int, pieces: int) -> csr_array:
    """Return the stacked chunks of a group of fields, documents x pieces; all zeros without chunks."""
    ends = np.zeros(documents + 1, dtype=np.int32)
    if not parts:
        return csr_array((np.empty(0, np.int32), np.empty(0, np.int32), ends), shape=(documents, pieces))
    np.cumsum(np.concatenate([part.lengths for part in parts]), out=ends[1:])
    counts = np.concatenate([part.counts for part in parts])
    columns = np.concatenate([part.columns for part in parts])
    return csr_array((counts, columns, ends), shape=(documents, pieces))


# Entries of a matrix that are sorted together, so that copies of them stay small.
_ENTRIES_PER_SORT = 4_000_000


def _sort_columns(counts: csr_array) -> None:
    """Sort the columns of each row, which are all different, by two counting sorts: half the time of comparisons."""
    starts, row = counts.indptr, 0
    while row < counts.shape[0]:
        after = int(np.searchsorted(starts, starts[row] + _ENTRIES_PER_SORT, side="right")) - 1
        stop = max(after, row + 1)
        part = counts[row:stop].tocsc().tocsr()
        own = slice(starts[row], starts[stop])
        counts.indices[own], counts.data[own] = part.indices, part.data
        row = stop
    counts.has_canonical_format = True


def _refuse_unknown_fields(settings: TextSettings, present: set[str]) -> None:
    missing = [name for name in settings.fields if name not in present]
    if missing:
        raise UsageError(
            f"no document has the field {', '.join(missing)}",
            where="text.fields",
            hint=f"Fields of the documents: {', '.join(sorted(present)) or 'none'}. Name them: "
            f"`text: {{fields: [{', '.join(sorted(present))}]}}`.",
        )


# The cache is emptied when it holds this many pieces, so memory stays bounded.
MAX_CACHED_PIECES = 500_000


class DocumentCounter:
    """Counts documents: known terms have their given columns, other terms get columns after them.

    With groups of n-grams, which end in `group_ends`, other terms are left out.
    """

    def __init__(self, settings: TextSettings, terms: Sequence[str], group_ends: Sequence[int] = ()) -> None:
        self.settings, self.terms = settings, terms
        self._lock = Lock()
        self._ngrams: NgramDocumentCounter | None = None
        if settings.groups:
            # Loading the compiler takes a while, which models of words should not wait for.
            from textcat.text.ngrams import NgramDocumentCounter  # noqa: PLC0415

            self._ngrams = NgramDocumentCounter(settings, terms, group_ends)
        self._split = TOKENIZERS[settings.tokenizer].make_splitter(lowercase=settings.lowercase)
        self._clean = settings.cleaner or str
        self._known = {term: column for column, term in enumerate(terms)}
        self._forget()

    def _forget(self) -> None:
        self._make = make_term_extractor(self.settings)
        self._others: dict[str, int] = {}
        self._groups = [
            (fields, PieceTable(partial(self._find_columns, prefix)))
            for prefix, fields in self.settings.field_groups
        ]

    def _join_fields(self, document: TextDocument, names: Sequence[str]) -> str:
        return self._clean("\n".join([document.fields.get(name, "") for name in names]))

    def _find_columns(self, prefix: str, piece: str) -> list[int]:
        """Return the columns of a piece's terms; a new term gets the next column."""
        others, first = self._others, len(self.terms)
        return [
            self._known[term] if term in self._known else others.setdefault(term, first + len(others))
            for term in (prefix + word for word in self._make(piece))
        ]

    def counts(self, documents: Sequence[TextDocument]) -> csr_array:
        """Return counts, documents x all terms so far; int32, sorted, no zeros. Threads take turns: tables grow."""
        with self._lock:
            return self._count(documents)

    def _count(self, documents: Sequence[TextDocument]) -> csr_array:
        if self._ngrams is not None:
            fields = [names for _, names in self.settings.field_groups]
            return self._ngrams.counts(
                [tuple(self._join_fields(doc, names) for names in fields) for doc in documents]
            )
        if sum(len(pieces) for _, pieces in self._groups) > MAX_CACHED_PIECES:
            self._forget()
        found = [self._count_group(fields, known, documents) for fields, known in self._groups]
        shape = (len(documents), len(self.terms) + len(self._others))
        rows, columns = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return _stack_counts([count_equal(rows, columns, shape)], *shape)

    def _count_group(
        self, fields: tuple[str, ...], known: PieceTable, documents: Sequence[TextDocument]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the row and column of every term, in the order of the text."""
        texts = [self._join_fields(document, fields) for document in documents]
        pieces = list(map(self._split, texts))
        lengths, columns = known.look_up(list(chain.from_iterable(pieces)))
        rows = np.repeat(np.arange(len(documents), dtype=np.int64), list(map(len, pieces)))
        return np.repeat(rows, lengths), columns
