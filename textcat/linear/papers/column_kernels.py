"""Kernels of column relaxation: slopes and curvature bounds of a feature, the step of its weight, one pass.

Problem: for each lane, min over w of sum_i c_i f(w.x_i y_i) + sum_j strength_j pen(w_j).
Input: X by columns, the state e = w.x - m y (n x L), weights (d x L), trust regions (d x L, 0 where not
selected). Output: weights, state and trust regions after each feature has been visited once, in order.
Papers: zhang_oles_2001 algorithms 1 to 4; genkin_2004 algorithms 1 and 2.

The state of a (document, category) is its score minus its target, with m = 1 for the losses that have their
corner or minimum at the margin 1 and m = 0 for the logistic loss. Two properties keep labels out of most
loops: the slope of the squared loss is 2 e, and that of the logistic loss is p(e) minus a constant, the
column's sum over positives. A `plain` kernel serves a column whose nonzeros all have one value and whose
documents weigh 1; its result is to be multiplied by that value. A `valued` kernel reads a value per nonzero
and a weight per state.

Slope and bend are sums over documents; `strength` is n lam_j, so a Gaussian prior adds strength (w - mode)^2
and a Laplace prior strength |w - mode|.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textcat.compile import compile_kernel
from textcat.linear.lane_math import exponential
from textcat.linear.losses import LOGISTIC, SQUARED, SQUARED_HINGE

Array = Any

GAUSSIAN, LAPLACE = 0, 1
RULE_NONE, RULE_EPSILON, RULE_HALVING = 0, 1, 2


@compile_kernel
def compute_gaussian_steps(
    j: int,
    weight: Array,
    slope: Array,
    bend: Array,
    strength: Array,
    mode: Array,
    informed: bool,
    steps: Array,
) -> None:
    """Fill in the steps of algorithms 1 to 4 of zhang_oles_2001 (equations 26, 27 of genkin_2004)."""
    for k in range(steps.shape[0]):
        centre = weight[j, k] - mode[j, k] if informed else weight[j, k]
        curve = bend[k] + 2 * strength[j, k]
        steps[k] = -(slope[k] + 2 * strength[j, k] * centre) / curve if curve > 0 else 0.0


@compile_kernel
def compute_laplace_steps(
    j: int,
    weight: Array,
    slope: Array,
    bend: Array,
    strength: Array,
    mode: Array,
    informed: bool,
    steps: Array,
) -> None:
    """Fill in the steps of algorithm 2 of genkin_2004: none crosses the mode; at the mode both directions are
    tried."""
    for k in range(steps.shape[0]):
        centre = weight[j, k] - mode[j, k] if informed else weight[j, k]
        up, down = slope[k] + strength[j, k], slope[k] - strength[j, k]
        if centre > 0:
            step = max(-up / bend[k], -centre) if bend[k] > 0 else -centre
        elif centre < 0:
            step = min(-down / bend[k], -centre) if bend[k] > 0 else -centre
        elif up < 0:
            step = -up / bend[k]
        elif down > 0:
            step = -down / bend[k]
        else:
            step = 0.0
        steps[k] = step


@compile_kernel
def take_bounded_steps(
    j: int, steps: Array, weight: Array, low: Array, high: Array, informed: bool, radius: Array, active: Array,
    move: Array,
) -> bool:  # fmt: skip
    """Move the weight of each lane by its step within trust region and bounds; did any lane move?"""
    moved = False
    for k in range(move.shape[0]):
        step = min(max(steps[k], -radius[j, k]), radius[j, k])
        if informed:
            step = min(max(weight[j, k] + step, low[j, k]), high[j, k]) - weight[j, k]
        step *= active[k]
        move[k] = step
        weight[j, k] += step
        moved |= step != 0
    return moved


@compile_kernel
def resize_trust_region(j: int, radius: Array, move: Array, rule: int, epsilon: float) -> None:
    """The next trust region: 2 |dw| + epsilon (zhang_oles_2001) or max(2 |dw|, radius / 2) (equation 19
    of genkin_2004)."""
    if rule == RULE_NONE:
        return
    for k in range(move.shape[0]):
        if radius[j, k] > 0:
            size = 2 * abs(move[k])
            radius[j, k] = size + epsilon if rule == RULE_EPSILON else max(size, radius[j, k] / 2)


@compile_kernel
def sum_squared_plain(rows: Array, start: int, stop: int, state: Array, slope: Array) -> None:
    """Sum the residuals of a column (algorithm 2 of zhang_oles_2001), four documents a turn."""
    t = start
    while t + 4 <= stop:
        a, b, c, d = rows[t], rows[t + 1], rows[t + 2], rows[t + 3]
        for k in range(slope.shape[0]):
            slope[k] += (state[a, k] + state[b, k]) + (state[c, k] + state[d, k])
        t += 4
    while t < stop:
        a = rows[t]
        for k in range(slope.shape[0]):
            slope[k] += state[a, k]
        t += 1


@compile_kernel
def sum_squared_valued(
    rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array, slope: Array, bend: Array
) -> None:
    """Sum c x e and c x^2."""
    for t in range(start, stop):
        a, x = rows[t], values[t]
        for k in range(slope.shape[0]):
            pull = weights[a, k] * x
            slope[k] += pull * state[a, k]
            bend[k] += pull * x


@compile_kernel
def sum_hinge_plain(
    rows: Array, start: int, stop: int, state: Array, positive: Array, reach: Array, beyond: Any, one: Any,
    slope: Array, bend: Array,
) -> None:  # fmt: skip
    """Sum e and the curvature bound F_k of algorithm 3: 1 short of margin 1, `beyond` past it (and past
    the reach)."""
    t = start
    while t + 2 <= stop:
        a, b = rows[t], rows[t + 1]
        for k in range(slope.shape[0]):
            e, f = state[a, k], state[b, k]
            near_e = e <= reach[k] if positive[a, k] else -e <= reach[k]
            near_f = f <= reach[k] if positive[b, k] else -f <= reach[k]
            full_e, full_f = (e < 0) == positive[a, k], (f < 0) == positive[b, k]
            slope[k] += (e if full_e else e * beyond) + (f if full_f else f * beyond)
            bend[k] += (one if near_e else beyond) + (one if near_f else beyond)
        t += 2
    while t < stop:
        a = rows[t]
        for k in range(slope.shape[0]):
            e = state[a, k]
            near = e <= reach[k] if positive[a, k] else -e <= reach[k]
            slope[k] += e if (e < 0) == positive[a, k] else e * beyond
            bend[k] += one if near else beyond
        t += 1


@compile_kernel
def sum_hinge_valued(
    rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array, positive: Array,
    reach: Array,
    beyond: Any, one: Any, slope: Array, bend: Array,
) -> None:  # fmt: skip
    """The same with values and weights; `reach` is the trust region of the weight, to be scaled by |x|."""
    for t in range(start, stop):
        a, x = rows[t], values[t]
        size = abs(x)
        for k in range(slope.shape[0]):
            e, pull = state[a, k], weights[a, k] * x
            near = e <= reach[k] * size if positive[a, k] else -e <= reach[k] * size
            slope[k] += pull * (e if (e < 0) == positive[a, k] else e * beyond)
            bend[k] += pull * x * (one if near else beyond)


@compile_kernel
def sum_logistic_plain(
    rows: Array, start: int, stop: int, state: Array, sharpness: Any, grown: Array, tight: bool, one: Any,
    quarter: Any, slope: Array, bend: Array,
) -> None:  # fmt: skip
    """Sum p = 1 / (1 + exp(-g e)) and a bound of p (1 - p) over the trust region.

    `grown` is exp(g |dw x|). The bound is F_k of algorithm 4 of zhang_oles_2001, min(1/4, grown p (1 -
    p)), or with `tight` the exact supremum, equation 25 of genkin_2004, written with t = min(1, grown
    exp(-g |e|)) as t / (1 + t)^2.
    """
    for t in range(start, stop):
        a = rows[t]
        if tight:
            for k in range(slope.shape[0]):
                small = exponential(-abs(sharpness * state[a, k]))
                larger = one / (one + small)
                slope[k] += larger if state[a, k] > 0 else small * larger
                most = min(one, grown[k] * small)
                bend[k] += most / ((one + most) * (one + most))
        else:
            for k in range(slope.shape[0]):
                p = one / (one + exponential(-(sharpness * state[a, k])))
                slope[k] += p
                bend[k] += min(quarter, grown[k] * (p * (one - p)))


@compile_kernel
def sum_logistic_valued(
    rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array, sharpness: Any,
    reach: Array,
    tight: bool, one: Any, quarter: Any, slope: Array, bend: Array,
) -> None:  # fmt: skip
    """The same with values and weights: sum c x p and the bound times c x^2."""
    for t in range(start, stop):
        a, x = rows[t], values[t]
        size = abs(x) * sharpness
        for k in range(slope.shape[0]):
            pull = weights[a, k] * x
            p = one / (one + exponential(-(sharpness * state[a, k])))
            slope[k] += pull * p
            if tight:
                most = exponential(min(size * reach[k] - abs(sharpness * state[a, k]), one - one))
                bound = most / ((one + most) * (one + most))
            else:
                bound = min(quarter, exponential(size * reach[k]) * (p * (one - p)))
            bend[k] += pull * x * bound


@compile_kernel
def apply_plain(rows: Array, start: int, stop: int, state: Array, shift: Array) -> None:
    """Move the scores of a column's documents by one amount a lane (shift already holds the column's
    value)."""
    for t in range(start, stop):
        a = rows[t]
        for k in range(shift.shape[0]):
            state[a, k] += shift[k]


@compile_kernel
def apply_valued(rows: Array, values: Array, start: int, stop: int, state: Array, move: Array) -> None:
    """Move the scores of a column's documents by the step times each value."""
    for t in range(start, stop):
        a, x = rows[t], values[t]
        for k in range(move.shape[0]):
            state[a, k] += x * move[k]


