"""Count groups of n-grams in documents, chunk after chunk: memory holds counts and numbers, names only of kept terms.

A long document is read and counted in blocks, so that its n-grams are never all in memory; the different ones are.

A document is a tuple of texts, one for each group of fields that share terms. Each group of terms has a table of
n-grams for each of these texts. N-grams of words are those of the terms that single words would be: after the stop
list and stemming. N-grams of characters are those of the text, lowercased if words are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, compress, islice
from operator import add, ne
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, hstack

from textcat.text.ngram_kernels import count_items, fill_slots, find_symbols, list_ngrams
from textcat.text.piece_counts import Chunk, ChunkCounts, PieceTable, make_vocabulary
from textcat.text.terms import make_term_extractor
from textcat.text.text_settings import TermGroup, TextSettings
from textcat.text.tokenizers import TOKENIZERS, Tokenizer

_INITIAL_CAPACITY = 1 << 14
# Texts are read, and their n-grams counted, in blocks of about this many characters or symbols.
BLOCK = 1 << 20
# The tables for new documents are emptied when they hold this many n-grams, so memory stays bounded.
MAX_KNOWN_NGRAMS = 4_000_000

Ints = NDArray[np.int64]


class NgramTable:
    """A growing table of the distinct n-grams found so far, numbered from 1; it holds shorter n-grams as well."""

    def __init__(self, shortest: int, longest: int, *, whole: bool = False) -> None:
        self._lengths, self._whole = (shortest, longest), whole
        # Odd, and different in each process, so that no text can be written whose n-grams all collide.
        self._secret = np.uint64(hash("n-grams") & 0xFFFF_FFFF_FFFF_FFFF | 1)
        self._keys = np.zeros(_INITIAL_CAPACITY, np.uint64)
        self._slots = np.zeros(2 * _INITIAL_CAPACITY, np.int32)
        self.known = 0

    def look_up(
        self, symbols: NDArray[np.uint32], starts: Ints, ends: Ints, limits: Ints
    ) -> tuple[NDArray[np.int32], Ints]:
        """Return the numbers of the n-grams that begin in a row and end up to its limit, and the end of each row's."""
        shortest, longest = self._lengths
        sizes = ends - starts
        totals = sum(
            np.maximum(np.minimum(ends, limits - n + 1) - starts, 0) for n in range(shortest, longest + 1)
        )
        total = int(np.sum(totals)) + (len(sizes) if self._whole else 0)
        items, item_ends = np.empty(total, np.int32), np.zeros(len(ends), np.int64)
        row, written = 0, 0
        while True:
            row, written, self.known = list_ngrams(
                symbols, starts, ends, limits, shortest, longest, self._whole, row, written,
                self._keys, self.known, self._secret, self._slots, items, item_ends,
            )  # fmt: skip
            if row == len(ends):
                return items[:written], item_ends
            self._grow(self.known + int(sizes[row]) * longest + 2)

    def _grow(self, needed: int) -> None:
        """Double the table until it can hold `needed` n-grams."""
        capacity = 2 * len(self._keys)
        while capacity < needed:
            capacity *= 2
        keys = np.zeros(capacity, np.uint64)
        keys[: len(self._keys)] = self._keys
        self._keys, self._slots = keys, np.zeros(2 * capacity, np.int32)
        fill_slots(self._keys, self.known, self._secret, self._slots)

    def find_symbols(self, numbers: Ints) -> tuple[NDArray[np.uint32], Ints]:
        """Return the symbols of n-grams, the last symbol first, and their lengths."""
        symbols = np.zeros((len(numbers), self._lengths[1]), np.uint32)
        lengths = np.zeros(len(numbers), np.int64)
        find_symbols(self._keys, numbers, lengths, symbols)
        return symbols, lengths


