"""Counted documents: what passes from the counting of terms to selection, weighting and learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from textcat.text.packing import pack, unpack


@dataclass(frozen=True)
class CountedDocuments:
    """Counts, documents x terms (CSR of int32, sorted indices, no zeros), and what each row and column is.

    `terms` are sorted by code point; `ids`, `labels` and `split` have an entry for each row, in the order of
    the corpus.
    """

    counts: csr_array
    terms: list[str]
    ids: list[str]
    labels: list[tuple[str, ...]]
    split: list[str]

    def in_split(self, *names: str) -> NDArray[np.bool_]:
        """Which rows belong to one of the named splits."""
        return np.array([name in names for name in self.split], dtype=np.bool_)

    def take(self, rows: NDArray[np.bool_]) -> CountedDocuments:
        """The rows of a mask, with all the terms."""
        kept = np.flatnonzero(rows)
        return CountedDocuments(
            counts=self.counts[kept],
            terms=self.terms,
            ids=[self.ids[row] for row in kept],
            labels=[self.labels[row] for row in kept],
            split=[self.split[row] for row in kept],
        )

    def label_matrix(self, categories: Sequence[str]) -> NDArray[np.bool_]:
        """Documents x categories; labels that are not among the categories are left out."""
        column = {category: index for index, category in enumerate(categories)}
        matrix = np.zeros((len(self.labels), len(categories)), dtype=np.bool_)
        for row, labels in enumerate(self.labels):
            for label in labels:
                if label in column:
                    matrix[row, column[label]] = True
        return matrix

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for an npz file; `from_arrays` restores the same documents."""
        return {
            "data": self.counts.data,
            "indices": self.counts.indices,
            "indptr": self.counts.indptr,
            "terms": pack(self.terms),
            "documents": pack({"ids": self.ids, "labels": self.labels, "split": self.split}),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> CountedDocuments:
        """The documents that `to_arrays` was called on."""
        terms, documents = unpack(arrays["terms"]), unpack(arrays["documents"])
        return cls(
            counts=csr_array(
                (arrays["data"], arrays["indices"], arrays["indptr"]),
                shape=(len(documents["ids"]), len(terms)),
            ),
            terms=terms,
            ids=documents["ids"],
            labels=[tuple(labels) for labels in documents["labels"]],
            split=documents["split"],
        )
