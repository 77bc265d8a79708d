"""Studies: measures and series for the papers' figures and remarks, beyond the usual measures of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.evaluation.curves import area_under_curve, compute_micro_curve
from textcat.evaluation.measures import Bools, Floats, make_dense_labels, sort_by_size
from textcat.evaluation.run_measures import StudyName
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.vectorize import Vectors


@dataclass(frozen=True)
class StudyInput:
    """A trained run: vectors, scores, the weights of a linear model, and the model's description."""

    run: RunSettings
    vectors: Vectors
    train_scores: Floats
    test_scores: Floats
    weights: Floats | None
    description: Mapping[str, Any]

    @property
    def train_labels(self) -> Bools:
        """The labels of training documents."""
        return make_dense_labels(self.vectors.own_labels)

    @property
    def columns(self) -> NDArray[np.int64]:
        """Columns of the studied categories: the named one, or all."""
        wanted = self.run.evaluation.study_category
        if wanted is None:
            return np.arange(len(self.vectors.categories))
        if wanted not in self.vectors.categories:
            raise UsageError(
                f"there is no category {wanted!r} to study",
                where="evaluation.study_category",
                hint="Name one of the categories that the experiment keeps.",
            )
        return np.array([list(self.vectors.categories).index(wanted)])

    def require_weights(self, study: StudyName) -> Floats:
        """Return the weights of a linear model; raise UsageError for other models."""
        if self.weights is None:
            raise UsageError(
                "only linear models have weights",
                where="evaluation.studies",
                hint=f"Remove `{study}` from the run's studies, or choose a linear learner.",
            )
        return self.weights


@dataclass(frozen=True)
class StudyResult:
    """Measures by dotted name, and lists of numbers for figures."""

    measures: dict[str, float] = field(default_factory=dict)
    series: dict[str, list[Any]] = field(default_factory=dict)


Study = Callable[[StudyInput], StudyResult]


