"""Slopes and curvature bounds of one feature's column, for a lane of categories at once.

The state of a (document, category) is its score less its target, e = w.x - m y, with m = 1 for the losses
that have their corner or minimum at the margin 1 and m = 0 for the logistic one. Two properties keep
labels out of most loops: the slope of the squared loss is 2 e, and that of the logistic one is p(e) less
a constant, the column's sum over positives. A `plain` gather serves a column whose nonzeros all have one
value and whose documents weigh 1; its result is to be multiplied by that value. A `valued` one reads a
value for each nonzero and a weight for each state.
"""

from __future__ import annotations

from typing import Any

from textcat.compile import compile_kernel
from textcat.linear.lane_math import exponential

Array = Any


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