@compile_kernel
def sum_plain_column(
    j: int, loss: int, rows: Array, start: int, stop: int, value: Any, state: Array, positive: Array, sharpness: Any,
    beyond: Any, tight: bool, one: Any, quarter: Any, radius: Array, reach: Array, slope: Array, bend: Array,
) -> None:  # fmt: skip
    """Compute slope and bend of a column with one value and unit weights, in the objective's units."""
    size = abs(value)
    if loss == SQUARED:
        sum_squared_plain(rows, start, stop, state, slope)
        for k in range(slope.shape[0]):
            bend[k] = (stop - start) * one
    elif loss == SQUARED_HINGE:
        for k in range(slope.shape[0]):
            reach[k] = radius[j, k] * size
        sum_hinge_plain(rows, start, stop, state, positive, reach, beyond, one, slope, bend)
    else:
        for k in range(slope.shape[0]):
            reach[k] = exponential(sharpness * radius[j, k] * size)
        sum_logistic_plain(rows, start, stop, state, sharpness, reach, tight, one, quarter, slope, bend)
    for k in range(slope.shape[0]):
        slope[k] *= value
        bend[k] *= value * value


@compile_kernel
def sum_valued_column(
    loss: int, rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array,
    positive: Array,
    sharpness: Any, beyond: Any, tight: bool, one: Any, quarter: Any, radius: Array, slope: Array, bend:
    Array,
) -> None:  # fmt: skip
    """Compute slope and bend of any column."""
    if loss == SQUARED:
        sum_squared_valued(rows, values, start, stop, state, weights, slope, bend)
    elif loss == SQUARED_HINGE:
        sum_hinge_valued(
            rows, values, start, stop, state, weights, positive, radius, beyond, one, slope, bend
        )
    else:
        sum_logistic_valued(
            rows, values, start, stop, state, weights, sharpness, radius, tight, one, quarter, slope, bend
        )


