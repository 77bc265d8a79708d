"""The dual on a working set of documents: coordinate steps, and conjugate gradients between the bounds.

Problem:  max_a  sum_i a_i - |w|^2/2 - sum_i ridge_i a_i^2/2,  w = sum_i a_i y_i x_i,  0 <= a_i <= ceiling_i, over the
documents of the working set
In:   the documents times their signs; a and w, changed in place
Out:  the duality gap of the problem on the working set, and the work done
No Gram matrix is made: a product with it is a product of the documents with the sum of the documents.

A round is a sweep of coordinate steps, which finds the variables at their bounds, and conjugate gradients over the
others. A variable that meets a bound on the way would end them. Some may go on beyond their bounds, where they are
put back at the end: as many as turned out well before. If the dual rises less than up to the first bound, the
step ends there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel, compile_part
from textcat.linear.fast.layout import PackedRows, add_entries, multiply_entries
from textcat.linear.simd import entry

Array = NDArray[np.float64]


@compile_kernel
def _copy_documents(
    spans: Any,
    indices: Any,
    data: Any,
    documents: Any,
    signs: Any,
    place: Any,
    starts: Any,
    copy: Any,
    used: Any,
) -> int:
    """Copy documents times their signs, with features renumbered as they appear; return the number of features.

    `place` has -1 for each feature, before and after.
    """
    positions, values = copy
    features = 0
    end = 0
    for k in range(len(documents)):
        i = documents[k]
        starts[k] = end
        for t in range(spans[i, 0], spans[i, 1]):
            j = entry(indices, t)
            if place[j] < 0:
                place[j] = features
                used[features] = j
                features += 1
            positions[end] = place[j]
            values[end] = signs[i] * entry(data, t)
            end += 1
    starts[len(documents)] = end
    for c in range(features):
        place[used[c]] = -1
    return features


def copy_documents(
    rows: PackedRows, documents: NDArray[np.int64], signs: Array
) -> tuple[tuple[Any, Any, Any], NDArray[np.int32]]:
    """Return documents times their signs, over the features that they have: (starts, positions, values), features."""
    size = int((rows.spans[documents, 1] - rows.spans[documents, 0]).sum())
    starts, positions, values = (
        np.empty(len(documents) + 1, np.int64),
        np.empty(size, np.uint32),
        np.empty(size),
    )
    place, used = np.full(rows.features, -1, np.int32), np.empty(min(size, rows.features), np.int32)
    matrix = (rows.spans, rows.indices, rows.data)
    features = _copy_documents(*matrix, documents, signs, place, starts, (positions, values), used)
    return (starts, positions, values), used[:features]


@compile_part
def _multiply_document(matrix: Any, k: int, w: Any) -> float:
    starts, positions, values = matrix
    return multiply_entries(positions, values, starts[k], starts[k + 1], w)


@compile_part
def _add_document(matrix: Any, k: int, step: float, w: Any) -> None:
    starts, positions, values = matrix
    add_entries(positions, values, starts[k], starts[k + 1], step, w)


@compile_kernel
def _sweep(matrix: Any, norms: Any, ceilings: Any, ridges: Any, alpha: Any, w: Any) -> None:
    """Take the exact step of one variable after the other."""
    for k in range(len(alpha)):
        old = alpha[k]
        gradient = 1.0 - _multiply_document(matrix, k, w) - ridges[k] * old
        new = min(max(old + gradient / (norms[k] + ridges[k]), 0.0), ceilings[k])
        if new != old:
            alpha[k] = new
            _add_document(matrix, k, new - old, w)


@compile_part
def _measure_gap_part(gradient: float, a: float, ceiling: float, ridge: float) -> float:
    """Return the part of the duality gap that one variable holds."""
    rise = min(max(gradient / max(ridge, 1e-30), -a), ceiling - a)
    return rise * (gradient - 0.5 * ridge * rise)


@compile_kernel
def _fill_gradient(
    matrix: Any, ceilings: Any, ridges: Any, alpha: Any, w: Any, negligible: float, gradient: Any, free: Any
) -> Any:
    """Compute the gradient; return the gap, and the number of variables written into `free`, which can move."""
    gap = 0.0
    count = 0
    for k in range(len(alpha)):
        a = alpha[k]
        gradient[k] = 1.0 - _multiply_document(matrix, k, w) - ridges[k] * a
        part = _measure_gap_part(gradient[k], a, ceilings[k], ridges[k])
        gap += part
        if part > negligible or 0.0 < a < ceilings[k]:
            free[count] = k
            count += 1
    return gap, count


@compile_kernel
def _multiply_gram(matrix: Any, ridges: Any, free: Any, p: Any, v: Any, q: Any) -> float:
    """Compute the product q of the dual's matrix with p over the free variables; return p'q."""
    v[:] = 0.0
    for s in range(len(free)):
        _add_document(matrix, free[s], p[s], v)
    total = 0.0
    for s in range(len(free)):
        q[s] = _multiply_document(matrix, free[s], v) + ridges[free[s]] * p[s]
        total += p[s] * q[s]
    return total


@compile_kernel
def _count_crossings(free: Any, alpha: Any, ceilings: Any, d: Any, p: Any, length: float) -> Any:
    """Return the length of the step at which the first variable meets its bound, and how many cross theirs."""
    first = length
    crossings = 0
    for s in range(len(free)):
        a = alpha[free[s]] + d[s]
        ceiling = ceilings[free[s]]
        if 0.0 <= a <= ceiling:
            there = a + length * p[s]
            if there < 0.0:
                first = min(first, -a / p[s])
                crossings += 1
            elif there > ceiling:
                first = min(first, (ceiling - a) / p[s])
                crossings += 1
    return first, crossings


_MAX_ITERATIONS = 200
# Iterations end when the gap is this share of the target, or of the gap before; once a variable has crossed its
# bound, when the squared gradient is this share of that before.
_TARGET_SHARE = 0.5
_GAP_SHARE = 0.01
_CROSSED_SHARE = 0.1
# A direction in which the dual bends less than this may lead far away: it ends at the first bound.
_FLAT = 0.05


@compile_kernel
def _climb(
    matrix: Any, ceilings: Any, ridges: Any, alpha: Any, r: Any, free: Any, allowed: float, target: float,
    gap: float, d: Any, safe: Any, p: Any, q: Any, v: Any,
) -> Any:  # fmt: skip
    """Run conjugate gradients from the gradient `r`; fill in the step `d`, and `safe`, the step up to the first bound.

    Return how many variables cross their bounds, the gain of the safe step (none if no variable crosses),
    whether the direction is flat, and the number of iterations.
    """
    n = len(free)
    crossed = 0
    gain = 0.0
    safe_gain = 0.0
    before = 0.0
    for s in range(n):
        d[s] = 0.0
        p[s] = r[s]
        before += r[s] * r[s]
    rr = before
    pp = before
    for iteration in range(_MAX_ITERATIONS):
        bend = _multiply_gram(matrix, ridges, free, p, v, q)
        length = rr / bend if bend > 0.0 else 1e30
        first, crossings = _count_crossings(free, alpha, ceilings, d, p, length)
        if crossings > 0 and crossed == 0:
            safe_gain = gain + first * rr - 0.5 * first * first * bend
            for s in range(n):
                safe[s] = d[s] + first * p[s]
        crossed += crossings
        if crossed > 0 and not bend > _FLAT * pp:
            return crossed, safe_gain, True, iteration + 1
        gain += length * rr - 0.5 * length * length * bend
        rr_after = 0.0
        left = 0.0
        for s in range(n):
            k = free[s]
            d[s] += length * p[s]
            r[s] -= length * q[s]
            rr_after += r[s] * r[s]
            a = min(max(alpha[k] + d[s], 0.0), ceilings[k])
            left += _measure_gap_part(r[s], a, ceilings[k], ridges[k])
        if crossed > allowed or (crossed > 0 and rr_after < _CROSSED_SHARE * before):
            break
        if left <= max(_TARGET_SHARE * target, _GAP_SHARE * gap) or not bend > 0.0:
            break
        pp = 0.0
        for s in range(n):
            p[s] = r[s] + rr_after / rr * p[s]
            pp += p[s] * p[s]
        rr = rr_after
    return crossed, safe_gain, False, iteration + 1


@compile_kernel
def _fill_bounded_step(
    matrix: Any, ceilings: Any, ridges: Any, alpha: Any, gradient: Any, free: Any, d: Any, v: Any
) -> float:
    """Put the step's variables back to their bounds and compute the change v of w; return the gain."""
    gain = 0.0
    v[:] = 0.0
    for s in range(len(free)):
        k = free[s]
        d[s] = min(max(alpha[k] + d[s], 0.0), ceilings[k]) - alpha[k]
        gain += d[s] * (gradient[k] - 0.5 * ridges[k] * d[s])
        _add_document(matrix, k, d[s], v)
    a = 0.0
    b = 0.0
    for j in range(0, len(v) - 1, 2):
        a += v[j] * v[j]
        b += v[j + 1] * v[j + 1]
    if len(v) % 2:
        a += v[-1] * v[-1]
    return gain - 0.5 * (a + b)


