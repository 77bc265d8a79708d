"""Row relaxation on the dual (zhang_oles_2001, algorithm 5), sixteen categories at once.

Problem, for each lane:  min_w  w'w/2 + sum_i loss(y_i w'x_i)
In:   a block's rows and signs; dual variables `alpha` and weights W = sum_i a_i y_i x_i, changed in place
Out:  the duality gap summed during the pass, by lane; the documents that hold a noticeable part of it

Hinge and squared hinge: dual  max_a  sum_i a_i - |sum_i a_i y_i x_i|^2/2 - ridge_i a_i^2/2, solved for one
variable in closed form.
    hinge           ridge = 0         0 <= a <= C
    squared hinge   ridge = 1/(2C)    0 <= a

Logistic, C log(1 + exp(-y_i w'x_i)): a_i = C sigma(-u_i) is kept through u_i in `points`. Each u moves to the
root of f(u) = u - m - |x_i|^2 (C sigma(-u) - a_i), with m the present margin. The root lies between m and the
old u, so Newton steps are kept inside that bracket; one is enough near the optimum.
"""

from __future__ import annotations

from typing import Any

from textcat.compile import compile_kernel
from textcat.linear.fast.layout import add_row, multiply_row, prefetch_documents
from textcat.linear.lane_math import exponential
from textcat.linear.simd import (
    any_differs,
    choose_less,
    lane_absolute,
    lane_maximum,
    lane_minimum,
    load,
    splat,
    store,
)


@compile_kernel
def relax_hinge(
    spans: Any,
    indices: Any,
    data: Any,
    norms: Any,
    importance: Any,
    signs: Any,
    limits: Any,
    ridges: Any,
    visits: Any,
    negligible: float,
    alpha: Any,
    W: Any,
    gaps: Any,
    again: Any,
) -> int:
    """Make one pass over the documents in `visits`; return how many documents it wrote into `again`."""
    zero = splat(W, 0.0)
    one = splat(W, 1.0)
    half = splat(W, 0.5)
    limit = load(limits, 0)
    base_ridge = load(ridges, 0)
    small = splat(W, negligible)
    total = zero
    kept = 0
    for t in range(len(visits)):
        i = visits[t]
        prefetch_documents(spans, indices, data, visits, t, signs, alpha)
        weight = splat(W, importance[i])
        ridge = base_ridge / weight
        sign = load(signs, i)
        old = load(alpha, i)
        missing = one - sign * multiply_row(spans, indices, data, i, W)
        free = old + (missing - ridge * old) / (ridge + splat(W, norms[i]))
        new = lane_maximum(zero, lane_minimum(limit * weight, free))
        best = lane_maximum(
            zero, lane_minimum(limit * weight, missing / lane_maximum(ridge, splat(W, 1e-30)))
        )
        gap = (best - old) * (missing - half * ridge * (best + old))
        total = total + gap
        if any_differs(lane_maximum(gap, small), small):
            again[kept] = i
            kept += 1
        if any_differs(new, old):
            store(alpha, i, new)
            add_row(spans, indices, data, i, sign * (new - old), W)
    store(gaps, 0, total)
    return kept


_MAX_ROOT_STEPS = 40


@compile_kernel
def _find_root(margin: Any, point: Any, old: Any, pull: Any, norm: Any, limit: Any, accuracy: Any) -> Any:
    """Return the root u: the secant of the two ends, then Newton or bisection inside the bracket.

    `pull` is the move of the dual variable if its effect on the margin is ignored.
    """
    one = splat(margin, 1.0)
    zero = splat(margin, 0.0)
    low = lane_minimum(margin, point)
    high = lane_maximum(margin, point)
    bend = norm * lane_absolute(pull)
    apart = lane_absolute(point - margin)
    u = margin + (point - margin) * (bend / lane_maximum(bend + apart, splat(margin, 1e-30)))
    for _ in range(_MAX_ROOT_STEPS):
        a = limit / (one + exponential(u))
        value = u - margin - norm * (a - old)
        low = choose_less(value, zero, u, low)
        high = choose_less(zero, value, u, high)
        newton = u - value / (one + norm * a * (one - a / limit))
        middle = splat(u, 0.5) * (low + high)
        inside = choose_less(newton, low, middle, choose_less(high, newton, middle, newton))
        moved = lane_absolute(inside - u)
        u = inside
        bound = accuracy * (one + lane_absolute(u))
        if not any_differs(lane_maximum(moved, bound), bound):
            break
    return u


@compile_kernel
def relax_logistic(
    spans: Any,
    indices: Any,
    data: Any,
    norms: Any,
    importance: Any,
    signs: Any,
    limits: Any,
    visits: Any,
    negligible: float,
    accuracy: float,
    points: Any,
    alpha: Any,
    W: Any,
    gaps: Any,
    again: Any,
) -> int:
    """Make one pass over the documents in `visits`; return how many documents it wrote into `again`."""
    one = splat(W, 1.0)
    half = splat(W, 0.5)
    small = splat(W, negligible)
    ignored = splat(W, 0.1 * negligible)
    total = splat(W, 0.0)
    kept = 0
    for t in range(len(visits)):
        i = visits[t]
        prefetch_documents(spans, indices, data, visits, t, signs, points)
        limit = load(limits, 0) * splat(W, importance[i])
        sign = load(signs, i)
        point = load(points, i)
        old = load(alpha, i)
        margin = sign * multiply_row(spans, indices, data, i, W)
        pull = limit / (one + exponential(margin)) - old
        gap = half * lane_absolute((point - margin) * pull)
        total = total + gap
        if any_differs(lane_maximum(gap, small), small):
            again[kept] = i
            kept += 1
        if any_differs(lane_maximum(gap, ignored), ignored):
            u = _find_root(margin, point, old, pull, splat(W, norms[i]), limit, splat(W, accuracy))
            new = limit / (one + exponential(u))
            store(points, i, u)
            store(alpha, i, new)
            add_row(spans, indices, data, i, sign * (new - old), W)
    store(gaps, 0, total)
    return kept
