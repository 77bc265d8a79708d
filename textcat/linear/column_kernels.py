"""One pass of column relaxation over all features, for a block of categories in lanes.

Problem: for each lane, min over w of sum_i c_i f(w.x_i y_i) + sum_j strength_j pen(w_j).
Input: X by columns, the state e = w.x - m y (n x L), weights (d x L), trust regions (d x L, 0 where not
selected). Output: weights, state and trust regions after each feature has been visited once, in order.
Papers: zhang_oles_2001 algorithms 1 to 4; genkin_2004 algorithms 1 and 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textcat.compile import compiled
from textcat.linear import column_gather as gather
from textcat.linear.column_step import gaussian_step, laplace_step, resize
from textcat.linear.lane_math import exponential

Array = Any

SQUARED, SQUARED_HINGE, LOGISTIC = 0, 1, 2
GAUSSIAN, LAPLACE = 0, 1

squared_plain, squared_valued = gather.squared_plain, gather.squared_valued
hinge_plain, hinge_valued = gather.hinge_plain, gather.hinge_valued
logistic_plain, logistic_valued = gather.logistic_plain, gather.logistic_valued
apply_plain, apply_valued = gather.apply_plain, gather.apply_valued


@compiled
def plain_column(
    loss: int, rows: Array, start: int, stop: int, value: Any, state: Array, positive: Array, sharpness: Any,
    beyond: Any, tight: bool, one: Any, quarter: Any, radius: Array, reach: Array, slope: Array, bend: Array,
) -> None:  # fmt: skip
    """Slope and bend of a column with one value and unit weights (scaled to the objective's units)."""
    size = abs(value)
    if loss == SQUARED:
        squared_plain(rows, start, stop, state, slope)
        for k in range(slope.shape[0]):
            bend[k] = (stop - start) * one
    elif loss == SQUARED_HINGE:
        for k in range(slope.shape[0]):
            reach[k] = radius[k] * size
        hinge_plain(rows, start, stop, state, positive, reach, beyond, one, slope, bend)
    else:
        for k in range(slope.shape[0]):
            reach[k] = exponential(sharpness * radius[k] * size)
        logistic_plain(rows, start, stop, state, sharpness, reach, tight, one, quarter, slope, bend)
    for k in range(slope.shape[0]):
        slope[k] *= value
        bend[k] *= value * value


@compiled
def valued_column(
    loss: int, rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array,
    positive: Array,
    sharpness: Any, beyond: Any, tight: bool, one: Any, quarter: Any, radius: Array, slope: Array, bend:
    Array,
) -> None:  # fmt: skip
    """Slope and bend of any column."""
    if loss == SQUARED:
        squared_valued(rows, values, start, stop, state, weights, slope, bend)
    elif loss == SQUARED_HINGE:
        hinge_valued(rows, values, start, stop, state, weights, positive, radius, beyond, one, slope, bend)
    else:
        logistic_valued(
            rows, values, start, stop, state, weights, sharpness, radius, tight, one, quarter, slope, bend
        )


@compiled
def finish(loss: int, sharpness: Any, positive_sum: Array, slope: Array, bend: Array) -> None:
    """From gathered sums to slopes: twice the residuals, or probabilities less the sum over positives."""
    for k in range(slope.shape[0]):
        if loss == LOGISTIC:
            slope[k] -= positive_sum[k]
            bend[k] *= sharpness
        else:
            slope[k] += slope[k]
            bend[k] += bend[k]


@compiled
def take_step(
    prior: int, weight: Array, slope: Array, bend: Array, strength: Array, mode: Array, low: Array,
    high: Array, informed: bool, radius: Array, active: Array, move: Array,
) -> bool:  # fmt: skip
    """The step under either prior; did any lane move?"""
    if prior == GAUSSIAN:
        return gaussian_step(weight, slope, bend, strength, mode, low, high, informed, radius, active, move)
    return laplace_step(weight, slope, bend, strength, mode, low, high, informed, radius, active, move)


@compiled
def column_pass(
    starts: Array, rows: Array, values: Array, plain: bool, state: Array, weights: Array, positive: Array,
    positive_sums: Array, loss: int, sharpness: Any, beyond: Any, tight: bool, prior: int, weight: Array,
    strength: Array, mode: Array, low: Array, high: Array, informed: bool, visits: Array, active: Array,
    radius: Array, rule: int, epsilon: float, one: Any,
) -> None:  # fmt: skip
    """Visit features in the order of `visits`; `beyond` is the continuation parameter c_k of algorithm 3."""
    lanes = state.shape[1]
    slope, bend = np.empty(lanes, state.dtype), np.empty(lanes, state.dtype)
    move, reach = np.empty(lanes, state.dtype), np.empty(lanes, state.dtype)
    quarter = one / (one + one + one + one)
    for j in visits:
        start, stop = starts[j], starts[j + 1]
        slope[:] = one - one
        bend[:] = one - one
        if plain and stop > start:
            plain_column(
                loss, rows, start, stop, values[start], state, positive, sharpness, beyond, tight, one,
                quarter, radius[j], reach, slope, bend,
            )  # fmt: skip
        else:
            valued_column(
                loss, rows, values, start, stop, state, weights, positive, sharpness, beyond, tight, one,
                quarter, radius[j], slope, bend,
            )  # fmt: skip
        finish(loss, sharpness, positive_sums[j], slope, bend)
        moved = take_step(
            prior, weight[j], slope, bend, strength[j], mode[j], low[j], high[j], informed, radius[j],
            active, move,
        )  # fmt: skip
        resize(radius[j], move, rule, epsilon)
        if plain and moved and stop > start:
            for k in range(lanes):
                move[k] *= values[start]
            apply_plain(rows, start, stop, state, move)
        elif moved:
            apply_valued(rows, values, start, stop, state, move)
