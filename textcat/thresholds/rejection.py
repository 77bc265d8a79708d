"""Reject documents that belong to no class, by a threshold on their best probability.

The threshold is chosen on held-out probabilities of training documents, so that a share `coverage` of the documents in
scope stays above it. No document out of scope is needed. If the data has such documents under a separate label, that
label is learned too and given to rejected documents, but it does not count as a class in scope.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from textcat.errors import UsageError
from textcat.settings import StrictSettings
from textcat.thresholds.tuning import Bools, Floats


class RejectSettings(StrictSettings):
    """Which documents are rejected: they get no class, or the label of documents out of scope."""

    coverage: float = Field(
        default=0.975,
        gt=0,
        le=1,
        description="Share of the training documents whose best held-out probability is above the threshold.",
    )
    label: str | None = Field(
        default=None,
        description="The label of documents out of scope in the data; rejected documents get it. Default: the "
        "data has none, and rejected documents get no label.",
    )


@dataclass(frozen=True)
class Rejection:
    """The least best probability of a document that gets a class, and the column of the rejected ones' label or -1."""

    threshold: float
    column: int

    def find_best(
        self, probabilities: Floats, ranked: Floats | None = None
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return the best probability of each document among the classes in scope, and its column.

        `ranked` has the order of the probabilities and says which of equal ones is the best.
        """
        ranked = probabilities if ranked is None else ranked
        if self.column >= 0:
            ranked = ranked.copy()
            ranked[:, self.column] = -np.inf
        columns = np.argmax(ranked, axis=1)
        return probabilities[np.arange(len(probabilities)), columns], columns.astype(np.int64)

    def decide(self, probabilities: Floats, ranked: Floats | None = None) -> Bools:
        """Return the best class of each document, or the label of rejected documents, or nothing."""
        best, columns = self.find_best(probabilities, ranked)
        rejected = best < self.threshold
        if self.column >= 0:
            rejected |= probabilities[:, self.column] > best
        chosen = np.zeros(probabilities.shape, dtype=np.bool_)
        kept = np.flatnonzero(~rejected)
        chosen[kept, columns[kept]] = True
        if self.column >= 0:
            chosen[rejected, self.column] = True
        return chosen

    def to_array(self) -> Floats:
        """Return threshold and column as an array."""
        return np.array([self.threshold, self.column], dtype=np.float64)

    @classmethod
    def from_array(cls, values: NDArray[np.float64], categories: int) -> Rejection:
        """Rebuild it from `to_array`; refuse numbers that do not fit."""
        if values.shape != (2,) or not 0.0 <= values[0] <= 1.0 or values[1] not in range(-1, categories):
            raise ValueError(f"the rejection does not fit {categories} categories")
        return cls(float(values[0]), int(values[1]))


def fit_rejection(
    settings: RejectSettings, probabilities: Floats, labels: Bools, categories: Sequence[str]
) -> Rejection:
    """Choose the threshold on held-out probabilities; documents with the label of rejected ones are left out."""
    if settings.label is not None and settings.label not in categories:
        named = ", ".join(sorted(categories)[:10])
        raise UsageError(
            f"`reject.label` is {settings.label!r}, which no document has",
            hint=f"The labels are {named}{' ...' if len(categories) > 10 else ''}.",
        )
    column = -1 if settings.label is None else list(categories).index(settings.label)
    inside = labels[:, column] == 0 if column >= 0 else np.ones(len(labels), dtype=np.bool_)
    best, _ = Rejection(0.0, column).find_best(probabilities[inside])
    if not len(best):
        return Rejection(0.0, column)
    # At least the share `coverage` of the documents is at or above the threshold.
    place = min(int(np.floor((1.0 - settings.coverage) * len(best) + 1e-9)), len(best) - 1)
    threshold = 0.0 if settings.coverage == 1.0 else float(np.sort(best)[place])
    return Rejection(threshold, column)
