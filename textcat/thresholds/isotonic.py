"""Isotonic calibration: the probability of a category is the best never falling function of its score.

The pool-adjacent-violators algorithm finds it on held-out scores (Zadrozny & Elkan, KDD 2002): steps of equal
probability. Between two steps the probability is interpolated; beyond the last ones it stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from textcat.thresholds.apply import Bools, Floats


@dataclass(frozen=True)
class Isotonic:
    """The ends of all steps: those of category k are `ends[k] : ends[k + 1]` of `knots` and `levels`."""

    knots: Floats
    levels: Floats
    ends: NDArray[np.int64]

    def probabilities(self, scores: Floats) -> Floats:
        """Documents x categories."""
        result = np.zeros(scores.shape, dtype=np.float64)
        for k in range(scores.shape[1]):
            part = slice(self.ends[k], self.ends[k + 1])
            result[:, k] = np.interp(scores[:, k], self.knots[part], self.levels[part])
        return result

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All numbers, for a file without pickle."""
        return {"knots": self.knots, "levels": self.levels, "ends": self.ends}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], categories: int) -> Isotonic:
        """What `to_arrays` gave; parts that do not fit are refused."""
        knots, levels, ends = arrays["knots"], arrays["levels"], arrays["ends"]
        if ends.shape != (categories + 1,) or ends.dtype != np.int64 or (np.diff(ends) < 1).any():
            raise ValueError(f"the calibration has not a step for each of {categories} categories")
        if not knots.shape == levels.shape == (ends[-1],) or ends[0] != 0:
            raise ValueError("the calibration's steps do not fit together")
        if not (knots.dtype == levels.dtype == np.float64 and np.isfinite(knots).all()):
            raise ValueError("the calibration's steps are not numbers")
        if not bool(np.all((levels >= 0.0) & (levels <= 1.0))):
            raise ValueError("the calibration's levels are not probabilities")
        inside = np.delete(np.arange(len(knots) - 1), ends[1:-1] - 1)
        if (np.diff(knots)[inside] <= 0).any() or (np.diff(levels)[inside] < 0).any():
            raise ValueError("the calibration's steps do not rise")
        return cls(knots, levels, ends)


def fit_isotonic(scores: Floats, labels: Bools) -> Isotonic:
    """Calibrate every category on scores of documents that its model has not seen."""
    steps = [_one_category(scores[:, k], labels[:, k]) for k in range(scores.shape[1])]
    ends = np.zeros(len(steps) + 1, dtype=np.int64)
    np.cumsum([len(knots) for knots, _ in steps], out=ends[1:])
    knots, levels = (np.concatenate([np.empty(0), *(step[part] for step in steps)]) for part in (0, 1))
    return Isotonic(knots, levels, ends)


def _one_category(scores: Floats, labels: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The first and last score of every step, and its level; documents of equal score share one level."""
    if not len(scores):
        return np.zeros(1), np.full(1, 0.5)
    distinct, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    share = np.bincount(place, weights=labels, minlength=len(distinct)) / times
    level = np.clip(isotonic_regression(share, weights=times).x, 0.0, 1.0)
    inner = np.zeros(len(level), dtype=np.bool_)
    inner[1:-1] = (level[1:-1] == level[:-2]) & (level[1:-1] == level[2:])
    return distinct[~inner], level[~inner]
