"""Kernels of column relaxation: slopes and curvature bounds of a feature, the step of its weight, one pass.

Problem: for each lane, min over w of sum_i c_i f(w.x_i y_i) + sum_j strength_j pen(w_j).
Input: X by columns, the state e = w.x - m y (n x 16), weights (d x 16), trust regions (d x 16, 0 where not
selected). Output: weights, state and trust regions after each feature has been visited once, in order.
Papers: zhang_oles_2001 algorithms 1 to 4; genkin_2004 algorithms 1 and 2.

Sixteen categories are in vector registers while a feature is visited, and their state nearly fits into a core's
cache. Steps are in double precision, sums in that of the state.

The state of a (document, category) is its score minus its target, with m = 1 for the losses that have their
corner or minimum at the margin 1 and m = 0 for the logistic loss. Two properties keep labels out of most
loops: the slope of the squared loss is 2 e, and that of the logistic loss is p(e) minus a constant, the
column's sum over positives. A `plain` kernel serves a column whose nonzeros all have one value and whose
documents weigh 1; its result is to be multiplied by that value. A `valued` kernel reads a value per nonzero
and a weight per state.

Slope and bend are sums over documents; `strength` is n lam_j, so a Gaussian prior adds strength w^2
and a Laplace prior strength |w|.
"""

from __future__ import annotations

from typing import Any

from textcat.compile import compile_kernel, compile_part
from textcat.linear.lane_math import exponential_pair, exponentials_of_four
from textcat.linear.losses import LOGISTIC, SQUARED, SQUARED_HINGE
from textcat.linear.simd import (
    WIDTH,
    any_differs,
    choose_less,
    choose_marked,
    entry,
    fused_multiply_add,
    lane_absolute,
    load,
    narrow,
    rounded,
    splat,
    store,
    widen,
)

Array = Any

GAUSSIAN, LAPLACE = 0, 1
# A trust region is not halved further where this share of it would be 0: a weight that rests could never move again.
SMALLEST_SHARE = 2.0**-52
RULE_NONE, RULE_EPSILON, RULE_HALVING = 0, 1, 2


@compile_part
def compute_gaussian_steps(centre: Any, slope: Any, bend: Any, strength: Any) -> Any:
    """Return the steps of algorithms 1 to 4 of zhang_oles_2001 (equations 26, 27 of genkin_2004)."""
    pull = widen(strength) + widen(strength)
    zero, curve = splat(pull, 0.0), widen(bend) + pull
    return choose_less(zero, curve, (zero - (widen(slope) + pull * widen(centre))) / curve, zero)


@compile_part
def compute_laplace_steps(centre: Any, slope: Any, bend: Any, strength: Any) -> Any:
    """Return the steps of algorithm 2 of genkin_2004: none crosses 0; at 0 both directions are tried."""
    zero = splat(slope, 0.0)
    up, down, home = slope + strength, slope - strength, zero - centre
    rise, fall = (zero - up) / bend, (zero - down) / bend
    at_zero = choose_less(up, zero, rise, choose_less(zero, down, fall, zero))
    above = choose_less(zero, bend, choose_less(home, rise, rise, home), home)
    below = choose_less(zero, bend, choose_less(fall, home, fall, home), home)
    return widen(choose_less(zero, centre, above, choose_less(centre, zero, below, at_zero)))


@compile_part
def resize_trust_region(j: int, radius: Array, move: Any, rule: int, epsilon: float) -> None:
    """The next trust region: 2 |dw| + epsilon (zhang_oles_2001) or max(2 |dw|, radius / 2) (equation 19
    of genkin_2004)."""
    if rule != RULE_NONE:
        before, size = widen(load(radius, j)), widen(lane_absolute(move) + lane_absolute(move))
        if rule == RULE_EPSILON:
            after = size + splat(size, epsilon)
        else:
            after = before * splat(size, 0.5)
            after = choose_less(after, size, size, after)
            left = widen(narrow(after * splat(size, SMALLEST_SHARE), radius))
            after = choose_less(splat(size, 0.0), left, after, before)
        store(radius, j, narrow(choose_less(splat(size, 0.0), before, after, before), radius))


