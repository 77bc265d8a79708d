"""Count new documents, batch after batch, over the terms of a trained model.

The columns of a piece's terms are computed once and cached, so that stemming costs nothing for common words. The
counts are those of `textcat.text.counting.count_terms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textcat.text.counting import TextDocument
from textcat.text.piece_counts import PieceTable
from textcat.text.terms import make_term_extractor
from textcat.text.text_settings import TextSettings
from textcat.text.tokenizers import load_tokenizer

if TYPE_CHECKING:
    from textcat.text.ngrams import NgramDocumentCounter

# The cache is emptied when it holds this many pieces, so memory stays bounded.
MAX_CACHED_PIECES = 500_000


def _make_ngram_counter(
    settings: TextSettings, terms: Sequence[str], group_ends: Sequence[int]
) -> NgramDocumentCounter:
    # Loading the compiler takes a while, which models of words should not wait for.
    from textcat.text.ngrams import NgramDocumentCounter  # noqa: PLC0415

    return NgramDocumentCounter(settings, terms, group_ends)


class DocumentCounter:
    """Counts documents: known terms have their given columns, other terms get columns after them.

    With groups of n-grams, which end in `group_ends`, other terms are left out.
    """

    def __init__(self, settings: TextSettings, terms: Sequence[str], group_ends: Sequence[int] = ()) -> None:
        self.settings, self.terms = settings, terms
        self._ngrams = _make_ngram_counter(settings, terms, group_ends) if settings.groups else None
        self._split = load_tokenizer(settings.tokenizer).make_splitter(lowercase=settings.lowercase)
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
        """Return counts, documents x all terms so far; int32, sorted, no zeros."""
        if self._ngrams is not None:
            fields = [names for _, names in self.settings.field_groups]
            return self._ngrams.counts(
                [tuple(self._join_fields(doc, names) for names in fields) for doc in documents]
            )
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
        self, fields: tuple[str, ...], known: PieceTable, documents: Sequence[TextDocument]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the row and column of every term, in the order of the text."""
        texts = [self._join_fields(document, fields) for document in documents]
        pieces = list(map(self._split, texts))
        lengths, columns = known.look_up(list(chain.from_iterable(pieces)))
        rows = np.repeat(np.arange(len(documents), dtype=np.int64), list(map(len, pieces)))
        return np.repeat(rows, lengths), columns
