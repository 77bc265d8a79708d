"""The terms of a stored model as text in one piece, where a term is found without a dictionary of all terms."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError

# After this share of a group's terms has been looked up one by one a dictionary costs less.
_SHARE_BEFORE_DICTIONARY = 1 / 16

TermFinder = Callable[[int, Sequence[str]], list[int]]


class TermTable(Sequence[str]):
    """Terms of one or more groups, sorted within each, as UTF-8 text with the end of each term."""

    def __init__(self, text: bytes, ends: NDArray[np.int64]) -> None:
        self._text, self._ends = text, ends

    @classmethod
    def pack(cls, terms: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return terms as two arrays: their text and their lengths in bytes."""
        encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        return {
            "text": np.frombuffer(b"".join(encoded), np.uint8),
            "lengths": shrink_integers(lengths),
        }

    @classmethod
    def unpack(cls, text: NDArray[Any], lengths: NDArray[Any], group_ends: Sequence[int] = ()) -> TermTable:
        """Return the terms of `pack`; refuse arrays that hold no sorted terms."""
        whole = text.ndim == lengths.ndim == 1 and text.dtype == np.uint8 and lengths.dtype.kind == "u"
        if not whole or int(lengths.sum(dtype=np.uint64)) != len(text):
            raise BadDataError(
                "the terms do not fit their text", where="vectorizer", hint="Train the model again."
            )
        content = text.tobytes()
        try:
            content.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise BadDataError(
                "the terms are not UTF-8", where="vectorizer", hint="Train the model again."
            ) from error
        return cls(content, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: int | slice) -> str | list[str]:
        """Return a term, or several."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        return self.get_bytes(number).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def get_bytes(self, place: int) -> bytes:
        """Return the term at a place as UTF-8."""
        return self._text[self._ends[place] : self._ends[place + 1]]


def shrink_integers(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers that are not negative in the smallest unsigned type that holds them."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def make_term_finder(terms: Sequence[str], group_ends: Sequence[int] = ()) -> TermFinder:
    """Return the function from a group's number and some terms to their columns, -1 for an unknown term."""
    ends = tuple(group_ends) or (len(terms),)
    finders = [_GroupFinder(terms, start, end) for start, end in zip((0, *ends[:-1]), ends, strict=True)]
    return lambda group, wanted: finders[group].find(wanted)


class _GroupFinder:
    """Finds terms of terms[start:end]: in a table one by one at first, then by a dictionary."""

    def __init__(self, terms: Sequence[str], start: int, end: int) -> None:
        self._terms, self._start, self._end = terms, start, end
        is_table = isinstance(terms, TermTable)
        self._left = int((end - start) * _SHARE_BEFORE_DICTIONARY) if is_table else 0
        self._columns: dict[str, int] | None = None

    def find(self, wanted: Sequence[str]) -> list[int]:
        self._left -= len(wanted)
        if self._left > 0 and isinstance(self._terms, TermTable):
            return [self._search(self._terms, term.encode("utf-8", "surrogatepass")) for term in wanted]
        if self._columns is None:
            own = self._terms[self._start : self._end]
            self._columns = {term: self._start + place for place, term in enumerate(own)}
        look_up = self._columns.get
        return [look_up(term, -1) for term in wanted]

    def _search(self, table: TermTable, term: bytes) -> int:
        place = bisect_left(range(self._end), term, lo=self._start, key=table.get_bytes)
        return place if place < self._end and table.get_bytes(place) == term else -1
