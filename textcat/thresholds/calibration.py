"""Turn scores into probabilities by Platt scaling, isotonic regression or a temperature, on held-out scores.

Platt scaling: sigmoid(slope * score + intercept) of maximum likelihood against Platt's targets, which are slightly
inside 0 and 1, found by the Newton method with backtracking of Lin, Lin and Weng ("A note on Platt's probabilistic
outputs for support vector machines", Machine Learning 68, 2007). Their loss takes no logarithm of a rounded
probability. Scores are standardized first, so that their unit does not matter.

Isotonic regression: the pool-adjacent-violators algorithm finds steps of equal probability (Zadrozny & Elkan, KDD
2002). Probabilities are interpolated between steps and constant beyond the last ones.

Temperature, for one category per document: the softmax of all scores times one number, chosen by maximum likelihood
(Guo, Pleiss, Sun & Weinberger, ICML 2017). Probabilities sum to 1, and the highest score has the highest probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.special import expit, softmax

from textcat.errors import BadDataError
from textcat.settings import StrictSettings
from textcat.thresholds.tuning import Bools, Floats

MAX_NEWTON_STEPS = 100
MIN_NEWTON_STEP = 1e-10
# Added to the diagonal of the Hessian, which vanishes if all probabilities are 0 or 1.
RIDGE = 1e-12
GRADIENT_TOLERANCE = 1e-9
# The inverse temperature is searched between these, times 1 / the spread of the scores.
INVERSE_TEMPERATURES = (1e-4, 1e4)
BISECTIONS = 60


@dataclass(frozen=True)
class Platt:
    """sigmoid(slope * score + intercept), with a slope >= 0 and an intercept per category."""

    slope: Floats
    intercept: Floats

    def probabilities(self, scores: Floats) -> Floats:
        """Return probabilities, documents x categories."""
        return np.asarray(expit(scores * self.slope + self.intercept))

    def select_categories(self, first: int, stop: int) -> Platt:
        """Return the calibration of consecutive categories."""
        return Platt(self.slope[first:stop], self.intercept[first:stop])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], categories: int) -> Platt:
        """Rebuild a calibration from its fields; refuse parts that do not fit together."""
        for name in ("slope", "intercept"):
            values = arrays[name]
            if values.shape != (categories,) or values.dtype != np.float64 or not np.isfinite(values).all():
                raise ValueError(f"the calibration's {name} does not fit {categories} categories")
        return cls(arrays["slope"], arrays["intercept"])


def fit_platt(scores: Floats, labels: Bools) -> Platt:
    """Calibrate every category on scores of held-out documents."""
    pairs = [_fit_platt_category(scores[:, k], labels[:, k]) for k in range(scores.shape[1])]
    slope, intercept = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return Platt(np.ascontiguousarray(slope), np.ascontiguousarray(intercept))


def compute_platt_targets(labels: NDArray[np.bool_]) -> Floats:
    """Return (N+ + 1) / (N+ + 2) for each document in the category and 1 / (N- + 2) for the others."""
    positives = int(np.count_nonzero(labels))
    negatives = len(labels) - positives
    return np.where(labels, (positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))


def negative_log_likelihood(margins: Floats, wanted: Floats) -> float:
    """Return the mean of -(t ln p + (1 - t) ln (1 - p)), p = sigmoid(margin), without rounding p to 0 or 1."""
    linear = np.where(margins >= 0, 1.0 - wanted, -wanted) * margins
    return float((linear + np.log1p(np.exp(-np.abs(margins)))).mean())


def _fit_platt_category(scores: Floats, labels: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and intercept; a negative slope, which would reverse the ranking, becomes 0."""
    wanted = compute_platt_targets(labels)
    # The rounded mean of equal scores may differ from them.
    spread = float(scores.std()) if len(scores) and np.ptp(scores) > 0 else 0.0
    share = float(wanted.mean()) if len(wanted) else 0.5
    flat = 0.0, float(np.log(share) - np.log1p(-share))
    if spread == 0.0:
        return flat
    centre = float(scores.mean())
    slope, intercept = _fit_by_newton((scores - centre) / spread, wanted, flat)
    if slope < 0.0:
        return flat
    return slope / spread, intercept - slope * centre / spread


def _fit_by_newton(scores: Floats, wanted: Floats, start: tuple[float, float]) -> tuple[float, float]:
    point = np.array(start)
    value = negative_log_likelihood(scores * point[0] + point[1], wanted)
    for _ in range(MAX_NEWTON_STEPS):
        gradient, hessian = _compute_derivatives(scores, wanted, point)
        if np.abs(gradient).max() < GRADIENT_TOLERANCE:
            break
        direction = -np.linalg.solve(hessian, gradient)
        step, slope = 1.0, float(gradient @ direction)
        while step >= MIN_NEWTON_STEP:
            there = point + step * direction
            reached = negative_log_likelihood(scores * there[0] + there[1], wanted)
            if reached < value + 1e-4 * step * slope:
                point, value = there, reached
                break
            step /= 2.0
        else:
            break
    return float(point[0]), float(point[1])


