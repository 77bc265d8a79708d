"""Row relaxation on the dual for hinge, squared hinge and squared loss, sixteen categories at once.

Problem, for each lane:  min_w  w'w/2 + sum_i loss(y_i w'x_i);  dual  max_a  sum_i a_i - |sum_i a_i y_i
x_i|^2/2 - ridge_i a_i^2/2
    hinge           ridge = 0         0 <= a <= C
    squared hinge   ridge = 1/(2C)    0 <= a
    squared         ridge = 1/(2C)    a free
In:   a block's rows, signs, dual variables `alpha` and weights W = sum_i a_i y_i x_i (both changed in place)
Out:  the duality gap as seen on the way, by lane; the documents worth another visit
Zhang & Oles (2001), algorithm 5, in the closed form that a quadratic dual allows.
"""

from __future__ import annotations

from typing import Any

from textcat.compile import compiled
from textcat.linear.lanes.rows import add_row, ask_for, row_product
from textcat.linear.vector import differs, larger, load, smaller, splat, store


@compiled
def relax_hinge(
    spans: Any,
    indices: Any,
    data: Any,
    norms: Any,
    importance: Any,
    signs: Any,
    limits: Any,
    ridges: Any,
    lowest: float,
    visits: Any,
    negligible: float,
    alpha: Any,
    W: Any,
    gaps: Any,
    again: Any,
) -> int:
    """One pass over the documents in `visits`; returns how many documents it wrote into `again`."""
    zero = splat(W, 0.0)
    one = splat(W, 1.0)
    half = splat(W, 0.5)
    low = splat(W, lowest)
    limit = load(limits, 0)
    base_ridge = load(ridges, 0)
    small = splat(W, negligible)
    total = zero
    kept = 0
    for t in range(len(visits)):
        i = visits[t]
        ask_for(spans, indices, data, visits, t, signs, alpha)
        weight = splat(W, importance[i])
        ridge = base_ridge / weight
        sign = load(signs, i)
        old = load(alpha, i)
        missing = one - sign * row_product(spans, indices, data, i, W)
        free = old + (missing - ridge * old) / (ridge + splat(W, norms[i]))
        new = larger(low, smaller(limit * weight, free))
        best = larger(low, smaller(limit * weight, missing / larger(ridge, splat(W, 1e-30))))
        gap = (best - old) * (missing - half * ridge * (best + old))
        total = total + gap
        if differs(larger(gap, small), small):
            again[kept] = i
            kept += 1
        if differs(new, old):
            store(alpha, i, new)
            add_row(spans, indices, data, i, sign * (new - old), W)
    store(gaps, 0, total)
    return kept
