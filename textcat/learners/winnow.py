"""The six learners of zhang_2000: Perceptron, SVM without threshold, Winnow and large margin Winnow.

    Input    X documents x features; Y bool; mask features x categories: the features of each category; bias:
             the value of the constant feature (0 for none); passes over the data; seed: None visits documents
             in the given order, a number in one random order.
    Output   a linear model. The certificate of a large margin learner has the objective divided by n C and
             the duality gap in the same units.

Perceptron (section 2.1), `fit_perceptron`:
    Update   on each document that w.x misclassifies, w <- w + rate * y x, from w = 0. The rate scales the
             weights and changes no decision.
SVM by dual ascent (section 2.1), `fit_dual_svm`:
    Problem  min over w of |w|^2 / 2 + C sum_i max(0, 1 - y_i w.x_i), one per category.
    Update   on each document, alpha_i <- min(C, max(0, alpha_i + rate * (1 - w.x_i y_i))), w = sum_i alpha_i
             y_i x_i. The rate 1 / |x_i|^2 maximises the dual exactly in alpha_i; up to twice that the dual
             still ascends. The paper's fixed 0.01 exceeds this for documents of more than 200 distinct words.

The Winnows (section 2.2) work on [x, -x] with positive weights that start at `prior`, mu; the model's weight of
a feature is the difference of its two halves. X should be bounded by about 1: exponents are clipped at +-300.
`norm` is W, which the paper does not state: by default the one-norm at the start, 2 mu times the number of the
category's features including the constant.
Winnow, `fit_winnow`:
    Update   on each misclassified document, w_j <- w_j exp(rate * x_j y). Normalized Winnow scales w to the
             one-norm W after each update. This changes no sign and no mistake, so both forms end with the
             same hyperplane up to its scale.
Large margin Winnow, `fit_large_margin_winnow`:
    Problem  min over w >= 0 of sum_j w_j ln(w_j / (e mu_j)) + C sum_i max(0, 1 - y_i w.x_i), one per category;
             normalized: subject to sum_j w_j = W. The certificate counts the entropy from its minimum, so the
             objective is never negative.
    Update   as for the SVM, with w_j = mu_j exp(sum_i alpha_i x_ij y_i); normalized: scaled to the one-norm W.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textcat.learners.checks import Bools, Floats, require_positive
from textcat.learners.online import (
    MAX_EXPONENT,
    Integers,
    LaneState,
    OnlineDocuments,
    OnlineLanes,
    OnlineProblem,
    TrainedLanes,
    make_model,
    prepare_problem,
    run_margin_pass,
    run_mistake_pass,
    train_in_blocks,
)
from textcat.linear.model import LinearModel


def fit_perceptron(
    X: Any,
    Y: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    rate: float = 0.01,
    passes: int = 200,
    bias: float = 1.0,
    seed: int | None = None,
    n_jobs: int = 1,
) -> LinearModel:
    """Train the Perceptron; a category stops at its first pass without a mistake."""
    require_positive(rate=rate)
    problem = prepare_problem(X, Y, mask, bias, seed)
    trained = _run_mistake_passes(problem, 1.0, 0.0, passes, n_jobs)
    settings = {"rate": rate, "passes": passes, "bias": bias, "seed": seed}
    return make_model("perceptron", problem, trained, rate * trained.state[1], settings)


def fit_winnow(
    X: Any,
    Y: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    normalized: bool = False,
    rate: float = 0.01,
    prior: float = 0.01,
    norm: float | None = None,
    passes: int = 200,
    bias: float = 1.0,
    seed: int | None = None,
    n_jobs: int = 1,
) -> LinearModel:
    """Train balanced Winnow, mistake driven; a category stops at its first pass without a mistake."""
    problem = _prepare_winnow(prepare_problem(X, Y, mask, bias, seed), normalized, rate, prior, norm)
    trained = _run_mistake_passes(problem, rate, prior, passes, n_jobs)
    exponents, weights = trained.state
    settings = {"rate": rate, "prior": prior, "passes": passes, "bias": bias, "seed": seed}
    if not normalized:
        return make_model("uwin", problem, trained, weights, settings)
    weights = weights * problem.lanes.norm / _compute_one_norms(rate * exponents, problem.lanes.kept, prior)
    return make_model("nwin", problem, trained, weights, {**settings, "norm": norm})


def _run_mistake_passes(
    problem: OnlineProblem, rate: float, prior: float, passes: int, n_jobs: int
) -> TrainedLanes:
    def one_pass(documents: OnlineDocuments, lanes: OnlineLanes, state: LaneState) -> Integers:
        return run_mistake_pass(*documents.arrays, lanes.sign, lanes.kept, rate, prior, *state)

    return train_in_blocks(problem, one_pass, passes, n_jobs)


def fit_dual_svm(
    X: Any,
    Y: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    C: float,
    rate: float = 0.01,
    passes: int = 200,
    bias: float = 1.0,
    seed: int | None = None,
    n_jobs: int = 1,
) -> LinearModel:
    """Train the SVM without threshold by dual ascent with a fixed learning rate."""
    require_positive(C=C, rate=rate)
    problem = prepare_problem(X, Y, mask, bias, seed)
    trained = _run_margin_passes(problem, C, rate, 0.0, passes, n_jobs)
    weights = trained.state[1]
    half_norm = np.square(weights).sum(axis=0) / 2.0
    values = _compute_objectives(problem, trained, C, weights, half_norm, half_norm)
    settings = {"C": C, "rate": rate, "passes": passes, "bias": bias, "seed": seed}
    return make_model("svm-dual-ascent", problem, trained, weights, settings, values)


def fit_large_margin_winnow(
    X: Any,
    Y: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    C: float,
    normalized: bool = False,
    rate: float = 0.01,
    prior: float = 0.01,
    norm: float | None = None,
    passes: int = 200,
    bias: float = 1.0,
    seed: int | None = None,
    n_jobs: int = 1,
) -> LinearModel:
    """Train large margin balanced Winnow by dual ascent with a fixed learning rate."""
    require_positive(C=C)
    problem = _prepare_winnow(prepare_problem(X, Y, mask, bias, seed), normalized, rate, prior, norm)
    trained = _run_margin_passes(problem, C, rate, prior, passes, n_jobs)
    exponents, weights, _ = trained.state
    lanes = problem.lanes
    entropy, conjugate = _compute_entropies(exponents, lanes, prior)
    settings = {"C": C, "rate": rate, "prior": prior, "passes": passes, "bias": bias, "seed": seed}
    if normalized:
        weights = weights * lanes.norm / _compute_one_norms(exponents, lanes.kept, prior)
        settings["norm"] = norm
    values = _compute_objectives(problem, trained, C, weights, entropy, conjugate)
    return make_model("lm-nwin" if normalized else "lm-uwin", problem, trained, weights, settings, values)


def _run_margin_passes(
    problem: OnlineProblem, C: float, rate: float, prior: float, passes: int, n_jobs: int
) -> TrainedLanes:
    def one_pass(documents: OnlineDocuments, lanes: OnlineLanes, state: LaneState) -> Integers:
        return run_margin_pass(*documents.arrays, lanes.sign, lanes.kept, rate, C, prior, lanes.norm, *state)

    return train_in_blocks(problem, one_pass, passes, n_jobs, dual=True)


def _compute_objectives(
    problem: OnlineProblem,
    trained: TrainedLanes,
    C: float,
    weights: Floats,
    regularizer: Floats,
    conjugate: Floats,
) -> tuple[Floats, Floats]:
    """Return primal and dual objectives of each category, divided by n C."""
    scale = C * problem.lanes.sign.shape[0]
    primal = (regularizer + C * problem.sum_hinge_losses(weights)) / scale
    return primal, (trained.state[2].sum(axis=0) - conjugate) / scale


def _prepare_winnow(
    problem: OnlineProblem, normalized: bool, rate: float, prior: float, norm: float | None
) -> OnlineProblem:
    """Check the settings and set the one-norm of each lane of a normalized Winnow."""
    require_positive(rate=rate, prior=prior, norm=1.0 if norm is None else norm)
    if not normalized:
        return problem
    kept = problem.lanes.kept
    norms = _compute_start_norms(kept, prior) if norm is None else np.full(kept.shape[1], norm)
    return replace(problem, lanes=replace(problem.lanes, norm=norms))


def _compute_start_norms(kept: Bools, prior: float) -> Floats:
    return np.asarray(2.0 * prior * kept.sum(axis=0), dtype=np.float64)


def _compute_one_norms(exponents: Floats, kept: Bools, prior: float) -> Floats:
    bounded = np.clip(exponents, -MAX_EXPONENT, MAX_EXPONENT)
    return np.asarray((2.0 * prior * np.cosh(bounded) * kept).sum(axis=0))


def _compute_entropies(exponents: Floats, lanes: OnlineLanes, prior: float) -> tuple[Floats, Floats]:
    """Return the entropy of the primal, above its minimum, and the conjugate that the dual subtracts."""
    bounded = np.clip(exponents, -MAX_EXPONENT, MAX_EXPONENT)
    alignment = (2.0 * prior * np.sinh(bounded) * bounded * lanes.kept).sum(axis=0)
    total, start = _compute_one_norms(exponents, lanes.kept, prior), _compute_start_norms(lanes.kept, prior)
    if not lanes.norm.any():
        return np.asarray(alignment - (total - start)), np.asarray(total - start)
    conjugate = lanes.norm * np.log(total / start)
    return np.asarray(lanes.norm / total * alignment - conjugate), np.asarray(conjugate)