@compile_kernel
def _move(free: Any, ceilings: Any, d: Any, v: Any, alpha: Any, w: Any) -> None:
    """Take a step within the bounds."""
    for s in range(len(free)):
        k = free[s]
        a = min(max(alpha[k] + d[s], 0.0), ceilings[k])
        # A sum may miss the bound by a rounding error.
        alpha[k] = ceilings[k] if ceilings[k] - a < 1e-15 * ceilings[k] else a
    for j in range(len(w)):
        w[j] += v[j]


_START_ALLOWED = 2.0


@compile_kernel
def maximise_on_documents(
    matrix: Any, norms: Any, ceilings: Any, ridges: Any, alpha: Any, w: Any, target: float, most_work: float
) -> Any:
    """Run rounds until the gap is at most `target`; return the gap, and the work in products with a document.

    Rounds end early when more than `most_work` is done.
    """
    m = len(alpha)
    gradient, r, p, q, d, safe = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    v = np.empty(len(w))
    free = np.empty(m, np.int64)
    allowed = _START_ALLOWED
    work = 0.0
    while True:
        _sweep(matrix, norms, ceilings, ridges, alpha, w)
        gap, n = _fill_gradient(matrix, ceilings, ridges, alpha, w, 0.1 * target / m, gradient, free)
        work += 3.0 * m
        if gap <= target or n == 0 or work > most_work:
            return gap, work
        own = free[:n]
        for s in range(n):
            r[s] = gradient[free[s]]
        crossed, safe_gain, flat, iterations = _climb(
            matrix, ceilings, ridges, alpha, r, own, allowed, target, gap, d, safe, p, q, v
        )
        work += (2.0 * iterations + 1.0) * n
        step = safe if flat else d
        gain = _fill_bounded_step(matrix, ceilings, ridges, alpha, gradient, own, step, v)
        if crossed > 0 and not flat:
            if gain > safe_gain:
                if crossed > 0.5 * allowed:
                    allowed = 2.0 * allowed + 1.0
            else:
                allowed *= 0.25
                work += n
                step = safe
                _fill_bounded_step(matrix, ceilings, ridges, alpha, gradient, own, step, v)
        _move(own, ceilings, step, v, alpha, w)
