"""Contingency tables: for each category, how decisions and labels agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ContingencyTable:
    """Four counts a category: accepted rightly, accepted wrongly, missed, refused rightly."""

    tp: Ints
    fp: Ints
    fn: Ints
    tn: Ints

    def sum_categories(self) -> ContingencyTable:
        """The sums over all categories, as the table of one category."""
        return ContingencyTable(*(counts.sum(keepdims=True) for counts in self._counts()))

    def restricted(self, categories: Sequence[int] | Ints) -> ContingencyTable:
        """The tables of some categories, in the order asked for."""
        chosen = np.asarray(categories, dtype=np.int64)
        return ContingencyTable(*(counts[chosen] for counts in self._counts()))

    def __add__(self, other: ContingencyTable) -> ContingencyTable:
        """Tables of disjoint sets of documents, as of cross-validation's folds, add up."""
        pairs = zip(self._counts(), other._counts(), strict=True)
        return ContingencyTable(*(ours + theirs for ours, theirs in pairs))

    def __len__(self) -> int:
        return len(self.tp)

    @property
    def errors(self) -> Ints:
        """Wrong decisions of either sort."""
        return self.fp + self.fn

    @property
    def documents(self) -> Ints:
        """How many documents were decided on."""
        return self.tp + self.fp + self.fn + self.tn

    def _counts(self) -> tuple[Ints, Ints, Ints, Ints]:
        return self.tp, self.fp, self.fn, self.tn


def count_contingency(decisions: Bools, labels: Bools) -> ContingencyTable:
    """Count the agreement of two documents x categories arrays."""
    if decisions.shape != labels.shape or decisions.ndim != 2:
        raise UsageError(
            f"decisions of shape {decisions.shape} cannot be compared with labels of shape {labels.shape}",
            hint="Both are documents x categories.",
        )
    documents = len(labels)
    accepted = np.count_nonzero(decisions, axis=0).astype(np.int64)
    positive = np.count_nonzero(labels, axis=0).astype(np.int64)
    tp = np.count_nonzero(decisions & labels, axis=0).astype(np.int64)
    return ContingencyTable(
        tp=tp, fp=accepted - tp, fn=positive - tp, tn=documents - accepted - positive + tp
    )