def _compute_derivatives(scores: Floats, wanted: Floats, point: Floats) -> tuple[Floats, Floats]:
    probability = expit(scores * point[0] + point[1])
    missing, curvature = probability - wanted, probability * (1.0 - probability)
    gradient = np.array([(missing * scores).mean(), missing.mean()])
    mixed = (curvature * scores).mean()
    hessian = np.array([[(curvature * scores * scores).mean(), mixed], [mixed, curvature.mean()]])
    return gradient, hessian + RIDGE * np.eye(2)


@dataclass(frozen=True)
class Isotonic:
    """The ends of all steps; category k has the places `ends[k] : ends[k + 1]` of `knots` and `levels`."""

    knots: Floats
    levels: Floats
    ends: NDArray[np.int64]

    def probabilities(self, scores: Floats) -> Floats:
        """Return probabilities, documents x categories."""
        result = np.zeros(scores.shape, dtype=np.float64)
        for k in range(scores.shape[1]):
            part = slice(self.ends[k], self.ends[k + 1])
            result[:, k] = np.interp(scores[:, k], self.knots[part], self.levels[part])
        return result

    def select_categories(self, first: int, stop: int) -> Isotonic:
        """Return the calibration of consecutive categories."""
        ends = self.ends[first : stop + 1]
        part = slice(ends[0], ends[-1])
        return Isotonic(self.knots[part], self.levels[part], ends - ends[0])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], categories: int) -> Isotonic:
        """Rebuild a calibration from its fields; refuse parts that do not fit together."""
        knots, levels, ends = arrays["knots"], arrays["levels"], arrays["ends"]
        if ends.shape != (categories + 1,) or ends.dtype != np.int64 or (np.diff(ends) < 1).any():
            raise ValueError(f"the calibration does not have steps for {categories} categories")
        if not knots.shape == levels.shape == (ends[-1],) or ends[0] != 0:
            raise ValueError("the calibration's steps do not fit together")
        if not (knots.dtype == levels.dtype == np.float64 and np.isfinite(knots).all()):
            raise ValueError("the calibration's steps are not numbers")
        if not bool(np.all((levels >= 0.0) & (levels <= 1.0))):
            raise ValueError("the calibration's levels are not probabilities")
        inside = np.delete(np.arange(len(knots) - 1), ends[1:-1] - 1)
        if (np.diff(knots)[inside] <= 0).any() or (np.diff(levels)[inside] < 0).any():
            raise ValueError("the calibration's steps do not increase")
        return cls(knots, levels, ends)


def fit_isotonic(scores: Floats, labels: Bools) -> Isotonic:
    """Calibrate every category on scores of held-out documents."""
    steps = [_fit_isotonic_category(scores[:, k], labels[:, k]) for k in range(scores.shape[1])]
    ends = np.zeros(len(steps) + 1, dtype=np.int64)
    np.cumsum([len(knots) for knots, _ in steps], out=ends[1:])
    knots, levels = (np.concatenate([np.empty(0), *(step[part] for step in steps)]) for part in (0, 1))
    return Isotonic(knots, levels, ends)


