"""The Perceptron and the SVM without threshold that grows out of it (zhang_2000, section 2.1).

Perceptron, `fit_perceptron`:
    Update   on each document that w.x misclassifies, w <- w + rate * y x; nothing else. Starts at w = 0, so
             that the rate scales the weights and changes no decision.
SVM by dual ascent, `fit_dual_svm`:
    Problem  min over w of |w|^2 / 2 + C sum_i max(0, 1 - y_i w.x_i), one a category, the constant feature
    in x.
    Update   on each document, alpha_i <- min(C, max(0, alpha_i + rate * (1 - w.x_i y_i))), w = sum alpha_i
             y_i x_i. The rate 1 / |x_i|^2 would maximise the dual exactly in alpha_i; up to twice that it
             still ascends, and the paper's fixed 0.01 exceeds it for documents of more than 200 distinct
             words.

    Input    X documents x features; Y bool; mask features x categories; bias: the value of the constant
             feature (0 for none); passes over the data; seed: None visits documents in their order, a
             number in one random order.
    Output   a linear model. For the SVM its certificate gives the objective divided by n C, that is
             (1/n) sum of losses + |w|^2 / (2 n C), and the duality gap in the same units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textcat.learners.checks import require_positive
from textcat.learners.online import (
    Floats,
    Integers,
    LaneState,
    OnlineDocuments,
    OnlineLanes,
    as_model,
    merge_state,
    prepare_documents,
    run_margin_pass,
    run_mistake_pass,
    sum_hinge_losses,
    train_in_blocks,
)
from textcat.learners.scorer import LinearScorer


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
) -> LinearScorer:
    """The Perceptron; a category stops at its first pass without a mistake."""
    require_positive("rate", rate)
    documents, sign, kept = prepare_documents(X, Y, mask, bias, seed)
    trained = train_in_blocks(documents, sign, kept, _make_zero_state, _run_perceptron_pass, passes, n_jobs)
    parameters = {"rate": rate, "passes": passes, "bias": bias, "seed": seed}
    return as_model(rate * merge_state(trained, 0), trained, "perceptron", parameters, bias)


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
) -> LinearScorer:
    """The SVM without threshold by dual ascent with a fixed learning rate."""
    require_positive("C", C)
    require_positive("rate", rate)

    def one_pass(documents: OnlineDocuments, lanes: OnlineLanes, state: LaneState) -> Integers:
        weights, alpha = state
        plain = np.zeros(lanes.sign.shape[1])
        return run_margin_pass(
            *documents.arrays, lanes.sign, lanes.kept, rate, C, 0.0, plain, weights, weights, alpha
        )

    documents, sign, kept = prepare_documents(X, Y, mask, bias, seed)
    trained = train_in_blocks(documents, sign, kept, _make_dual_state, one_pass, passes, n_jobs)
    weights, alpha = merge_state(trained, 0), merge_state(trained, 1)
    half_norm = np.square(weights).sum(axis=0) / 2.0
    primal = (half_norm + C * sum_hinge_losses(documents, sign, weights)) / (C * sign.shape[0])
    dual = (alpha.sum(axis=0) - half_norm) / (C * sign.shape[0])
    parameters = {"C": C, "rate": rate, "passes": passes, "bias": bias, "seed": seed}
    return as_model(weights, trained, "svm-dual-ascent", parameters, bias, (primal, dual))


def _run_perceptron_pass(documents: OnlineDocuments, lanes: OnlineLanes, state: LaneState) -> Integers:
    (weights,) = state
    return run_mistake_pass(*documents.arrays, lanes.sign, lanes.kept, 1.0, 0.0, weights, weights)


def _make_zero_state(lanes: OnlineLanes) -> LaneState:
    return (_make_zeros(lanes),)


def _make_dual_state(lanes: OnlineLanes) -> LaneState:
    return _make_zeros(lanes), np.zeros(lanes.sign.shape)


def _make_zeros(lanes: OnlineLanes) -> Floats:
    return np.zeros(lanes.kept.shape)