@compile_part
def sum_squared_plain(rows: Array, start: int, stop: int, state: Array) -> Any:
    """Sum the residuals of a column (algorithm 2 of zhang_oles_2001), four documents a turn."""
    slope, t = splat(state, 0.0), start
    while t + 4 <= stop:
        first = load(state, entry(rows, t)) + load(state, entry(rows, t + 1))
        slope = slope + (first + (load(state, entry(rows, t + 2)) + load(state, entry(rows, t + 3))))
        t += 4
    while t < stop:
        slope = slope + load(state, entry(rows, t))
        t += 1
    return slope, splat(state, stop - start)


@compile_part
def weigh(weights: Array, i: int, x: Any) -> Any:
    """Return c x for document i; weights are rows of lanes, or bits of lanes where each is 0 or 1."""
    if weights.ndim == 1:
        return choose_marked(entry(weights, i), x, splat(x, 0.0))
    return load(weights, i) * x


@compile_part
def sum_squared_valued(
    rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array
) -> Any:
    """Sum c x e and c x^2."""
    slope, bend = splat(state, 0.0), splat(state, 0.0)
    for t in range(start, stop):
        x = splat(state, entry(values, t))
        pull = weigh(weights, entry(rows, t), x)
        slope = slope + pull * load(state, entry(rows, t))
        bend = bend + pull * x
    return slope, bend


@compile_part
def _measure_hinge(e: Any, positive: Any, reach: Any, beyond: Any) -> Any:
    """Return e, times `beyond` past margin 1, and the curvature bound, `beyond` past margin 1 and the reach."""
    zero = splat(e, 0.0)
    short = choose_marked(positive, e, zero - e)
    return choose_less(short, zero, e, e * beyond), choose_less(reach, short, beyond, splat(e, 1.0))


@compile_part
def sum_hinge_plain(
    rows: Array, start: int, stop: int, state: Array, positive: Array, reach: Any, beyond: Any
) -> Any:
    """Sum e and the curvature bound F_k of algorithm 3: 1 short of margin 1, `beyond` past it (and past
    the reach)."""
    slope, bend, t = splat(state, 0.0), splat(state, 0.0), start
    while t + 2 <= stop:
        a, b = entry(rows, t), entry(rows, t + 1)
        e, near_e = _measure_hinge(load(state, a), entry(positive, a), reach, beyond)
        f, near_f = _measure_hinge(load(state, b), entry(positive, b), reach, beyond)
        slope, bend = slope + (e + f), bend + (near_e + near_f)
        t += 2
    if t < stop:
        e, near_e = _measure_hinge(
            load(state, entry(rows, t)), entry(positive, entry(rows, t)), reach, beyond
        )
        slope, bend = slope + e, bend + near_e
    return slope, bend


@compile_part
def sum_hinge_valued(
    rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array, positive: Array,
    radius: Any, beyond: Any,
) -> Any:  # fmt: skip
    """The same with values and weights; the reach is the trust region of the weight times |x|."""
    slope, bend = splat(state, 0.0), splat(state, 0.0)
    for t in range(start, stop):
        a, x = entry(rows, t), splat(state, entry(values, t))
        pull = weigh(weights, a, x)
        e, near = _measure_hinge(load(state, a), entry(positive, a), radius * lane_absolute(x), beyond)
        slope, bend = slope + pull * e, bend + (pull * x) * near
    return slope, bend


@compile_part
def bound_loosely(p: Any, grown: Any) -> Any:
    """Return F_k of algorithm 4 of zhang_oles_2001: min(1/4, grown p (1 - p))."""
    one, quarter = splat(p, 1.0), splat(p, 0.25)
    bound = grown * (p * (one - p))
    return choose_less(quarter, bound, quarter, bound)


@compile_part
def bound_tightly(most: Any) -> Any:
    """Return t / (1 + t)^2."""
    one = splat(most, 1.0)
    return most / ((one + most) * (one + most))


@compile_part
def _measure_logistic(e: Any, small: Any, grown: Any, tight: bool) -> Any:
    """Return p and the bound from exp(-|g e|) if `tight`, else from exp(-g e)."""
    one = splat(e, 1.0)
    p = one / (one + small)
    if tight:
        most = grown * small
        return choose_less(splat(e, 0.0), e, p, small * p), bound_tightly(choose_less(most, one, most, one))
    return p, bound_loosely(p, grown)


