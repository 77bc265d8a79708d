"""Balanced Winnow, unnormalized and normalized, and their large margin forms (zhang_2000, section 2.2).

All work on [x, -x] with positive weights that start at mu; the model's weight of a feature is the
difference of its two halves. A prior weight mu on every feature; a category's features are those that its
mask selects.

Winnow, `fit_winnow`:
    Update   on each document that is misclassified, w_j <- w_j exp(rate * x_j y). Normalized Winnow scales
             w to the one-norm W after each update: that changes no sign, so no mistake either, and both
             forms end with the same hyperplane up to its scale, as the paper saw.
Large margin Winnow, `fit_large_margin_winnow`:
    Problem  min over w >= 0 of sum_j w_j ln(w_j / (e mu_j)) + C sum_i max(0, 1 - y_i w.x_i), one a category;
             normalized: subject to sum_j w_j = W.
    Update   on each document, alpha_i <- min(C, max(0, alpha_i + rate * (1 - w.x_i y_i))), where
             w_j = mu_j exp(sum_i alpha_i x_ij y_i), normalized: times W / (sum of these).

    Input    X documents x features, meant to be bounded by about 1 (exponents act as if they ended at +-300);
             Y bool; mask; prior: mu; norm: W, which the paper does not state: by default the one-norm at
             the start, 2 mu times the category's features with the constant; the rest as in `perceptron`.
    Output   a linear model. For the large margin forms its certificate gives the objective divided by n C,
             the entropy counted from its least value so that it is never negative, and the duality gap in the
             same units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from textcat.learners.checks import Bools, require_positive
from textcat.learners.online import (
    MAX_EXPONENT,
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
) -> LinearScorer:
    """Balanced Winnow, mistake driven; a category stops at its first pass without a mistake."""
    _check_settings(rate, prior, norm)

    def one_pass(documents: OnlineDocuments, lanes: OnlineLanes, state: LaneState) -> Integers:
        exponents, weights = state
        return run_mistake_pass(*documents.arrays, lanes.sign, lanes.kept, rate, prior, exponents, weights)

    documents, sign, kept = prepare_documents(X, Y, mask, bias, seed)
    trained = train_in_blocks(documents, sign, kept, _make_start_state, one_pass, passes, n_jobs)
    weights = merge_state(trained, 1)
    if normalized:
        weights = (
            weights
            * _compute_target_norms(kept, prior, norm)
            / _compute_one_norms(rate * merge_state(trained, 0), kept, prior)
        )
    parameters = _describe_parameters(
        normalized, norm, rate=rate, prior=prior, passes=passes, bias=bias, seed=seed
    )
    return as_model(weights, trained, "nwin" if normalized else "uwin", parameters, bias)


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
) -> LinearScorer:
    """Large margin balanced Winnow by dual ascent with a fixed learning rate."""
    require_positive("C", C)
    _check_settings(rate, prior, norm)

    def one_pass(documents: OnlineDocuments, lanes: OnlineLanes, state: LaneState) -> Integers:
        exponents, weights, alpha = state
        target = (
            _compute_target_norms(lanes.kept, prior, norm) if normalized else np.zeros(lanes.sign.shape[1])
        )
        return run_margin_pass(
            *documents.arrays, lanes.sign, lanes.kept, rate, C, prior, target, exponents, weights, alpha
        )

    documents, sign, kept = prepare_documents(X, Y, mask, bias, seed)
    trained = train_in_blocks(documents, sign, kept, _make_dual_state, one_pass, passes, n_jobs)
    exponents, weights, alpha = (merge_state(trained, part) for part in range(3))
    if normalized:
        weights = (
            weights * _compute_target_norms(kept, prior, norm) / _compute_one_norms(exponents, kept, prior)
        )
    entropy, conjugate = _compute_entropies(exponents, kept, prior, norm, normalized)
    primal = (entropy + C * sum_hinge_losses(documents, sign, weights)) / (C * sign.shape[0])
    dual = (alpha.sum(axis=0) - conjugate) / (C * sign.shape[0])
    parameters = _describe_parameters(
        normalized, norm, C=C, rate=rate, prior=prior, passes=passes, bias=bias, seed=seed
    )
    return as_model(
        weights, trained, "lm-nwin" if normalized else "lm-uwin", parameters, bias, (primal, dual)
    )


def _check_settings(rate: float, prior: float, norm: float | None) -> None:
    require_positive("rate", rate)
    require_positive("prior", prior)
    if norm is not None:
        require_positive("norm", norm)


def _describe_parameters(normalized: bool, norm: float | None, **parameters: Any) -> dict[str, Any]:
    return {**parameters, "norm": norm} if normalized else parameters


def _make_start_state(lanes: OnlineLanes) -> LaneState:
    return np.zeros(lanes.kept.shape), np.zeros(lanes.kept.shape)


def _make_dual_state(lanes: OnlineLanes) -> LaneState:
    return (*_make_start_state(lanes), np.zeros(lanes.sign.shape))


def _compute_target_norms(kept: Bools, prior: float, norm: float | None) -> Floats:
    if norm is not None:
        return np.full(kept.shape[1], norm)
    return np.asarray(2.0 * prior * kept.sum(axis=0), dtype=np.float64)


def _compute_one_norms(exponents: Floats, kept: Bools, prior: float) -> Floats:
    bounded = np.clip(exponents, -MAX_EXPONENT, MAX_EXPONENT)
    return np.asarray((2.0 * prior * np.cosh(bounded) * kept).sum(axis=0))


def _compute_entropies(
    exponents: Floats, kept: Bools, prior: float, norm: float | None, normalized: bool
) -> tuple[Floats, Floats]:
    """The entropy of the primal, counted from its least value, and the conjugate that the dual subtracts."""
    bounded = np.clip(exponents, -MAX_EXPONENT, MAX_EXPONENT)
    alignment = (2.0 * prior * np.sinh(bounded) * bounded * kept).sum(axis=0)
    total, start = _compute_one_norms(exponents, kept, prior), _compute_target_norms(kept, prior, None)
    if not normalized:
        return np.asarray(alignment - (total - start)), np.asarray(total - start)
    target = _compute_target_norms(kept, prior, norm)
    conjugate = target * np.log(total / start)
    return np.asarray(target / total * alignment - conjugate), np.asarray(conjugate)