@compile_kernel
def finish_slopes(j: int, loss: int, sharpness: Any, positive_sum: Array, slope: Array, bend: Array) -> None:
    """Turn sums into slopes: twice the residuals, or probabilities minus the sum over positives."""
    for k in range(slope.shape[0]):
        if loss == LOGISTIC:
            slope[k] -= positive_sum[j, k]
            bend[k] *= sharpness
        else:
            slope[k] += slope[k]
            bend[k] += bend[k]


@compile_kernel
def take_step(
    j: int, prior: int, weight: Array, slope: Array, bend: Array, strength: Array, mode: Array, low: Array,
    high: Array, informed: bool, radius: Array, active: Array, steps: Array, move: Array,
) -> bool:  # fmt: skip
    """Take the step of a feature under either prior; did any lane move?"""
    if prior == GAUSSIAN:
        compute_gaussian_steps(j, weight, slope, bend, strength, mode, informed, steps)
    else:
        compute_laplace_steps(j, weight, slope, bend, strength, mode, informed, steps)
    return take_bounded_steps(j, steps, weight, low, high, informed, radius, active, move)


@compile_kernel
def run_column_pass(
    starts: Array, rows: Array, values: Array, plain: bool, state: Array, weights: Array, positive: Array,
    positive_sums: Array, loss: int, sharpness: Any, beyond: Any, tight: bool, prior: int, weight: Array,
    strength: Array, mode: Array, low: Array, high: Array, informed: bool, visits: Array, active: Array,
    radius: Array, rule: int, epsilon: float, one: Any,
) -> None:  # fmt: skip
    """Visit features in the order of `visits`; `beyond` is the continuation parameter c_k of algorithm 3."""
    lanes = state.shape[1]
    slope, bend = np.empty(lanes, state.dtype), np.empty(lanes, state.dtype)
    move, reach = np.empty(lanes, state.dtype), np.empty(lanes, state.dtype)
    steps = np.empty(lanes, np.float64)
    quarter = one / (one + one + one + one)
    for j in visits:
        start, stop = starts[j], starts[j + 1]
        for k in range(lanes):
            slope[k] = one - one
            bend[k] = one - one
        if plain and stop > start:
            sum_plain_column(
                j, loss, rows, start, stop, values[start], state, positive, sharpness, beyond, tight, one,
                quarter, radius, reach, slope, bend,
            )  # fmt: skip
        else:
            sum_valued_column(
                loss, rows, values, start, stop, state, weights, positive, sharpness, beyond, tight, one,
                quarter, radius[j], slope, bend,
            )  # fmt: skip
        finish_slopes(j, loss, sharpness, positive_sums, slope, bend)
        moved = take_step(
            j, prior, weight, slope, bend, strength, mode, low, high, informed, radius,
            active, steps, move,
        )  # fmt: skip
        resize_trust_region(j, radius, move, rule, epsilon)
        if plain and moved and stop > start:
            for k in range(lanes):
                move[k] *= values[start]
            apply_plain(rows, start, stop, state, move)
        elif moved:
            apply_valued(rows, values, start, stop, state, move)
