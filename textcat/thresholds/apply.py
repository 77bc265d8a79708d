"""The one rule by which a threshold decides: accept when score >= threshold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = float("inf")


def accept(scores: Floats, thresholds: Floats) -> Bools:
    """Decisions, documents x categories."""
    if scores.ndim != 2 or thresholds.shape != (scores.shape[1],):
        raise UsageError(
            f"{thresholds.shape} thresholds do not fit scores of shape {scores.shape}",
            hint="Give one threshold a category.",
        )
    return scores >= thresholds


def default_thresholds(categories: int, value: float = 0.0) -> Floats:
    """The learner's own threshold for every category: 0 for margins, 0.5 for probabilities."""
    return np.full(categories, value, dtype=np.float64)
