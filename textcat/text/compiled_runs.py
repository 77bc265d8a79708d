"""Counting runs of characters by compiled code: bytes go in, and no word becomes an object until it is a term.

Problem: for each document the different runs of characters out of a set, and how often each occurs
In:   Latin-1 bytes of documents one after the other, and where each ends
Out:  runs numbered by first appearance, kept in a hash table with open addresses; counts by document
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
# Bytes of a run that its code holds whole.
_WORD_BYTES = 8


class RunTable:
    """The distinct runs met so far, numbered. Grows as it has to."""

    def __init__(self, characters: bytes) -> None:
        if b"\0" in characters:
            raise ValueError("a run cannot hold the character of code 0, which ends the code of a long one")
        self._member = np.zeros(256, np.bool_)
        self._member[list(characters)] = True
        # Odd, and another in each process: nobody can write text whose words all fall together.
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
        """The runs by number."""
        text = self._pool[: self._ends[self._known]].tobytes().decode("latin-1")
        ends = self._ends[: self._known + 1].tolist()
        return [text[start:end] for start, end in pairwise(ends)]

    def count(self, texts: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """How many different runs each text has; their numbers and how often each occurs, text after text."""
        text = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.cumsum(list(map(len, texts)), dtype=np.int64)
        most = len(text) // 2 + len(texts)
        lengths = np.zeros(len(texts), np.int32)
        columns, counts = np.empty(most, np.int32), np.empty(most, np.int32)
        # Byte, document, first entry of the document, next entry: where counting goes on when there is room again.
        state = np.zeros(4, np.int64)
        self._entry[: self._known] = -1
        while not self._resume_count(text, ends, (lengths, columns, counts), state):
            self._grow()
        return lengths, columns[: state[3]].copy(), counts[: state[3]].copy()

    def _resume_count(
        self,
        text: NDArray[np.uint8],
        ends: NDArray[np.int64],
        found: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
        state: NDArray[np.int64],
    ) -> bool:
        """Whether all is counted; else there was no room."""
        lengths, columns, counts = found
        self._known, done = _count_runs(
            text, ends, self._member, self._key, self._known, self._pool, self._ends, self._codes, self._entry,
            self._slots, lengths, columns, counts, state,
        )  # fmt: skip
        return bool(done)

    def _grow(self) -> None:
        """Twice the room for runs, every run to its new slot; or for their bytes, if those are what lacks it."""
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
    """Where to look first: the top bits of a product, which a key unknown to writers of text makes even."""
    return int(((code ^ (code >> np.uint64(32))) * key) >> np.uint64(33)) & (len(slots) - 1)


@compile_kernel
def _fill_slots(codes: Any, known: int, key: Any, slots: Any) -> None:
    """Each number to the first free slot."""
    for number in range(known):
        slot = _find_slot(codes[number], key, slots)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number


@compile_kernel
def _store_run(text: Any, start: int, end: int, known: int, pool: Any, ends: Any) -> bool:
    """Keep the bytes of the run text[start:end] as those of number `known`; whether there was room."""
    first = ends[known]
    if first + end - start > len(pool):
        return False
    for place in range(start, end):
        pool[first + place - start] = text[place]
    ends[known + 1] = first + end - start
    return True


@compile_kernel
def _is_same_run(text: Any, start: int, end: int, pool: Any, first: int, last: int) -> bool:
    """Whether the run text[start:end] is pool[first:last]."""
    if last - first != end - start:
        return False
    place = 0
    while first + place < last and pool[first + place] == text[start + place]:
        place += 1
    return bool(first + place == last)


@compile_kernel
def _read_run(text: Any, start: int, stop: int, member: Any, key: Any) -> tuple[Any, int]:
    """The code of the run that begins there, and where the run ends.

    The code of a run of up to eight bytes is the run itself; that of a longer one ends in a byte of zeros.
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
    """Count on from `state`; how many runs are known then, and whether all documents are done.

    `entry` says of each run where it was counted last, which is this document's only from its first entry on.
    """
    place, document, first, written = state
    while document < len(document_ends):
        stop = document_ends[document]
        while place < stop:
            if not member[text[place]]:
                place += 1
                continue
            code, end = _read_run(text, place, stop, member, key)
            slot = _find_slot(code, key, slots)
            number = slots[slot]
            while number >= 0 and not (
                codes[number] == code
                and (
                    end - place <= _WORD_BYTES
                    or _is_same_run(text, place, end, pool, ends[number], ends[number + 1])
                )
            ):
                slot = (slot + 1) & (len(slots) - 1)
                number = slots[slot]
            if number < 0:
                if known == len(codes) or not _store_run(text, place, end, known, pool, ends):
                    state[0], state[1], state[2], state[3] = place, document, first, written
                    return known, False
                number = known
                slots[slot], codes[number], entry[number] = number, code, -1
                known += 1
            if entry[number] < first:
                entry[number], columns[written], counts[written] = written, number, 0
                written += 1
            counts[entry[number]] += 1
            place = end
        lengths[document] = written - first
        document, first = document + 1, written
    state[3] = written
    return known, True