def round_values(values: Any) -> list[float]:
    """Round to six significant digits."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=np.float64)]


EARLY_ITERATION = 150


def study_iterations(subject: StudyInput) -> StudyResult:
    """Return category.NAME.train_f1 of the last iteration, .train_f1_at_0, .train_f1_at_150, and the whole course."""
    course = subject.description.get("settings", {}).get("course_f1")
    if course is None:
        raise UsageError(
            "the learner keeps no training F1 of its iterations", hint="Give mfom `trace: true`."
        )
    by_category = 100.0 * np.asarray(course, dtype=np.float64)
    measures: dict[str, float] = {}
    for column in subject.columns:
        name, f1 = subject.vectors.categories[column], by_category[:, column]
        measures[f"category.{name}.train_f1"] = float(f1[-1])
        measures[f"category.{name}.train_f1_at_0"] = float(f1[0])
        measures[f"category.{name}.train_f1_at_{EARLY_ITERATION}"] = float(
            f1[min(EARLY_ITERATION, len(f1) - 1)]
        )
    return StudyResult(measures, {"iterations.train_f1": round_values(by_category[:, subject.columns[0]])})


HISTOGRAM_BINS = 60
TAIL_MARGIN = 2.0
TAIL_DEVIATIONS = 3.0


def study_margins(subject: StudyInput) -> StudyResult:
    """Return histograms of score times label and of the scores of each class, over the training documents.

    margins.tail: percent of the documents whose score times label exceeds 2, twice what least squares aims at;
    margins.upper_tail: percent of them more than three standard deviations above its mean;
    margins.kurtosis: its excess kurtosis; margins.overlap: the area, in percent, that the histograms of both
    sides' scores share when each has area 1.
    """
    from scipy import stats  # noqa: PLC0415 - takes long to import

    columns = subject.columns
    scores = subject.train_scores[:, columns].ravel()
    positive = subject.train_labels[:, columns].ravel()
    signed = np.where(positive, scores, -scores)
    edges = np.linspace(*_find_range(signed), HISTOGRAM_BINS + 1)
    sides = np.linspace(*_find_range(scores), HISTOGRAM_BINS + 1)
    inside, outside = (
        np.histogram(scores[mask], sides)[0] / max(np.count_nonzero(mask), 1)
        for mask in (positive, ~positive)
    )
    return StudyResult(
        {
            "margins.tail": float(100.0 * np.mean(signed > TAIL_MARGIN)),
            "margins.upper_tail": float(
                100.0 * np.mean(signed > signed.mean() + TAIL_DEVIATIONS * signed.std())
            ),
            "margins.kurtosis": float(stats.kurtosis(signed)) if np.ptp(signed) > 0 else float("nan"),
            "margins.overlap": float(100.0 * np.minimum(inside, outside).sum()),
        },
        {
            "margins.edges": round_values(edges),
            "margins.counts": round_values(np.histogram(signed, edges)[0]),
            "scores.edges": round_values(sides),
            "scores.positive": round_values(np.histogram(scores[positive], sides)[0]),
            "scores.negative": round_values(np.histogram(scores[~positive], sides)[0]),
        },
    )


def _find_range(values: Floats) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


# The values of gamma in MLR-CG: 1, 11, ..., 191.
GAMMAS = np.arange(1.0, 200.0, 10.0)


def study_objectives(subject: StudyInput) -> StudyResult:
    """Return the SVM objective of each category, and by how much the approximate one exceeds it.

    category.NAME.svm_objective: (1/n) sum of hinge losses + lam |w|^2, the constant's weight left free;
    approximation.least_excess, .greatest_excess_times_gamma: over categories and the gammas of MLR-CG.
    """
    weights = subject.require_weights("objectives")
    lam = float(subject.run.parameters.get("lam", 1e-3))
    signs = np.where(subject.train_labels, 1.0, -1.0)
    reached = signs * subject.train_scores
    penalty = lam * (weights**2).sum(axis=0)
    hinge = np.maximum(0.0, 1.0 - reached).mean(axis=0)
    # The modified logistic loss, whose limit for large gamma is the hinge loss.
    losses = (np.logaddexp(0.0, gamma * (1.0 - reached)) / gamma for gamma in GAMMAS)
    excess = np.array([loss.mean(axis=0) - hinge for loss in losses])
    measures = {
        f"category.{name}.svm_objective": float(value)
        for name, value in zip(subject.vectors.categories, hinge + penalty, strict=True)
    }
    measures["approximation.least_excess"] = float(excess.min())
    measures["approximation.greatest_excess_times_gamma"] = float((excess * GAMMAS[:, None]).max())
    return StudyResult(measures)


CURVE_CATEGORIES = 10


def study_precision_recall(subject: StudyInput) -> StudyResult:
    """Return curve.area in percent, and the curve."""
    largest = np.sort(sort_by_size(subject.vectors.train_counts)[:CURVE_CATEGORIES])
    labels = make_dense_labels(subject.vectors.test_labels)
    curve = compute_micro_curve(subject.test_scores[:, largest], labels[:, largest])
    return StudyResult(
        {"curve.area": area_under_curve(curve)},
        {"curve.recall": round_values(curve.recall), "curve.precision": round_values(curve.precision)},
    )


MAX_FEATURES = 100


def study_weights(subject: StudyInput) -> StudyResult:
    """Return the features of the studied category with the largest weights, and the weights."""
    column = subject.require_weights("weights")[:, subject.columns[0]]
    largest = np.argsort(-np.abs(column), kind="stable")[:MAX_FEATURES]
    used = largest[column[largest] != 0]
    terms = [subject.vectors.terms[feature] for feature in used]
    return StudyResult({}, {"weights.terms": list(terms), "weights.values": round_values(column[used])})


STUDIES: Mapping[StudyName, Study] = MappingProxyType(
    {
        "margins": study_margins,
        "precision-recall": study_precision_recall,
        "objectives": study_objectives,
        "iterations": study_iterations,
        "weights": study_weights,
    }
)
