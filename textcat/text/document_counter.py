"""Count new documents, batch after batch, over the terms of a trained model.

The columns of a piece's terms are computed once and cached, so that stemming costs nothing for common words. The
counts are those of `textcat.text.counting.count_terms`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textcat.text.counting import TextDocument
from textcat.text.terms import make_term_extractor
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import load_tokenizer

# The cache is emptied when it holds this many pieces, so memory stays bounded.
MAX_CACHED_PIECES = 500_000


class _PieceTable(dict[str, int]):
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


class DocumentCounter:
    """Counts documents: known terms have their given columns, other terms get columns after them."""

    def __init__(self, settings: TextSettings, terms: Sequence[str]) -> None:
        self.settings, self.terms = settings, terms
        self._split = load_tokenizer(settings.tokenizer).make_splitter(lowercase=settings.lowercase)
        self._known = {term: column for column, term in enumerate(terms)}
        self._forget()

    def _forget(self) -> None:
        self._make = make_term_extractor(self.settings)
        self._others: dict[str, int] = {}
        self._groups = [
            (fields, _PieceTable(partial(self._find_columns, prefix)))
            for prefix, fields in self.settings.groups
        ]

    def _find_columns(self, prefix: str, piece: str) -> list[int]:
        """Return the columns of a piece's terms; a new term gets the next column."""
        others, first = self._others, len(self.terms)
        return [
            self._known[term] if term in self._known else others.setdefault(term, first + len(others))
            for term in (prefix + word for word in self._make(piece))
        ]

    def counts(self, documents: Sequence[TextDocument]) -> csr_array:
        """Return counts, documents x all terms so far; int32, sorted, no zeros."""
        if sum(len(pieces) for _, pieces in self._groups) > MAX_CACHED_PIECES:
            self._forget()
        found = [self._count_group(fields, known, documents) for fields, known in self._groups]
        width = len(self.terms) + len(self._others)
        keys = np.concatenate([rows * width + columns for rows, columns in found])
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        rows, columns = np.divmod(keys[starts], max(width, 1))
        ends = np.zeros(len(documents) + 1, dtype=np.int32)
        np.cumsum(np.bincount(rows, minlength=len(documents)), out=ends[1:])
        counted = np.diff(starts, append=len(keys)).astype(np.int32)
        return csr_array((counted, columns.astype(np.int32), ends), shape=(len(documents), width))

    def _count_group(
        self, fields: tuple[str, ...], known: _PieceTable, documents: Sequence[TextDocument]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the row and column of every term, in the order of the text."""
        texts = ["\n".join([document.fields.get(name, "") for name in fields]) for document in documents]
        pieces = list(map(self._split, texts))
        lengths, columns = known.look_up(list(chain.from_iterable(pieces)))
        rows = np.repeat(np.arange(len(documents), dtype=np.int64), list(map(len, pieces)))
        return np.repeat(rows, lengths), columns
