"""The dual on a working set of documents, one category at a time: coordinate steps on a Gram matrix, and
Newton on the free part.

Problem:  max_a  sum_i a_i - a'Qa/2,  0 <= a <= limit,  Q_ij = y_i y_j x_i'x_j + ridge [i = j], over the
documents of the working set
In:   Q, a feasible `alpha` and its gradient 1 - Q alpha (both changed in place)
Out:  the duality gap left on the working set
A coordinate step costs one pass over a row of Q, whatever the length of the documents. Between rounds of such
steps the variables
strictly inside their bounds take a Newton step, cut at the bounds or projected on them, whichever gains more.
Where C is large,
coordinate steps alone take thousands of passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from textcat.linear.lanes.compile import compiled
from textcat.linear.lanes.vector import WIDTH, fused, load, splat, store

Array = NDArray[np.float64]

# Up to this many free variables their equations are solved directly.
_DIRECT = 400
# Conjugate gradient otherwise: steps at most and the share of the residual to leave, by whether the free
# variables have changed.
_MOVING = (20, 0.1)
_SETTLED = (100, 1e-3)
_SWEEPS = 4
_MOST_ROUNDS = 300


@compiled
def _mapped_product(indptr: Any, indices: Any, data: Any, i: int, slots: Any, W: Any) -> Any:
    """Row i times weights that are kept in a few slots, slot 0 being zero."""
    a = splat(W, 0.0)
    b = splat(W, 0.0)
    j = indptr[i]
    end = indptr[i + 1]
    while j + 1 < end:
        a = fused(splat(W, data[j]), load(W, slots[indices[j]]), a)
        b = fused(splat(W, data[j + 1]), load(W, slots[indices[j + 1]]), b)
        j += 2
    if j < end:
        a = fused(splat(W, data[j]), load(W, slots[indices[j]]), a)
    return a + b


@compiled
def gram(indptr: Any, indices: Any, data: Any, chosen: Any, signs: Any, features: int, Q: Any) -> None:
    """Signed inner products of the chosen rows, sixteen columns at a time; only features of those sixteen
    have a slot.
    """
    slots = np.zeros(features, np.int32)
    products = np.empty((1, WIDTH))
    for start in range(0, len(chosen), WIDTH):
        stop = min(start + WIDTH, len(chosen))
        most = 1
        for k in range(start, stop):
            most += indptr[chosen[k] + 1] - indptr[chosen[k]]
        W = np.zeros((most, WIDTH))
        used = 0
        for k in range(start, stop):
            for t in range(indptr[chosen[k]], indptr[chosen[k] + 1]):
                if slots[indices[t]] == 0:
                    used += 1
                    slots[indices[t]] = used
                W[slots[indices[t]], k - start] = data[t]
        for j in range(start, len(chosen)):
            store(products, 0, _mapped_product(indptr, indices, data, chosen[j], slots, W))
            for k in range(start, stop):
                Q[j, k] = products[0, k - start] * signs[j] * signs[k]
        for k in range(start, stop):
            for t in range(indptr[chosen[k]], indptr[chosen[k] + 1]):
                slots[indices[t]] = 0
    for j in range(len(chosen)):
        for k in range(j):
            Q[k, j] = Q[j, k]


@compiled
def coordinate_steps(Q: Any, alpha: Any, gradient: Any, limits: Any, sweeps: int) -> None:
    """Exact steps of one variable after the other, those that cannot move passed over."""
    n = len(alpha)
    for _ in range(sweeps):
        for i in range(n):
            old = alpha[i]
            new = min(max(old + gradient[i] / max(Q[i, i], 1e-300), 0.0), limits[i])
            if new != old:
                alpha[i] = new
                row = Q[i]
                change = new - old
                for k in range(n):
                    gradient[k] -= change * row[k]


def working_gap(alpha: Array, gradient: Array, limits: Array, ridges: Array) -> float:
    """The duality gap of the problem on the working set."""
    missing = gradient + ridges * alpha
    best = np.clip(missing / np.maximum(ridges, 1e-30), 0.0, limits)
    return float(((best - alpha) * (missing - 0.5 * ridges * (best + alpha))).sum())


@compiled
def _product(Q: Any, rows: Any, vector: Any, out: Any) -> None:
    """Q times a vector that is zero outside `rows`; Q is symmetric."""
    out[:] = 0.0
    for k in range(len(rows)):
        row = Q[rows[k]]
        value = vector[k]
        for j in range(len(out)):
            out[j] += value * row[j]


@compiled
def conjugate_gradient(Q: Any, free: Any, gradient: Any, most: int, share: float, step: Any) -> None:
    """Solve Q step = gradient on the free variables down to a share of the residual, in float32: a rough step
    is enough.
    """
    n = len(free)
    block = np.empty((n, n), np.float32)
    for j in range(n):
        row = Q[free[j]]
        for k in range(n):
            block[j, k] = row[free[k]]
    residual = gradient[free].astype(np.float32)
    direction = residual.copy()
    solution = np.zeros(n, np.float32)
    image = np.empty(n, np.float32)
    square = np.dot(residual, residual)
    enough = np.float32(share * share) * square
    for _ in range(most):
        if not square > enough:
            break
        _product(block, np.arange(n), direction, image)
        bend = np.dot(direction, image)
        if not bend > 0.0:
            break
        length = square / bend
        for k in range(n):
            solution[k] += length * direction[k]
            residual[k] -= length * image[k]
        now = np.dot(residual, residual)
        for k in range(n):
            direction[k] = residual[k] + (now / square) * direction[k]
        square = now
    step[:] = solution


def _solved(Q: Array, free: NDArray[np.int64], gradient: Array, settled: bool) -> tuple[Array, Array]:
    """The Newton step of the free variables and its effect on all gradients, in full or, for many variables,
    roughly.
    """
    step, effect = np.empty(len(free)), np.empty(len(gradient))
    if len(free) <= _DIRECT:
        block = Q[np.ix_(free, free)]
        block[np.diag_indices(len(free))] *= 1 + 1e-10
        try:
            factor = cho_factor(block, lower=True, overwrite_a=True, check_finite=False)
            step = cho_solve(factor, gradient[free], check_finite=False)
        except LinAlgError:
            conjugate_gradient(Q, free, gradient, *_SETTLED, step)
    else:
        conjugate_gradient(Q, free, gradient, *(_SETTLED if settled else _MOVING), step)
    _product(Q, free, step, effect)
    return step, effect


def newton_step(
    Q: Array, alpha: Array, gradient: Array, limits: Array, free: NDArray[np.int64], settled: bool
) -> None:
    """Move the variables inside their bounds by a Newton step, cut at the first bound or projected on all."""
    step, effect = _solved(Q, free, gradient, settled)
    now, top = alpha[free], limits[free]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, (top - now) / step, np.where(step < 0, -now / step, np.inf))
    reach = min(1.0, float(room.min()))
    slope, bend = float(gradient[free] @ step), float(step @ effect[free])
    change = np.clip(now + reach * step, 0.0, top) - now
    gain = reach * slope - 0.5 * reach * reach * bend
    if reach < 1.0:
        projected = np.clip(now + step, 0.0, top) - now
        other = np.empty(len(gradient))
        _product(Q, free, projected, other)
        better = float(gradient[free] @ projected - 0.5 * projected @ other[free])
        if better > gain:
            change, gain, reach, effect = projected, better, 1.0, other
    if gain > 0:
        alpha[free] = now + change
        gradient -= reach * effect


def ascend(Q: Array, alpha: Array, limits: Array, ridges: Array, target: float) -> float:
    """Coordinate steps and Newton steps in turn until the gap on the working set is at most `target`."""
    gradient = 1.0 - Q @ alpha
    gap, last = np.inf, np.empty(0, np.int64)
    for _ in range(_MOST_ROUNDS):
        coordinate_steps(Q, alpha, gradient, limits, _SWEEPS)
        gap = working_gap(alpha, gradient, limits, ridges)
        free = np.flatnonzero((alpha > 0) & (alpha < limits))
        if gap <= target or not len(free):
            break
        newton_step(Q, alpha, gradient, limits, free, np.array_equal(free, last))
        last = free
    return gap
