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

from textcat.learners.inputs import Bools, require_positive
from textcat.learners.online import (
    STEEPEST,
    Documents,
    Floats,
    Integers,
    Lanes,
    State,
    as_model,
    hinge_losses,
    margin_pass,
    merged,
    mistake_pass,
    prepare,
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
    _check(rate, prior, norm)

    def one_pass(documents: Documents, lanes: Lanes, state: State) -> Integers:
        exponents, weights = state
        return mistake_pass(*documents.arrays, lanes.sign, lanes.kept, rate, prior, exponents, weights)

    documents, sign, kept = prepare(X, Y, mask, bias, seed)
    trained = train_in_blocks(documents, sign, kept, _start, one_pass, passes, n_jobs)
    weights = merged(trained, 1)
    if normalized:
        weights = (
            weights * _target_norms(kept, prior, norm) / _one_norms(rate * merged(trained, 0), kept, prior)
        )
    parameters = _described(normalized, norm, rate=rate, prior=prior, passes=passes, bias=bias, seed=seed)
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
    _check(rate, prior, norm)

    def one_pass(documents: Documents, lanes: Lanes, state: State) -> Integers:
        exponents, weights, alpha = state
        target = _target_norms(lanes.kept, prior, norm) if normalized else np.zeros(lanes.sign.shape[1])
        return margin_pass(
            *documents.arrays, lanes.sign, lanes.kept, rate, C, prior, target, exponents, weights, alpha
        )

    documents, sign, kept = prepare(X, Y, mask, bias, seed)
    trained = train_in_blocks(documents, sign, kept, _start_with_alpha, one_pass, passes, n_jobs)
    exponents, weights, alpha = (merged(trained, part) for part in range(3))
    if normalized:
        weights = weights * _target_norms(kept, prior, norm) / _one_norms(exponents, kept, prior)
    entropy, conjugate = _entropies(exponents, kept, prior, norm, normalized)
    primal = (entropy + C * hinge_losses(documents, sign, weights)) / (C * sign.shape[0])
    dual = (alpha.sum(axis=0) - conjugate) / (C * sign.shape[0])
    parameters = _described(
        normalized, norm, C=C, rate=rate, prior=prior, passes=passes, bias=bias, seed=seed
    )
    return as_model(
        weights, trained, "lm-nwin" if normalized else "lm-uwin", parameters, bias, (primal, dual)
    )


def _check(rate: float, prior: float, norm: float | None) -> None:
    require_positive("rate", rate)
    require_positive("prior", prior)
    if norm is not None:
        require_positive("norm", norm)


def _described(normalized: bool, norm: float | None, **parameters: Any) -> dict[str, Any]:
    return {**parameters, "norm": norm} if normalized else parameters


def _start(lanes: Lanes) -> State:
    return np.zeros(lanes.kept.shape), np.zeros(lanes.kept.shape)


def _start_with_alpha(lanes: Lanes) -> State:
    return (*_start(lanes), np.zeros(lanes.sign.shape))


def _target_norms(kept: Bools, prior: float, norm: float | None) -> Floats:
    if norm is not None:
        return np.full(kept.shape[1], norm)
    return np.asarray(2.0 * prior * kept.sum(axis=0), dtype=np.float64)


def _one_norms(exponents: Floats, kept: Bools, prior: float) -> Floats:
    bounded = np.clip(exponents, -STEEPEST, STEEPEST)
    return np.asarray((2.0 * prior * np.cosh(bounded) * kept).sum(axis=0))


def _entropies(
    exponents: Floats, kept: Bools, prior: float, norm: float | None, normalized: bool
) -> tuple[Floats, Floats]:
    """The entropy of the primal, counted from its least value, and the conjugate that the dual subtracts."""
    bounded = np.clip(exponents, -STEEPEST, STEEPEST)
    alignment = (2.0 * prior * np.sinh(bounded) * bounded * kept).sum(axis=0)
    total, start = _one_norms(exponents, kept, prior), _target_norms(kept, prior, None)
    if not normalized:
        return np.asarray(alignment - (total - start)), np.asarray(total - start)
    target = _target_norms(kept, prior, norm)
    conjugate = target * np.log(total / start)
    return np.asarray(target / total * alignment - conjugate), np.asarray(conjugate)