@compile_part
def _sharpen(e: Any, sharpness: float, tight: bool) -> Any:
    z = splat(e, sharpness) * e
    return splat(e, 0.0) - (lane_absolute(z) if tight else z)


@compile_part
def sum_logistic_plain(
    rows: Array, start: int, stop: int, state: Array, sharpness: float, grown: Any, tight: bool
) -> Any:
    """Sum p = 1 / (1 + exp(-g e)) and a bound of p (1 - p) over the trust region.

    `grown` is exp(g |dw x|). The bound is F_k of algorithm 4 of zhang_oles_2001, min(1/4, grown p (1 -
    p)), or with `tight` the exact supremum, equation 25 of genkin_2004, written with t = min(1, grown
    exp(-g |e|)) as t / (1 + t)^2.
    """
    slope, bend, last = splat(state, 0.0), splat(state, 0.0), stop - 1
    for t in range(start, stop, 4):
        e, f = load(state, entry(rows, t)), load(state, entry(rows, min(t + 1, last)))
        g, h = load(state, entry(rows, min(t + 2, last))), load(state, entry(rows, min(t + 3, last)))
        small_e, small_f, small_g, small_h = exponentials_of_four(
            _sharpen(e, sharpness, tight),
            _sharpen(f, sharpness, tight),
            _sharpen(g, sharpness, tight),
            _sharpen(h, sharpness, tight),
        )
        p, bound = _measure_logistic(e, small_e, grown, tight)
        slope, bend = slope + p, bend + bound
        if t + 1 < stop:
            p, bound = _measure_logistic(f, small_f, grown, tight)
            slope, bend = slope + p, bend + bound
        if t + 2 < stop:
            p, bound = _measure_logistic(g, small_g, grown, tight)
            slope, bend = slope + p, bend + bound
        if t + 3 < stop:
            p, bound = _measure_logistic(h, small_h, grown, tight)
            slope, bend = slope + p, bend + bound
    return slope, bend


@compile_part
def sum_logistic_valued(
    rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array, sharpness: float,
    radius: Any, tight: bool,
) -> Any:  # fmt: skip
    """The same with values and weights: sum c x p and the bound times c x^2."""
    slope, bend = splat(state, 0.0), splat(state, 0.0)
    zero, one = splat(state, 0.0), splat(state, 1.0)
    for t in range(start, stop):
        x, z = splat(state, entry(values, t)), splat(state, sharpness) * load(state, entry(rows, t))
        size, pull = lane_absolute(x) * splat(state, sharpness), weigh(weights, entry(rows, t), x)
        beyond = fused_multiply_add(size, radius, zero - lane_absolute(z))
        farthest = choose_less(beyond, zero, beyond, zero) if tight else size * radius
        small, most = exponential_pair(zero - z, farthest)
        p = one / (one + small)
        slope = slope + pull * p
        bend = bend + (pull * x) * (bound_tightly(most) if tight else bound_loosely(p, most))
    return slope, bend


@compile_part
def apply_plain(rows: Array, start: int, stop: int, state: Array, shift: Any) -> None:
    """Move the scores of a column's documents by one amount a lane (shift already holds the column's
    value)."""
    for t in range(start, stop):
        store(state, entry(rows, t), load(state, entry(rows, t)) + shift)


@compile_part
def apply_valued(rows: Array, values: Array, start: int, stop: int, state: Array, move: Any) -> None:
    """Move the scores of a column's documents by the step times each value."""
    for t in range(start, stop):
        store(state, entry(rows, t), load(state, entry(rows, t)) + splat(state, entry(values, t)) * move)


@compile_part
def sum_plain_column(
    j: int, loss: int, rows: Array, start: int, stop: int, value: Any, state: Array, positive: Array,
    sharpness: float, beyond: float, tight: bool, radius: Array,
) -> Any:  # fmt: skip
    """Return slope and bend of a column with one value and unit weights, in the objective's units."""
    x = splat(state, value)
    if loss == SQUARED:
        slope, bend = sum_squared_plain(rows, start, stop, state)
    elif loss == SQUARED_HINGE:
        reach = load(radius, j) * lane_absolute(x)
        slope, bend = sum_hinge_plain(rows, start, stop, state, positive, reach, splat(state, beyond))
    else:
        reach = splat(state, sharpness) * load(radius, j) * lane_absolute(x)
        grown, _ = exponential_pair(reach, reach)
        slope, bend = sum_logistic_plain(rows, start, stop, state, sharpness, grown, tight)
    return slope * x, bend * (x * x)


