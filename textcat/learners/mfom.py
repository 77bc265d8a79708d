"""MFoM: linear splits and trees that maximise a smooth figure of merit, for each category alone or for all together.

One category, `fit_mfom`: a tree per category.
    Problem  splits that maximise F1 (or minimise the balanced error) of the documents that reach them.
    Input    features, labels, the settings of the descent, numbers of iterations, the greatest depth.
    Output   BinaryTrees for each number of iterations.
    Paper    gao_2003 sections 2.2 and 4.2; the splits are learned by `textcat.learners.gpd`.

One category per document, `fit_multicategory_mfom`: each category is compared with all others.
    Problem  minimise -(mean F1 over categories) or the mean error of equation 4.10, smoothed by a sigmoid of
             d_j = -g_j + [mean over i != j of g_i^eta]^(1/eta)  (equation 4.13); not convex.
    Input    features, one category per document, the settings of the descent, eta and the kind of score g.
    Output   LinearModel (the largest score decides, equation 4.11) with the last objective in its certificate.
    Paper    gao_2003 section 4.3, GPD by equation 5.3.
    A power mean needs positive scores, but linear functions f_j = w_j.x - w0_j can be negative. "power" uses
    g = ln(1 + exp(f)), which keeps their order; "exponential" uses g = f and the exponential mean
    ln(mean of exp(eta g_i)) / eta in place of the power mean. Both tend to the largest competitor as eta grows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.special

from textcat.errors import UsageError
from textcat.learners.binary_tree import BinaryTrees, FeatureMatrix, LinearNodes, grow_trees
from textcat.learners.checks import Bools, Floats, check_one_category_each, require_positive
from textcat.learners.gpd import (
    GpdSettings,
    Integers,
    compute_merit_slopes,
    compute_sigmoid_loss,
    compute_window_offset,
    descend_to,
    packs_products,
)
from textcat.linear.certificate import Certificate
from textcat.linear.model import LinearModel
from textcat.matrices import check_matrix


def fit_mfom(
    X: FeatureMatrix, Y: Bools, settings: GpdSettings | None = None, *, max_depth: int = 1, jobs: int = 1
) -> BinaryTrees:
    """Train a tree per category; each split maximises the figure of merit of the documents that reach it."""
    chosen = settings or GpdSettings()
    return fit_mfom_at(X, Y, chosen, [chosen.iterations], max_depth=max_depth, jobs=jobs)[chosen.iterations]


def fit_mfom_at(
    X: FeatureMatrix,
    Y: Bools,
    settings: GpdSettings,
    iterations: Iterable[int],
    *,
    max_depth: int = 1,
    jobs: int = 1,
) -> dict[int, BinaryTrees]:
    """Train trees for several numbers of iterations; one product of a descent's step serves all trees.

    Nodes of the same documents are one descent. `settings.horizon` is by default the largest number.
    """
    wanted = sorted(set(iterations), reverse=True)
    longest = replace(settings, iterations=wanted[0], horizon=settings.horizon or wanted[0])
    categories = Y.shape[1]
    ends = np.repeat(wanted, categories)

    def learn_split(
        X: FeatureMatrix, positive: Bools, member: Bools, tree: Integers, jobs: int
    ) -> LinearNodes:
        return descend_to(X, positive, member, longest, ends[tree], jobs)

    forest = grow_trees(
        X,
        np.tile(Y, len(wanted)),
        learn_split,
        max_depth=max_depth,
        jobs=jobs,
        shares_groups=packs_products(X),
    )
    return {
        number: replace(
            forest.select_trees(np.arange(at * categories, (at + 1) * categories)),
            settings={"max_depth": max_depth, **_describe_settings(longest), "iterations": number},
        )
        for at, number in enumerate(wanted)
    }


def _describe_settings(settings: GpdSettings) -> dict[str, Any]:
    described = asdict(settings)
    described["horizon"] = settings.horizon or settings.iterations
    if settings.start == "mean":
        del described["perceptron"]
    return {"learner": "mfom", **described}


ScoreKind = Literal["power", "exponential"]


def fit_multicategory_mfom(
    X: FeatureMatrix,
    Y: Bools,
    settings: GpdSettings | None = None,
    *,
    eta: float = 4.0,
    score: ScoreKind = "exponential",
) -> LinearModel:
    """Run GPD from the means of the categories, each with the least value of its own documents as offset."""
    check_matrix(X)
    check_one_category_each(Y, X.shape[0])
    require_positive(eta=eta)
    chosen = settings or GpdSettings()
    if chosen.start != "mean":
        raise UsageError(
            f"the multi-category form cannot start from {chosen.start}",
            where="mfom.start",
            hint="Leave `start` out: it starts from the means.",
        )
    weights, offsets = _compute_category_means(X, Y)
    across = X.T if isinstance(X, np.ndarray) else X.T.tocsr()
    began = time.perf_counter()
    for iteration in range(chosen.iterations):
        values = np.asarray(X @ weights - offsets)
        _, slope = compute_multicategory_objective(values, Y, chosen, eta, score)
        weights -= chosen.step(iteration) * np.asarray(across @ slope)
        offsets += chosen.step(iteration) * slope.sum(axis=0)
    objective, _ = compute_multicategory_objective(np.asarray(X @ weights - offsets), Y, chosen, eta, score)
    seconds = time.perf_counter() - began
    described = {"learner": "mfom_multicategory", "eta": eta, "score": score, **asdict(chosen)}
    del described["perceptron"]
    return LinearModel(
        weights,
        -offsets,
        settings=described,
        kind="multiclass",
        joint_certificate=Certificate(
            objective, passes=chosen.iterations, seconds=seconds, reason="all iterations done"
        ),
    )


def _compute_category_means(X: FeatureMatrix, Y: Bools) -> tuple[Floats, Floats]:
    """Return the mean of the documents of each category and their least value (section 5.3)."""
    weights = np.asarray(X.T @ Y.astype(np.float64)) / np.maximum(Y.sum(axis=0), 1)
    lowest = np.where(Y, np.asarray(X @ weights), np.inf).min(axis=0)
    return weights, np.where(np.isfinite(lowest), lowest, 0.0)


def compute_multicategory_objective(
    values: Floats, Y: Bools, settings: GpdSettings, eta: float, score: ScoreKind
) -> tuple[float, Floats]:
    """Return the objective and its slope in each value f_j(x), for fixed beta."""
    measure, competitors = measure_misclassification(values, eta, score)
    if settings.merit == "f1":
        objective, by_measure = _mean_f1(measure, Y, settings)
    else:
        objective, by_measure = _mean_error(measure, Y, settings)
    return objective, _backpropagate_measure(by_measure, values, competitors, score)


def _mean_f1(measure: Floats, Y: Bools, settings: GpdSettings) -> tuple[float, Floats]:
    """Return equation 4.9 and its slope; j accepts a document of another category to the degree 1 - l_j."""
    beta = compute_window_offset(measure.sum(axis=0), measure.shape[0], settings.offset)
    loss = compute_sigmoid_loss(measure, settings.alpha, beta).astype(np.float64)
    positives = Y.sum(axis=0).astype(np.float64)
    accepted = np.where(Y, 0.0, 1 - loss).sum(axis=0)
    slopes = compute_merit_slopes(
        "f1", np.where(Y, loss, 0.0).sum(axis=0), accepted, positives, Y.shape[0] - positives
    )
    weight = np.where(Y, slopes.positive, -slopes.negative) / Y.shape[1]
    return float(np.mean(slopes.objective)), settings.alpha * loss * (1 - loss) * weight


def _mean_error(measure: Floats, Y: Bools, settings: GpdSettings) -> tuple[float, Floats]:
    """Return equation 4.10 and its slope: the mean over documents of the loss of their own category."""
    measures = measure[Y]
    beta = float(compute_window_offset(measures.sum(), measures.size, settings.offset))
    loss = compute_sigmoid_loss(measures, settings.alpha, beta)
    slope = np.zeros(measure.shape)
    slope[Y] = settings.alpha * loss * (1 - loss) / measures.size
    return float(loss.mean()), slope


class Competitors:
    """Sums of exponentials over all categories except one, for each category.

    The sum without category j is the total minus j's term. Where j's term is the largest, the others are
    summed by themselves, so that nothing cancels.
    """

    def __init__(self, exponents: Floats) -> None:
        rows = np.arange(exponents.shape[0])
        self.best = exponents.argmax(axis=1)
        top = exponents[rows, self.best]
        others = exponents.copy()
        others[rows, self.best] = -np.inf
        second = others.max(axis=1)
        self.terms = np.exp(exponents - top[:, None])
        self.terms_without_best = np.exp(others - second[:, None])
        self.without = self.terms.sum(axis=1, keepdims=True) - self.terms
        self.without[rows, self.best] = self.terms_without_best.sum(axis=1)
        self.shift = np.repeat(top[:, None], exponents.shape[1], axis=1)
        self.shift[rows, self.best] = second

    def log_mean(self) -> Floats:
        """Return ln of the mean of exp(exponent) over the other categories."""
        return np.asarray(np.log(self.without) + self.shift - np.log(self.terms.shape[1] - 1))

    def backpropagate(self, slope: Floats) -> Floats:
        """Return the slope in each exponent for a slope in each log_mean."""
        rows = np.arange(slope.shape[0])
        share = slope / self.without
        of_best = share[rows, self.best][:, None] * self.terms_without_best
        share[rows, self.best] = 0.0
        return np.asarray(self.terms * (share.sum(axis=1, keepdims=True) - share) + of_best)


def measure_misclassification(
    values: Floats, eta: float, score: ScoreKind
) -> tuple[Floats, tuple[Competitors, Floats]]:
    """Return d_j of equation 4.13, documents x categories, and the parts of its derivative."""
    values = np.asarray(values, dtype=np.float64)
    if score == "exponential":
        competitors = Competitors(eta * values)
        rival = competitors.log_mean() / eta
        return rival - values, (competitors, np.ones_like(rival))
    scores = np.logaddexp(0, values)
    competitors = Competitors(eta * _log_softplus(values))
    rival = np.exp(competitors.log_mean() / eta)
    return rival - scores, (competitors, rival)


def _log_softplus(values: Floats) -> Floats:
    """Return ln(ln(1 + exp(f))), which is f where exp(f) is below rounding."""
    return np.where(values < -30, values, np.log(np.logaddexp(0, np.maximum(values, -30))))


def _backpropagate_measure(
    slope: Floats, values: Floats, parts: tuple[Competitors, Floats], score: ScoreKind
) -> npt.NDArray[np.float64]:
    """Apply the chain rule from d_j to f_i: exponential d ln-mean = eta df, power g' = sigmoid(f)."""
    competitors, rival = parts
    spread = competitors.backpropagate(slope * rival)
    if score == "exponential":
        return np.asarray(spread - slope)
    slope_of_score = scipy.special.expit(values)
    relative = np.exp(-np.logaddexp(0, -values) - _log_softplus(values))
    return np.asarray(spread * relative - slope * slope_of_score)