class _WordSequences:
    """Reads texts as sequences of numbered words."""

    def __init__(self, settings: TextSettings) -> None:
        tokenizer = TOKENIZERS[settings.tokenizer]
        self._split = tokenizer.make_splitter(lowercase=settings.lowercase)
        # Only of these tokenizers is it known that no word has white space in it.
        self._cuts = isinstance(tokenizer, Tokenizer) and not tokenizer.skip
        make = make_term_extractor(settings)
        self.numbers = make_vocabulary()
        self._pieces = PieceTable(lambda piece: [self.numbers[word] for word in make(piece)])

    def read(self, texts: Sequence[str]) -> tuple[NDArray[np.uint32], Ints]:
        """Return the numbers of all words in order, and the end of each text's."""
        words, sizes = [], np.zeros(len(texts), dtype=np.int64)
        blocks = [
            (row, block)
            for row, text in enumerate(texts)
            for block in (_cut_text(text) if self._cuts else [text])
        ]
        for some in _batch([len(block) for _, block in blocks]):
            rows = [row for row, _ in blocks[some]]
            pieces = [self._split(block) for _, block in blocks[some]]
            lengths, found = self._pieces.look_up(list(chain.from_iterable(pieces)))
            ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
            piece_ends = np.cumsum(list(map(len, pieces)), dtype=np.int64)
            np.add.at(sizes, rows, np.diff(ends[piece_ends], prepend=0))
            words.append(found.astype(np.uint32))
        return np.concatenate(words or [np.empty(0, np.uint32)]), np.cumsum(sizes)


_SPACE = re.compile(r"\s")


def _cut_text(text: str) -> Iterator[str]:
    """Yield a text in blocks, which end before white space."""
    start = 0
    while len(text) - start > BLOCK and (found := _SPACE.search(text, start + BLOCK)):
        yield text[start : found.start()]
        start = found.start()
    yield text[start:]


def _list_words(text: str, most: int | None) -> Iterator[str]:
    """Return the first words of a text, divided at white space."""
    return islice(chain.from_iterable(map(str.split, _cut_text(text))), most)


