"""Count the pieces of text in chunks of documents: the inner loop of counting, before stop words and stems.

A chunk is a list of documents; a document is a tuple of texts, one for each group of fields that share terms. Pieces
that are runs of characters from a set are counted by compiled code that works on Latin-1 bytes and creates no objects
for words: runs are numbered in the order of first occurrence, in a hash table with open addressing.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel, compile_part
from textcat.text.ngram_kernels import find_slot
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import TOKENIZERS, Tokenizer

Chunk = Sequence[tuple[str, ...]]

# After this many chunks compiled code repays the tenth of a second that loading it takes.
_CHUNKS_BEFORE_COMPILING = 5


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
    return SplitCounter(TOKENIZERS[settings.tokenizer].make_splitter(lowercase=settings.lowercase))


def choose_first_compiled_chunk() -> int:
    """Return the number of the chunk from which on compiled code counts: 0 if this process has loaded it."""
    return 0 if _count_runs.is_loaded else _CHUNKS_BEFORE_COMPILING


def compile_piece_counter(counter: PieceCounter, settings: TextSettings) -> PieceCounter:
    """Return a compiled counter that continues `counter`, or `counter` if the tokenizer allows none."""
    tokenizer = TOKENIZERS[settings.tokenizer]
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
    if len(chunks) > choose_first_compiled_chunk():
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


_INITIAL_CAPACITY = 1 << 12
_FREE = -1
# The code of a run of at most this many bytes is the run itself.
_WORD_BYTES = 8


class RunTable:
    """A growing table of the distinct runs found so far, numbered."""

    def __init__(self, characters: bytes) -> None:
        if b"\0" in characters:
            raise ValueError("a run cannot contain character 0, which ends the code of a long run")
        self._member = np.zeros(256, np.bool_)
        self._member[list(characters)] = True
        # Odd, and different in each process, so that no text can be written whose words all collide.
        self._key = np.uint64(hash("runs of characters") & 0xFFFF_FFFF_FFFF_FFFF | 1)
        # Runs in the table, and how many of them have a slot.
        self._known, self._placed = 0, 0
        self._pool = np.empty(8 * _INITIAL_CAPACITY, np.uint8)
        self._ends = np.zeros(_INITIAL_CAPACITY + 1, np.int64)
        self._codes = np.empty(_INITIAL_CAPACITY, np.uint64)
        self._entry = np.empty(_INITIAL_CAPACITY, np.int64)
        self._slots = np.full(4 * _INITIAL_CAPACITY, _FREE, np.int32)

    def __len__(self) -> int:
        return self._known

    def list_pieces(self) -> list[str]:
        """Return the runs in the order of their numbers."""
        text = self._pool[: self._ends[self._known]].tobytes().decode("latin-1")
        ends = self._ends[: self._known + 1].tolist()
        return [text[start:end] for start, end in pairwise(ends)]

    def count(self, texts: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return the number of different runs of each text, then the numbers and counts of these runs in text order."""
        text = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.cumsum(list(map(len, texts)), dtype=np.int64)
        most = len(text) // 2 + len(texts)
        lengths = np.zeros(len(texts), np.int32)
        columns, counts = np.empty(most, np.int32), np.empty(most, np.int32)
        # Next byte, document, first entry of the document, next entry: the state when counting stops to grow the table.
        state = np.zeros(4, np.int64)
        self._entry[: self._known] = -1
        done = False
        while not done:
            self._known, done = _count_runs(
                text, ends, self._member, self._key, self._placed, self._known, self._pool, self._ends, self._codes,
                self._entry, self._slots, lengths, columns, counts, state,
            )  # fmt: skip
            self._placed = self._known
            if not done:
                self._grow()
        return lengths, columns[: state[3]].copy(), counts[: state[3]].copy()

    def _grow(self) -> None:
        """Double the table of runs, or the pool of their bytes if that is full; the next count puts runs into slots."""
        if self._known < len(self._codes):
            self._pool = _double_capacity(self._pool)
            return
        self._ends, self._codes, self._entry = map(_double_capacity, (self._ends, self._codes, self._entry))
        self._slots, self._placed = np.full(2 * len(self._slots), _FREE, np.int32), 0


def _double_capacity(values: NDArray[Any]) -> NDArray[Any]:
    wider = np.empty(2 * len(values), values.dtype)
    wider[: len(values)] = values
    return wider


@compile_part
def _fill_slots(codes: Any, placed: int, known: int, key: Any, slots: Any) -> None:
    """Put the runs from `placed` to `known` into their first free slots."""
    for number in range(placed, known):
        slot = find_slot(codes[number], key, slots)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number


@compile_part
def _store_run(text: Any, start: int, end: int, known: int, pool: Any, ends: Any) -> bool:
    """Store the bytes of the run text[start:end] as run `known`; return False if the pool is full."""
    first = ends[known]
    if first + end - start > len(pool):
        return False
    for position in range(start, end):
        pool[first + position - start] = text[position]
    ends[known + 1] = first + end - start
    return True


@compile_part
def _is_same_run(text: Any, start: int, end: int, pool: Any, first: int, last: int) -> bool:
    """Return whether the run text[start:end] equals pool[first:last]."""
    if last - first != end - start:
        return False
    offset = 0
    while first + offset < last and pool[first + offset] == text[start + offset]:
        offset += 1
    return bool(first + offset == last)


@compile_part
def _read_run(text: Any, start: int, stop: int, member: Any, key: Any) -> tuple[Any, int]:
    """Return the code and the end of the run that begins at `start`.

    The code of a run of up to eight bytes is the run itself; the code of a longer run ends in a zero byte.
    """
    code, end = np.uint64(0), start
    while end < stop and member[text[end]]:
        if end - start >= _WORD_BYTES:
            code = (code ^ (code >> np.uint64(29))) * key
        code = (code << np.uint64(8)) ^ np.uint64(text[end])
        end += 1
    if end - start > _WORD_BYTES:
        code <<= np.uint64(8)
    return code, end


@compile_kernel
def _count_runs(
    text: Any, document_ends: Any, member: Any, key: Any, placed: int, known: int, pool: Any, ends: Any, codes: Any,
    entry: Any, slots: Any, lengths: Any, columns: Any, counts: Any, state: Any,
) -> tuple[int, bool]:  # fmt: skip
    """Count on from `state`; return the number of known runs, and whether all documents are counted.

    `entry` holds the last entry of each run, which belongs to this document only if it is at least `first`.
    """
    _fill_slots(codes, placed, known, key, slots)
    byte, document, first, written = state
    while document < len(document_ends):
        stop = document_ends[document]
        while byte < stop:
            if not member[text[byte]]:
                byte += 1
                continue
            code, end = _read_run(text, byte, stop, member, key)
            slot = find_slot(code, key, slots)
            number = slots[slot]
            while number >= 0 and not (
                codes[number] == code
                and (
                    end - byte <= _WORD_BYTES
                    or _is_same_run(text, byte, end, pool, ends[number], ends[number + 1])
                )
            ):
                slot = (slot + 1) & (len(slots) - 1)
                number = slots[slot]
            if number < 0:
                if known == len(codes) or not _store_run(text, byte, end, known, pool, ends):
                    state[0], state[1], state[2], state[3] = byte, document, first, written
                    return known, False
                number = known
                slots[slot], codes[number], entry[number] = number, code, -1
                known += 1
            if entry[number] < first:
                entry[number], columns[written], counts[written] = written, number, 0
                written += 1
            counts[entry[number]] += 1
            byte = end
        lengths[document] = written - first
        document, first = document + 1, written
    state[3] = written
    return known, True
