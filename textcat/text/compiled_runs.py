"""Count runs of characters with compiled code that works on bytes and creates no objects for words.

Problem: find the different runs of characters from a set in each document, and count them
In:   Latin-1 bytes of all documents, and the end of each document
Out:  runs numbered in the order of first occurrence, in a hash table with open addressing; counts per document
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel

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
        self._known = 0
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
                text, ends, self._member, self._key, self._known, self._pool, self._ends, self._codes, self._entry,
                self._slots, lengths, columns, counts, state,
            )  # fmt: skip
            if not done:
                self._grow()
        return lengths, columns[: state[3]].copy(), counts[: state[3]].copy()

    def _grow(self) -> None:
        """Double the table of runs and rehash it, or double the pool of their bytes if that is full."""
        if self._known < len(self._codes):
            self._pool = _double_capacity(self._pool)
            return
        self._ends, self._codes, self._entry = map(_double_capacity, (self._ends, self._codes, self._entry))
        self._slots = np.full(2 * len(self._slots), _FREE, np.int32)
        _fill_slots(self._codes, self._known, self._key, self._slots)


def _double_capacity(values: NDArray[Any]) -> NDArray[Any]:
    wider = np.empty(2 * len(values), values.dtype)
    wider[: len(values)] = values
    return wider


@compile_kernel
def _find_slot(code: Any, key: Any, slots: Any) -> int:
    """Return the first slot of a code: the top bits of its product with a secret key, which spread evenly."""
    return int(((code ^ (code >> np.uint64(32))) * key) >> np.uint64(33)) & (len(slots) - 1)


@compile_kernel
def _fill_slots(codes: Any, known: int, key: Any, slots: Any) -> None:
    """Put each run number into its first free slot."""
    for number in range(known):
        slot = _find_slot(codes[number], key, slots)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number


@compile_kernel
def _store_run(text: Any, start: int, end: int, known: int, pool: Any, ends: Any) -> bool:
    """Store the bytes of the run text[start:end] as run `known`; return False if the pool is full."""
    first = ends[known]
    if first + end - start > len(pool):
        return False
    for position in range(start, end):
        pool[first + position - start] = text[position]
    ends[known + 1] = first + end - start
    return True


@compile_kernel
def _is_same_run(text: Any, start: int, end: int, pool: Any, first: int, last: int) -> bool:
    """Return whether the run text[start:end] equals pool[first:last]."""
    if last - first != end - start:
        return False
    offset = 0
    while first + offset < last and pool[first + offset] == text[start + offset]:
        offset += 1
    return bool(first + offset == last)


@compile_kernel
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
    text: Any, document_ends: Any, member: Any, key: Any, known: int, pool: Any, ends: Any, codes: Any,
    entry: Any, slots: Any, lengths: Any, columns: Any, counts: Any, state: Any,
) -> tuple[int, bool]:  # fmt: skip
    """Count on from `state`; return the number of known runs, and whether all documents are counted.

    `entry` holds the last entry of each run, which belongs to this document only if it is at least `first`.
    """
    byte, document, first, written = state
    while document < len(document_ends):
        stop = document_ends[document]
        while byte < stop:
            if not member[text[byte]]:
                byte += 1
                continue
            code, end = _read_run(text, byte, stop, member, key)
            slot = _find_slot(code, key, slots)
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
