"""Kernels of the online learners: one pass over the documents, a contiguous lane a category.

Each category keeps exponents s = sum_i a_i y_i x_i, where a_i sums the updates that document i caused. The
weights are a function of them, feature by feature: s itself for the additive family (prior 0), and for the
balanced multiplicative family with prior mu > 0 the difference mu exp(s) - mu exp(-s) of the two halves of
the embedding [x, -x], which is therefore never laid out (zhang_2000, section 2).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compiled
from textcat.linear.lane_math import exponential

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

TIE = 1e-9  # a multiplicative score within this many priors of 0 is rounding, and counts as 0
STEEPEST = 300.0  # exponents act as if they ended here, far beyond sense and well before overflow


@compiled
def halves(exponent: float, prior: float) -> tuple[float, float]:
    """The weights that a feature and its negative copy have under this exponent."""
    grown = math.exp(min(max(exponent, -STEEPEST), STEEPEST))
    return prior * grown, prior / grown


@compiled
def _score_lanes(indices: Integers, data: Floats, weights: Floats, scores: Floats) -> None:
    """scores <- the document's inner product with every lane of weights."""
    scores[:] = 0.0
    for position in range(indices.size):
        value, row = data[position], weights[indices[position]]
        for k in range(scores.size):
            scores[k] += value * row[k]


@compiled
def _move_lane(
    indices: Integers, data: Floats, kept: Bools, lane: int, step: float, exponents: Floats, weights: Floats
) -> None:
    """exponents += step * x in one lane on its kept features; additive weights are the exponents."""
    for position in range(indices.size):
        j = indices[position]
        if kept[j, lane]:
            exponents[j, lane] += step * data[position]
            weights[j, lane] = exponents[j, lane]


@compiled
def _grow_lane(
    indices: Integers,
    data: Floats,
    kept: Bools,
    lane: int,
    step: float,
    prior: float,
    exponents: Floats,
    weights: Floats,
    grown: Floats,
) -> float:
    """The same with multiplicative weights; returns the change of the lane's one-norm.

    `grown` is room for the document's exponents, laid side by side so that exp becomes vector instructions.
    A feature that is not kept has exponent 0 and so adds nothing anywhere.
    """
    for position in range(indices.size):
        j = indices[position]
        if kept[j, lane]:
            exponents[j, lane] += step * data[position]
        grown[position] = min(max(exponents[j, lane], -STEEPEST), STEEPEST)
    for position in range(indices.size):
        grown[position] = prior * exponential(grown[position])
    change = 0.0
    for position in range(indices.size):
        j, shrunk = indices[position], prior * prior / grown[position]
        before = math.sqrt(weights[j, lane] ** 2 + 4.0 * prior * prior)
        weights[j, lane] = grown[position] - shrunk
        change += grown[position] + shrunk - before
    return change


@compiled
def mistake_pass(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    sign: Floats,
    kept: Bools,
    rate: float,
    prior: float,
    exponents: Floats,
    weights: Floats,
) -> Integers:
    """One mistake-driven pass: Perceptron for prior 0, else balanced Winnow; returns each lane's mistakes.

    A score of exactly 0 counts as "in the category" (zhang_2000, section 1). Exponents are kept in units of
    the learning rate, so that with 0/1 features they are whole numbers and ties are exact.
    """
    mistakes, scores = np.zeros(sign.shape[1], np.int64), np.empty(sign.shape[1])
    for i in range(sign.shape[0]):
        features, values = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        _score_lanes(features, values, weights, scores)
        for k in range(scores.size):
            if (scores[k] >= -TIE * prior) != (sign[i, k] > 0.0):
                mistakes[k] += 1
                _count_mistake(features, values, kept, k, sign[i, k], rate, prior, exponents, weights)
    return mistakes


@compiled
def _count_mistake(
    indices: Integers,
    data: Floats,
    kept: Bools,
    lane: int,
    step: float,
    rate: float,
    prior: float,
    exponents: Floats,
    weights: Floats,
) -> None:
    for position in range(indices.size):
        j = indices[position]
        if kept[j, lane]:
            exponents[j, lane] += step * data[position]
            if prior == 0.0:
                weights[j, lane] = exponents[j, lane]
            else:
                grown, shrunk = halves(rate * exponents[j, lane], prior)
                weights[j, lane] = grown - shrunk


@compiled
def margin_pass(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    sign: Floats,
    kept: Bools,
    rate: float,
    limit: float,
    prior: float,
    norm: Floats,
    exponents: Floats,
    weights: Floats,
    alpha: Floats,
) -> Integers:
    """One pass of dual ascent: alpha_i <- min(C, max(0, alpha_i + rate (1 - w.x_i y_i))) in every lane.

    `limit` is C. A positive norm[k] scales lane k's weights to that one-norm before they score (normalized
    Winnow). Returns how many multipliers moved in each lane.
    """
    moved, scores = np.zeros(sign.shape[1], np.int64), np.empty(sign.shape[1])
    totals, grown = one_norms(exponents, kept, prior, norm), np.empty(np.diff(indptr).max())
    for i in range(sign.shape[0]):
        features, values = indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]
        _score_lanes(features, values, weights, scores)
        for k in range(scores.size):
            scale = norm[k] / totals[k] if norm[k] > 0.0 else 1.0
            target = alpha[i, k] + rate * (1.0 - scale * scores[k] * sign[i, k])
            step = min(max(target, 0.0), limit) - alpha[i, k]
            if step != 0.0:
                moved[k] += 1
                alpha[i, k] += step
                if prior == 0.0:
                    _move_lane(features, values, kept, k, step * sign[i, k], exponents, weights)
                else:
                    totals[k] += _grow_lane(
                        features, values, kept, k, step * sign[i, k], prior, exponents, weights, grown
                    )
    return moved


@compiled
def one_norms(exponents: Floats, kept: Bools, prior: float, norm: Floats) -> Floats:
    """The one-norm of both halves of every lane that is normalized, summed anew; 0 for the others."""
    totals = np.zeros(norm.size)
    if norm.max() > 0.0:
        for j in range(kept.shape[0]):
            for k in range(norm.size):
                if kept[j, k] and norm[k] > 0.0:
                    weight, negative = halves(exponents[j, k], prior)
                    totals[k] += weight + negative
    return totals