@compile_part
def sum_valued_column(
    j: int, loss: int, rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array,
    positive: Array, sharpness: float, beyond: float, tight: bool, radius: Array,
) -> Any:  # fmt: skip
    """Return slope and bend of any column."""
    if loss == SQUARED:
        return sum_squared_valued(rows, values, start, stop, state, weights)
    size = load(radius, j)
    if loss == SQUARED_HINGE:
        past = splat(state, beyond)
        return sum_hinge_valued(rows, values, start, stop, state, weights, positive, size, past)
    return sum_logistic_valued(rows, values, start, stop, state, weights, sharpness, size, tight)


@compile_part
def take_step(
    j: int, prior: int, weight: Array, slope: Any, bend: Any, strength: Array, radius: Array, active: Array,
) -> Any:  # fmt: skip
    """Move the weight of each lane within the trust region; return the step in double precision."""
    before, centre = widen(load(weight, j)), load(weight, j)
    if prior == GAUSSIAN:
        step = compute_gaussian_steps(centre, slope, bend, load(strength, j))
    else:
        step = compute_laplace_steps(centre, slope, bend, load(strength, j))
    farthest = widen(load(radius, j))
    nearest = splat(farthest, 0.0) - farthest
    step = choose_less(nearest, step, step, nearest)
    step = choose_less(step, farthest, step, farthest)
    step = step * widen(load(active, 0))
    store(weight, j, narrow(before + step, weight))
    return step


@compile_kernel
def run_column_pass(
    starts: Array, rows: Array, values: Array, state: Array, weights: Array | None, positive: Array,
    positive_sums: Array, loss: int, sharpness: float, beyond: float, tight: bool, prior: int, weight: Array,
    strength: Array, visits: Array, active: Array, radius: Array, rule: int, epsilon: float,
) -> None:  # fmt: skip
    """Visit features in the order of `visits`; `beyond` is the continuation parameter c_k of algorithm 3.

    `weights` is None where all columns are plain: without it numba compiles the plain kernels alone, else the others.
    """
    for v in range(len(visits)):
        j = entry(visits, v)
        start, stop = entry(starts, j), entry(starts, j + 1)
        if weights is None:
            value = values[start] if stop > start else values[0]
            slope, bend = sum_plain_column(
                j, loss, rows, start, stop, value, state, positive, sharpness, beyond, tight, radius
            )
        else:
            slope, bend = sum_valued_column(
                j, loss, rows, values, start, stop, state, weights, positive, sharpness, beyond, tight, radius
            )
        if loss == LOGISTIC:
            slope = rounded(slope) - load(positive_sums, j)
            bend = rounded(bend * splat(state, sharpness))
        else:
            slope, bend = slope + slope, bend + bend
        step = take_step(j, prior, weight, slope, bend, strength, radius, active)
        move = narrow(step, state)
        resize_trust_region(j, radius, move, rule, epsilon)
        if any_differs(step, splat(step, 0.0)):
            if weights is None:
                apply_plain(rows, start, stop, state, rounded(move * splat(state, value)))
            else:
                apply_valued(rows, values, start, stop, state, move)


@compile_kernel
def take_lanes(values: Array, places: Array, taken: Array) -> None:
    """Copy the lanes at `places`, in groups x rows x 16, into as many groups as `taken` has."""
    for group in range(len(taken)):
        first = group * WIDTH
        for i in range(values.shape[1]):
            for lane in range(min(WIDTH, len(places) - first)):
                place = places[first + lane]
                taken[group, i, lane] = values[place // WIDTH, i, place % WIDTH]


@compile_kernel
def fill_scores(state: Array, target: Array, categories: Array, scores: Array) -> None:
    """Write the scores of the lanes, groups x documents x 16, into the columns of their categories."""
    for group in range(len(state)):
        first = group * WIDTH
        for i in range(scores.shape[0]):
            for lane in range(min(WIDTH, len(categories) - first)):
                scores[i, categories[first + lane]] = state[group, i, lane] + target[group, i, lane]
