"""Platt's calibration: the probability of a category is a sigmoid of its score.

Slope and intercept maximise the likelihood of held-out scores against Platt's targets, which stand a little
inside of 0 and 1, by the Newton method with backtracking of Lin, Lin and Weng ("A note on Platt's
probabilistic outputs for support vector machines", Machine Learning 68, 2007). Their loss never takes the
logarithm of a rounded probability. Scores are standardised first, so that neither their unit nor the number of
documents matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from textcat.thresholds.apply import Bools, Floats

MOST_STEPS = 100
SMALLEST_STEP = 1e-10
# Added to the diagonal of the Hessian, which vanishes where all probabilities are certain.
RIDGE = 1e-12
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Platt:
    """sigmoid(slope * score + intercept), one pair a category; no slope is negative."""

    slope: Floats
    intercept: Floats

    def probabilities(self, scores: Floats) -> Floats:
        """Documents x categories."""
        return np.asarray(expit(scores * self.slope + self.intercept))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All numbers, for a file without pickle."""
        return {"slope": self.slope, "intercept": self.intercept}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], categories: int) -> Platt:
        """What `to_arrays` gave; parts that do not fit are refused."""
        for name in ("slope", "intercept"):
            values = arrays[name]
            if values.shape != (categories,) or values.dtype != np.float64 or not np.isfinite(values).all():
                raise ValueError(f"the calibration's {name} does not fit {categories} categories")
        return cls(arrays["slope"], arrays["intercept"])


def fit_platt(scores: Floats, labels: Bools) -> Platt:
    """Calibrate every category on scores of documents that its model has not seen."""
    pairs = [_one_category(scores[:, k], labels[:, k]) for k in range(scores.shape[1])]
    slope, intercept = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return Platt(np.ascontiguousarray(slope), np.ascontiguousarray(intercept))


def targets(labels: NDArray[np.bool_]) -> Floats:
    """(N+ + 1) / (N+ + 2) for a document in the category, 1 / (N- + 2) for one outside."""
    positives = int(np.count_nonzero(labels))
    negatives = len(labels) - positives
    return np.where(labels, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))


def negative_log_likelihood(margins: Floats, wanted: Floats) -> float:
    """The mean of -(t ln p + (1 - t) ln (1 - p)) where p = sigmoid(margin), without rounding p to 0 or 1."""
    linear = np.where(margins >= 0, 1.0 - wanted, -wanted) * margins
    return float((linear + np.log1p(np.exp(-np.abs(margins)))).mean())


def _one_category(scores: Floats, labels: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and intercept; a slope below zero, which would turn the order of documents round, becomes zero."""
    wanted = targets(labels)
    # Of scores that are all equal the mean need not be one of them, by rounding.
    spread = float(scores.std()) if len(scores) and np.ptp(scores) > 0 else 0.0
    share = float(wanted.mean()) if len(wanted) else 0.5
    flat = 0.0, float(np.log(share) - np.log1p(-share))
    if spread == 0.0:
        return flat
    centre = float(scores.mean())
    slope, intercept = _newton((scores - centre) / spread, wanted, flat)
    if slope < 0.0:
        return flat
    return slope / spread, intercept - slope * centre / spread


def _newton(scores: Floats, wanted: Floats, start: tuple[float, float]) -> tuple[float, float]:
    point = np.array(start)
    value = negative_log_likelihood(scores * point[0] + point[1], wanted)
    for _ in range(MOST_STEPS):
        gradient, hessian = _derivatives(scores, wanted, point)
        if np.abs(gradient).max() < TOLERANCE:
            break
        direction = -np.linalg.solve(hessian, gradient)
        step, slope = 1.0, float(gradient @ direction)
        while step >= SMALLEST_STEP:
            there = point + step * direction
            reached = negative_log_likelihood(scores * there[0] + there[1], wanted)
            if reached < value + 1e-4 * step * slope:
                point, value = there, reached
                break
            step /= 2.0
        else:
            break
    return float(point[0]), float(point[1])


def _derivatives(scores: Floats, wanted: Floats, point: Floats) -> tuple[Floats, Floats]:
    probability = expit(scores * point[0] + point[1])
    missing, curvature = probability - wanted, probability * (1.0 - probability)
    gradient = np.array([(missing * scores).mean(), missing.mean()])
    mixed = (curvature * scores).mean()
    hessian = np.array([[(curvature * scores * scores).mean(), mixed], [mixed, curvature.mean()]])
    return gradient, hessian + RIDGE * np.eye(2)