def _batch(sizes: Sequence[int] | Ints) -> Iterator[slice]:
    """Yield slices of consecutive items that together are hardly larger than a block."""
    blocks = np.cumsum(sizes) // BLOCK
    first = 0
    for end in [*(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(blocks)]:
        if end > first:
            yield slice(first, end)
        first = end


def _cut_rows(ends: Ints, most: int) -> tuple[Ints, Ints, Ints]:
    """Return the row, start and end of segments of at most `most` items of each row; an empty row has one."""
    sizes = np.diff(ends, prepend=0)
    numbers = np.maximum(-(-sizes // most), 1)
    rows = np.repeat(np.arange(len(ends), dtype=np.int64), numbers)
    starts = (ends - sizes)[rows] + most * (
        np.arange(len(rows)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    )
    return rows, starts, np.minimum(starts + most, ends[rows])


def _merge_segments(parts: Sequence[ChunkCounts], rows: Ints, documents: int) -> ChunkCounts:
    """Return the counts of documents, each of which is one or more segments."""
    lengths, columns, counts = (np.concatenate(each) for each in zip(*map(_list_arrays, parts), strict=True))
    if len(rows) == documents:
        return ChunkCounts(lengths, columns, counts)
    width = int(columns.max(initial=0)) + 1
    keys, place = np.unique(np.repeat(rows, lengths) * width + columns, return_inverse=True)
    rows, columns = np.divmod(keys, width)
    return ChunkCounts(
        np.bincount(rows, minlength=documents).astype(np.int32),
        columns.astype(np.int32),
        np.bincount(place, weights=counts, minlength=len(keys)).astype(np.int32),
    )


def _list_arrays(part: ChunkCounts) -> tuple[NDArray[np.int32], ...]:
    return part.lengths, part.columns, part.counts


class _NumberedPieces(dict[str, int]):
    """Numbers pieces when they are first looked up, and lists the new ones."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []

    def __missing__(self, piece: str) -> int:
        self[piece] = number = len(self)
        self.new.append(piece)
        return number


class _GroupCounter:
    """Counts the n-grams of one group of terms in one text of each document."""

    def __init__(self, group: TermGroup, words: _WordSequences | None) -> None:
        self._analyzer, self._words, self._first_words = group.analyzer, words, group.first_words
        self.table = NgramTable(*group.ngrams, whole=group.analyzer == "char_wb")
        self._pieces = _NumberedPieces()
        self._items, self._item_ends = np.empty(0, np.int32), np.zeros(1, np.int64)
        self._filled = 0

    def count(self, texts: Sequence[str], words: tuple[NDArray[np.uint32], Ints] | None) -> ChunkCounts:
        """Return the counts of some texts, given as sequences of words where n-grams are of words."""
        if self._analyzer == "char_wb":
            return self._count_by_word(texts)
        if self._words is None or words is None:
            words = _encode_characters([_squeeze(text, self._first_words) for text in texts])
        elif self._first_words is not None:
            words = _keep_beginnings(*words, self._first_words)
        symbols, limits = words
        rows, starts, ends = _cut_rows(limits, BLOCK)
        parts = []
        for some in _batch(ends - starts):
            items, item_ends = self.table.look_up(symbols, starts[some], ends[some], limits[rows[some]])
            places = np.arange(len(item_ends), dtype=np.int64)
            parts.append(self._count(items, np.concatenate([[0], item_ends]), places, places + 1))
        return _merge_segments(parts or [_NO_COUNTS], rows, len(texts))

    def _count_by_word(self, texts: Sequence[str]) -> ChunkCounts:
        """Count character n-grams within words; those of each distinct word are listed once."""
        words = [
            np.fromiter(map(self._pieces.__getitem__, _list_words(text, self._first_words)), np.int64)
            for text in texts
        ]
        if self._pieces.new:
            symbols, ends = _encode_characters([f" {piece} " for piece in self._pieces.new])
            self._append(*self.table.look_up(symbols, np.concatenate([[0], ends[:-1]]), ends, ends))
            self._pieces.new.clear()
        sequence = np.concatenate(words or [np.empty(0, np.int64)])
        # A word has some thirty n-grams.
        rows, starts, ends = _cut_rows(np.cumsum(list(map(len, words)), dtype=np.int64), BLOCK // 16)
        counted = [
            self._count(
                self._items,
                self._item_ends,
                sequence[starts[some][0] : ends[some][-1]],
                ends[some] - starts[some][0],
            )
            for some in _batch(16 * (ends - starts))
        ]
        return _merge_segments(counted or [_NO_COUNTS], rows, len(texts))

    def _append(self, items: NDArray[np.int32], ends: Ints) -> None:
        """Add the n-grams of new words to those of the words before; the array doubles when it is full."""
        needed = self._filled + len(items)
        if needed > len(self._items):
            wider = np.empty(2 * needed, np.int32)
            wider[: self._filled] = self._items[: self._filled]
            self._items = wider
        self._items[self._filled : needed] = items
        self._item_ends = np.concatenate([self._item_ends, self._filled + ends])
        self._filled = needed

    def _count(self, items: NDArray[np.int32], item_ends: Ints, parts: Ints, ends: Ints) -> ChunkCounts:
        most = int(np.sum(item_ends[parts + 1] - item_ends[parts]))
        columns, counts = np.empty(most, np.int32), np.empty(most, np.int32)
        lengths = np.zeros(len(ends), np.int32)
        entry = np.full(self.table.known + 1, -1, np.int64)
        written = count_items(items, item_ends, parts, ends, entry, lengths, columns, counts)
        return ChunkCounts(lengths, columns[:written].copy(), counts[:written].copy())

    def make_names(self, numbers: Ints) -> list[str]:
        """Return the n-grams with these numbers as text; words are separated by spaces."""
        symbols, lengths = self.table.find_symbols(numbers)
        if self._words is not None:
            words = list(self._words.numbers)
            return [
                " ".join([words[symbol] for symbol in row[length - 1 :: -1]]) if length > 1 else words[row[0]]
                for row, length in zip(symbols.tolist(), lengths.tolist(), strict=True)
            ]
        places = np.arange(symbols.shape[1])
        text = symbols[:, ::-1][(places >= symbols.shape[1] - lengths[:, None])]
        decoded = text.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        ends = np.cumsum(lengths).tolist()
        return [decoded[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _squeeze(text: str, most: int | None) -> str:
    """Return the first words of a text, or all, with one space between them."""
    if most is not None:
        return " ".join(_list_words(text, most))
    return " ".join(filter(None, (" ".join(block.split()) for block in _cut_text(text))))


def _keep_beginnings(symbols: NDArray[np.uint32], ends: Ints, most: int) -> tuple[NDArray[np.uint32], Ints]:
    """Return at most this many symbols of each row, and the end of each row."""
    lengths = np.diff(ends, prepend=0)
    places = np.arange(len(symbols)) - np.repeat(ends - lengths, lengths)
    return symbols[places < most], np.cumsum(np.minimum(lengths, most), dtype=np.int64)


def _encode_characters(rows: Sequence[str]) -> tuple[NDArray[np.uint32], Ints]:
    """Return the code points of all rows, and the end of each row."""
    text = "".join(rows).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(text, "<u4").astype(np.uint32), np.cumsum(list(map(len, rows)), dtype=np.int64)


class NgramCounter:
    """Counts all groups of terms of chunks of documents.

    `counters` has a list for each group of terms, with a counter for each group of fields.
    """

    def __init__(self, settings: TextSettings) -> None:
        self._prepare = _make_character_reader(settings)
        prefixes = [prefix for prefix, _ in settings.field_groups]
        self._counted = [[group.counts_field(prefix) for prefix in prefixes] for group in settings.groups]
        self._of_characters = any(group.analyzer != "word" for group in settings.groups)
        of_words = any(group.analyzer == "word" for group in settings.groups)
        self._words = [_WordSequences(settings) if of_words else None for _ in settings.field_groups]
        self.counters = [
            [_GroupCounter(group, words if group.analyzer == "word" else None) for words in self._words]
            for group in settings.groups
        ]

    def count(self, chunk: Chunk) -> list[list[ChunkCounts]]:
        """Return the counts of a chunk, by group of terms and group of fields."""
        columns = [[document[field] for document in chunk] for field in range(len(self._words))]
        sequences = [
            None if words is None else words.read(texts)
            for words, texts in zip(self._words, columns, strict=True)
        ]
        prepared = [
            list(map(self._prepare, texts)) if self._of_characters else [""] * len(texts) for texts in columns
        ]
        empty = [""] * len(chunk), (np.empty(0, np.uint32), np.zeros(len(chunk), np.int64))
        fields = list(zip(prepared, sequences, strict=True))
        return [
            [
                counter.count(*(field if counts else empty))
                for counter, field, counts in zip(counters, fields, counted, strict=True)
            ]
            for counters, counted in zip(self.counters, self._counted, strict=True)
        ]

    @property
    def known(self) -> int:
        """The number of n-grams in all tables."""
        return sum(counter.table.known for counters in self.counters for counter in counters)


def _make_character_reader(settings: TextSettings) -> Callable[[str], str]:
    """Return the function from a text to the text whose characters are counted."""
    tokenizer = TOKENIZERS[settings.tokenizer]
    skip = tokenizer.skip if isinstance(tokenizer, Tokenizer) else None

    def read(text: str) -> str:
        kept = skip(text) if skip else text
        return kept.lower() if settings.lowercase else kept

    return read


@dataclass
class CountedNgrams:
    """The kept terms, group after group, sorted within a group; the end of each group; documents x terms."""

    terms: list[str]
    group_ends: tuple[int, ...]
    counts: csr_array


_NO_COUNTS = ChunkCounts(*(np.empty(0, np.int32) for _ in range(3)))


class NgramCollector:
    """Counts chunks of training documents, and keeps the terms that occur in enough of them."""

    def __init__(self, settings: TextSettings) -> None:
        self._settings, self._counter = settings, NgramCounter(settings)
        self._parts: list[list[list[ChunkCounts]]] = []
        self._documents = 0

    def add(self, chunk: Chunk) -> None:
        """Count a chunk of documents."""
        self._parts.append(self._counter.count(chunk))
        self._documents += len(chunk)

    def collect(self) -> CountedNgrams:
        """Return the counts of terms that occur in the group's minimum number of documents."""
        terms: list[str] = []
        ends, blocks = [], []
        for number, group in enumerate(self._settings.groups):
            names, block = self._collect_group(number, group)
            terms += names
            ends.append(len(terms))
            blocks.append(block)
        counts = blocks[0] if len(blocks) == 1 else csr_array(hstack(blocks, format="csr", dtype=np.int32))
        return CountedNgrams(terms, tuple(ends), counts)

    def _collect_group(self, number: int, group: TermGroup) -> tuple[list[str], csr_array]:
        """Return the sorted terms of a group and their counts, and forget the group's chunks."""
        kept, names = [], []
        for field, (field_prefix, _) in enumerate(self._settings.field_groups):
            # Rare n-grams count too: new documents will have other rare n-grams of the same feature.
            minimum = 1 if group.bits else group.minimum_documents
            kept.append(self._find_frequent(number, field, minimum))
            prefix = group.prefix + field_prefix
            found = self._counter.counters[number][field].make_names(kept[-1])
            names += [prefix + name for name in found] if prefix else found
        terms, places = _sort_names([group.name_term(name) for name in names] if group.bits else names)
        blocks = []
        for field, own in enumerate(kept):
            columns = np.full(self._counter.counters[number][field].table.known + 1, -1, np.int32)
            columns[own], places = places[: len(own)], places[len(own) :]
            blocks.append(self._stack(number, field, columns, len(terms)))
        block = blocks[0] if len(blocks) == 1 else csr_array(reduce(add, blocks))
        return _drop_rare_features(terms, block, group.minimum_documents) if group.bits else (terms, block)

    def _find_frequent(self, number: int, field: int, minimum: int) -> Ints:
        """Return the numbers of the n-grams of a table that occur in at least `minimum` documents."""
        containing = np.zeros(self._counter.counters[number][field].table.known + 1, np.int64)
        for part in self._parts:
            found = np.bincount(part[number][field].columns)
            containing[: len(found)] += found
        return np.flatnonzero(containing >= minimum)

    def _stack(self, number: int, field: int, columns: NDArray[np.int32], width: int) -> csr_array:
        """Return the counts of all chunks with n-gram t in column columns[t], without those in column -1."""
        lengths, indices, data = [], [], []
        for part in self._parts:
            chunk, part[number][field] = part[number][field], _NO_COUNTS
            renumbered = columns[chunk.columns]
            kept = renumbered >= 0
            ends = np.concatenate([[0], np.cumsum(kept)])[np.cumsum(chunk.lengths)]
            lengths.append(np.diff(ends, prepend=0))
            indices.append(renumbered[kept])
            data.append(chunk.counts[kept])
        ends = np.zeros(self._documents + 1, np.int64)
        if self._parts:
            np.cumsum(np.concatenate(lengths), out=ends[1:])
        joined = [np.concatenate(values) if values else np.empty(0, np.int32) for values in (data, indices)]
        counts = csr_array((*joined, ends.astype(np.int32)), shape=(self._documents, width))
        counts.sum_duplicates()
        return counts


def _drop_rare_features(terms: list[str], counts: csr_array, minimum: int) -> tuple[list[str], csr_array]:
    """Return the features that occur in at least `minimum` documents."""
    frequent = np.bincount(counts.indices, minlength=len(terms)) >= minimum
    return list(compress(terms, frequent)), csr_array(counts[:, np.flatnonzero(frequent)])


def _sort_names(names: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return the different names in order, and the place of each name among them."""
    order = sorted(range(len(names)), key=names.__getitem__)
    ordered = [names[place] for place in order]
    is_new = [True, *map(ne, ordered[1:], ordered)]
    places = np.empty(len(names), np.int32)
    places[order] = np.cumsum(is_new[: len(names)]) - 1
    return list(compress(ordered, is_new)), places


class NgramDocumentCounter:
    """Counts new documents over the terms of a trained model; other n-grams are left out."""

    def __init__(self, settings: TextSettings, terms: Sequence[str], group_ends: Sequence[int]) -> None:
        self._settings, self._width = settings, len(terms)
        starts = [0, *group_ends[:-1]]
        self._known = [
            {term: start + place for place, term in enumerate(terms[start:end])}
            for start, end in zip(starts, group_ends, strict=True)
        ]
        self._forget()

    def _forget(self) -> None:
        self._counter = NgramCounter(self._settings)
        self._columns = [[np.full(1, -1, np.int64) for _ in row] for row in self._counter.counters]

    def counts(self, chunk: Chunk) -> csr_array:
        """Return counts, documents x terms; int32, sorted, no zeros."""
        if self._counter.known > MAX_KNOWN_NGRAMS:
            self._forget()
        rows: list[NDArray[Any]] = []
        columns: list[NDArray[Any]] = []
        data: list[NDArray[Any]] = []
        for number, parts in enumerate(self._counter.count(chunk)):
            for field, part in enumerate(parts):
                found = self._find_columns(number, field)[part.columns]
                kept = found >= 0
                rows.append(np.repeat(np.arange(len(chunk)), part.lengths)[kept])
                columns.append(found[kept])
                data.append(part.counts[kept])
        places = (np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32))
        shape = (len(chunk), self._width)
        counts = csr_array(coo_array((np.concatenate(data), places), shape=shape))
        counts.sum_duplicates()
        return counts

    def _find_columns(self, number: int, field: int) -> Ints:
        """Return the column of each n-gram of a table, -1 where the model does not know it."""
        counter, columns = self._counter.counters[number][field], self._columns[number][field]
        if len(columns) <= counter.table.known:
            group = self._settings.groups[number]
            prefix = group.prefix + self._settings.field_groups[field][0]
            find = self._known[number].get
            names = counter.make_names(np.arange(len(columns), counter.table.known + 1))
            more = [find(group.name_term(prefix + name), -1) for name in names]
            columns = np.concatenate([columns, np.array(more, np.int64)])
            self._columns[number][field] = columns
        return columns
