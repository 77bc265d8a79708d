"""Column relaxation of the lasso with the logistic loss: a weight that stays 0 costs a sum without exponentials.

Problem, input and output are those of `column_kernels` for a Laplace prior without modes and bounds; weights, scores
and trust regions have the same bits. Most weights of a lasso are 0 and stay there while the slope of the loss is less
than the strength of the prior (algorithm 2 of genkin_2004). So p = 1 / (1 + exp(-g e)) is kept for each state and
changes with it, and the bound of the curvature is computed only where a weight of a lane moves.
"""

from __future__ import annotations

from typing import Any

from textcat.compile import compile_kernel, compile_part
from textcat.linear.lane_math import exponential_pair
from textcat.linear.papers.column_kernels import (
    LAPLACE,
    bound_loosely,
    bound_tightly,
    resize_trust_region,
    take_step,
    weigh,
)
from textcat.linear.simd import (
    any_differs,
    choose_less,
    entry,
    fused_multiply_add,
    lane_absolute,
    load,
    narrow,
    rounded,
    splat,
    store,
)

Array = Any


@compile_part
def _sum_slopes(rows: Array, values: Array, start: int, stop: int, slopes: Array, weights: Array) -> Any:
    """Sum c x p."""
    slope = splat(slopes, 0.0)
    for t in range(start, stop):
        pull = weigh(weights, entry(rows, t), splat(slopes, entry(values, t)))
        slope = slope + pull * load(slopes, entry(rows, t))
    return slope


@compile_part
def _find_farthest(e: Any, x: Any, sharpness: float, radius: Any, tight: bool) -> Any:
    """Return the logarithm of the largest growth of exp(-g e) in the trust region, or with `tight` of exp(-|g e|)."""
    zero, size = splat(e, 0.0), lane_absolute(x) * splat(e, sharpness)
    beyond = fused_multiply_add(size, radius, zero - lane_absolute(splat(e, sharpness) * e))
    return choose_less(beyond, zero, beyond, zero) if tight else size * radius


@compile_part
def _sum_bends(
    rows: Array, values: Array, start: int, stop: int, state: Array, slopes: Array, weights: Array,
    sharpness: float, radius: Any, tight: bool,
) -> Any:  # fmt: skip
    """Sum the bound of p (1 - p) times c x^2, two documents a turn."""
    bend = splat(state, 0.0)
    for t in range(start, stop, 2):
        u = min(t + 1, stop - 1)
        a, b = entry(rows, t), entry(rows, u)
        x, y = splat(state, entry(values, t)), splat(state, entry(values, u))
        most, last = exponential_pair(
            _find_farthest(load(state, a), x, sharpness, radius, tight),
            _find_farthest(load(state, b), y, sharpness, radius, tight),
        )
        bound = bound_tightly(most) if tight else bound_loosely(load(slopes, a), most)
        bend = bend + (weigh(weights, a, x) * x) * bound
        if u > t:
            bound = bound_tightly(last) if tight else bound_loosely(load(slopes, b), last)
            bend = bend + (weigh(weights, b, y) * y) * bound
    return bend


@compile_part
def _apply(
    rows: Array,
    values: Array,
    start: int,
    stop: int,
    state: Array,
    slopes: Array,
    sharpness: float,
    move: Any,
) -> None:
    """Move the scores of a column's documents by the step times each value, two documents a turn."""
    zero, one, sharp = splat(state, 0.0), splat(state, 1.0), splat(state, sharpness)
    for t in range(start, stop, 2):
        u = min(t + 1, stop - 1)
        a, b = entry(rows, t), entry(rows, u)
        e = load(state, a) + splat(state, entry(values, t)) * move
        f = load(state, b) + splat(state, entry(values, u)) * move
        small_e, small_f = exponential_pair(zero - sharp * e, zero - sharp * f)
        store(state, a, e)
        store(slopes, a, one / (one + small_e))
        if u > t:
            store(state, b, f)
            store(slopes, b, one / (one + small_f))


@compile_part
def _rests(j: int, weight: Array, slope: Any, strength: Array, radius: Array, active: Array) -> bool:
    """Return whether no lane takes a step: weights are 0 with slopes less than the strength, or cannot move."""
    zero, one, most = splat(slope, 0.0), splat(slope, 1.0), load(strength, j)
    moves = choose_less(slope + most, zero, one, choose_less(zero, slope - most, one, zero))
    moves = choose_less(zero, lane_absolute(load(weight, j)), one, moves)
    return not any_differs(choose_less(zero, load(radius, j), moves, zero) * load(active, 0), zero)


@compile_kernel
def run_sparse_pass(
    starts: Array, rows: Array, values: Array, state: Array, slopes: Array, weights: Array,
    positive_sums: Array, sharpness: float, tight: bool, weight: Array, strength: Array, visits: Array,
    active: Array, radius: Array, rule: int, epsilon: float,
) -> None:  # fmt: skip
    """Visit features in the order of `visits`; `slopes` holds p of each state."""
    for v in range(len(visits)):
        j = entry(visits, v)
        start, stop = entry(starts, j), entry(starts, j + 1)
        slope = rounded(_sum_slopes(rows, values, start, stop, slopes, weights)) - load(positive_sums, j)
        if _rests(j, weight, slope, strength, radius, active):
            resize_trust_region(j, radius, splat(state, 0.0), rule, epsilon)
            continue
        reach = load(radius, j)
        bend = _sum_bends(rows, values, start, stop, state, slopes, weights, sharpness, reach, tight)
        bend = rounded(bend * splat(state, sharpness))
        step = take_step(
            j, LAPLACE, weight, slope, bend, strength, strength, strength, strength, False, radius, active
        )
        move = narrow(step, state)
        resize_trust_region(j, radius, move, rule, epsilon)
        if any_differs(step, splat(step, 0.0)):
            _apply(rows, values, start, stop, state, slopes, sharpness, move)


@compile_kernel
def fill_slopes(state: Array, sharpness: float, slopes: Array) -> None:
    """Write p for each state of a group."""
    one = splat(state, 1.0)
    for i in range(len(state)):
        small, _ = exponential_pair(splat(state, 0.0) - splat(state, sharpness) * load(state, i), one)
        store(slopes, i, one / (one + small))