def _fit_isotonic_category(scores: Floats, labels: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the first and last score of every step, and its level; equal scores share one level."""
    if not len(scores):
        return np.zeros(1), np.full(1, 0.5)
    distinct, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    share = np.bincount(place, weights=labels, minlength=len(distinct)) / times
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - takes long to import

    level = np.clip(isotonic_regression(share, weights=times).x, 0.0, 1.0)
    inner = np.zeros(len(level), dtype=np.bool_)
    inner[1:-1] = (level[1:-1] == level[:-2]) & (level[1:-1] == level[2:])
    return distinct[~inner], level[~inner]


@dataclass(frozen=True)
class Temperature:
    """softmax(inverse * scores) over the categories of a document; `inverse` >= 0 is an array of one number."""

    inverse: Floats

    def probabilities(self, scores: Floats) -> Floats:
        """Return probabilities, documents x categories, which sum to 1 for each document."""
        return np.asarray(softmax(scores * self.inverse, axis=1))

    def select_categories(self, first: int, stop: int) -> Temperature:
        """Return the same temperature, which then gives probabilities among these categories only."""
        return self

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], categories: int) -> Temperature:
        """Rebuild a calibration from its fields."""
        inverse = arrays["inverse"]
        if (
            inverse.shape != (1,)
            or inverse.dtype != np.float64
            or not (np.isfinite(inverse) & (inverse >= 0))
        ):
            raise ValueError("the calibration's inverse temperature is not a number from 0")
        return cls(inverse)


def fit_temperature(scores: Floats, labels: Bools) -> Temperature:
    """Return the temperature of maximum likelihood for documents with one category each.

    A share of 1 / (documents + 1) of each target is spread over all categories, as Platt's targets are slightly
    inside 0 and 1: without it documents that are all right would have no finite optimum.
    """
    kept = labels.sum(axis=1) == 1
    scores, labels = scores[kept], labels[kept]
    spread = float(scores.std()) if scores.size and np.ptp(scores) > 0 else 0.0
    if spread == 0.0:
        return Temperature(np.zeros(1))
    scores = scores / spread
    share = 1.0 / (len(scores) + 1.0)
    wanted = float(((1.0 - share) * scores[labels] + share * scores.mean(axis=1)).mean())
    if float(scores.mean()) >= wanted:
        return Temperature(np.zeros(1))
    low, high = np.log(INVERSE_TEMPERATURES)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        # The slope of the negative log-likelihood grows with the inverse temperature.
        expected = float((softmax(scores * np.exp(middle), axis=1) * scores).sum(axis=1).mean())
        low, high = (middle, high) if expected < wanted else (low, middle)
    return Temperature(np.array([np.exp((low + high) / 2) / spread]))


def normalize_probabilities(probabilities: Floats) -> Floats:
    """Divide the probabilities of each document by their sum; documents of the sum 0 get equal ones."""
    total = probabilities.sum(axis=1, keepdims=True)
    equal = 1.0 / probabilities.shape[1]
    return np.asarray(np.where(total > 0, probabilities / np.where(total > 0, total, 1.0), equal))


def rank_by_both(probabilities: Floats, scores: Floats) -> Floats:
    """Return the rank of each category of a document by probability, score and order; the best is the highest."""
    order = np.lexsort((-scores, -probabilities), axis=-1)
    ranks = np.empty(scores.shape)
    np.put_along_axis(ranks, order, np.arange(scores.shape[1], 0, -1, dtype=np.float64)[np.newaxis], axis=1)
    return ranks


class CalibrationSettings(StrictSettings):
    """How scores become probabilities, for learners without their own probabilities."""

    method: Literal["platt", "isotonic", "temperature"] = Field(
        default="platt",
        description="platt: a sigmoid of the score; isotonic: the best nondecreasing function, for categories "
        "with hundreds of documents; temperature: the softmax of all scores times one number, for "
        "one category per document (`corpus.single_label`).",
    )
    folds: int = Field(
        default=5,
        ge=2,
        description="Number of folds of the training documents, each scored by a model trained on the others.",
    )


Calibration = Platt | Isotonic | Temperature
CALIBRATIONS: dict[str, type[Calibration]] = {
    "platt": Platt,
    "isotonic": Isotonic,
    "temperature": Temperature,
}
_FITTERS: dict[str, Callable[[Floats, Bools], Calibration]] = {
    "platt": fit_platt,
    "isotonic": fit_isotonic,
    "temperature": fit_temperature,
}


def fit_calibration(settings: CalibrationSettings, scores: Floats, labels: Bools) -> Calibration:
    """Calibrate every category on scores of held-out documents."""
    if not np.isfinite(scores).all():
        document, category = np.argwhere(~np.isfinite(scores))[0]
        raise BadDataError(
            f"the score of document {document} for category {category} is not finite",
            hint="Scale the features so that no weight overflows, or use a stronger prior.",
        )
    return _FITTERS[settings.method](scores, labels)


def calibrate_held_out(
    settings: CalibrationSettings, scores: Floats, labels: Bools, folds: NDArray[np.int64]
) -> Floats:
    """Return the probabilities of the documents of each fold by the calibration of the other folds."""
    probabilities = np.empty(scores.shape)
    for fold in np.unique(folds):
        own, others = folds == fold, folds != fold
        fitted = fit_calibration(settings, scores[others], labels[others])
        probabilities[own] = fitted.probabilities(scores[own])
    return probabilities


def join_calibrations(parts: Sequence[Calibration]) -> Calibration:
    """Return the calibration of consecutive blocks of categories as one."""
    arrays = [vars(part) for part in parts]
    joined = {name: np.concatenate([each[name] for each in arrays]) for name in arrays[0] if name != "ends"}
    if isinstance(parts[0], Platt):
        return Platt(joined["slope"], joined["intercept"])
    steps = np.concatenate([np.diff(each["ends"]) for each in arrays])
    return Isotonic(joined["knots"], joined["levels"], np.concatenate([[0], np.cumsum(steps)]))
