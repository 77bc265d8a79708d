"""Contingency tables of decisions and labels, per category."""

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
    """True positives, false positives, false negatives and true negatives of each category."""

    tp: Ints
    fp: Ints
    fn: Ints
    tn: Ints

    def sum_categories(self) -> ContingencyTable:
        """Return the sums over all categories, as the table of one category."""
        return ContingencyTable(*(counts.sum(keepdims=True) for counts in self._counts()))

    def restricted(self, categories: Sequence[int] | Ints) -> ContingencyTable:
        """Return the tables of some categories, in the given order."""
        chosen = np.asarray(categories, dtype=np.int64)
        return ContingencyTable(*(counts[chosen] for counts in self._counts()))

    @property
    def errors(self) -> Ints:
        """The number of wrong decisions."""
        return self.fp + self.fn

    @property
    def documents(self) -> Ints:
        """The number of documents."""
        return self.tp + self.fp + self.fn + self.tn

    def _counts(self) -> tuple[Ints, Ints, Ints, Ints]:
        return self.tp, self.fp, self.fn, self.tn


def count_contingency(decisions: Bools, labels: Bools) -> ContingencyTable:
    """Count decisions by label; both are documents x categories."""
    if decisions.shape != labels.shape or decisions.ndim != 2:
        raise UsageError(
            f"decisions of shape {decisions.shape} cannot be compared with labels of shape {labels.shape}",
            hint="Give both as documents x categories.",
        )
    documents = len(labels)
    accepted = np.count_nonzero(decisions, axis=0).astype(np.int64)
    positive = np.count_nonzero(labels, axis=0).astype(np.int64)
    tp = np.count_nonzero(decisions & labels, axis=0).astype(np.int64)
    return ContingencyTable(
        tp=tp, fp=accepted - tp, fn=positive - tp, tn=documents - accepted - positive + tp
    )


def sum_tables(tables: Sequence[ContingencyTable]) -> ContingencyTable:
    """Return the sum of the tables of several sets of documents."""
    return ContingencyTable(
        *(np.sum([getattr(table, kind) for table in tables], axis=0) for kind in ("tp", "fp", "fn", "tn"))
    )
