"""The quadratic model of a proximal Newton step with the Laplace prior.

Problem:  min_s  g's + s'Hs/2 + |w + s|_1
In:   H (small, dense), gradient g and w, both changed in place
Out:  w + s, with the gradient there, no coordinate further from optimal than `tol`
Coordinate descent finds which coordinates are zero and the signs of the others; where columns are nearly dependent it
takes thousands of sweeps for the values, and a system of equations gives them at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textcat.compile import compiled

# How many sweeps over p coordinates a solution of p equations costs, by p; and sweeps to make before one is thought of.
_SWEEPS_A_SOLUTION = 0.13
_LEAST_SWEEPS = 10
# Added to the diagonal, by its mean: columns that are equal leave no unique solution.
_JITTER = 1e-12


@compiled
def violation(w: float, gradient: float) -> float:
    """How far a coordinate is from optimal: the distance of -gradient from the subdifferential of |w|."""
    if w > 0:
        return abs(gradient + 1.0)
    if w < 0:
        return abs(gradient - 1.0)
    return max(abs(gradient) - 1.0, 0.0)


@compiled
def _shrunk(x: float, by: float) -> float:
    return max(x - by, 0.0) - max(-x - by, 0.0)


@compiled
def quadratic(H: Any, gradient: Any, w: Any, tol: float, sweeps: int) -> None:
    """Coordinate descent for g's + s'Hs/2 + |w + s|_1, w becoming w + s; half of the sweeps keep to nonzero
    coordinates, which are solved for together where sweeps would take longer.
    """
    p = len(w)
    full = True
    since = 0
    for _ in range(sweeps):
        worst = 0.0
        for j in range(p):
            now = w[j]
            if full or now != 0.0:
                worst = max(worst, violation(now, gradient[j]))
                h = max(H[j, j], 1e-12)
                new = _shrunk(now - gradient[j] / h, 1.0 / h)
                if new != now:
                    w[j] = new
                    change = new - now
                    row = H[j]
                    for k in range(p):
                        gradient[k] += change * row[k]
        if worst <= tol and full:
            return
        full = worst <= tol
        since += 1
        if not full and since > _SWEEPS_A_SOLUTION * p + _LEAST_SWEEPS:
            _solve_nonzero(H, gradient, w)
            since = 0


@compiled
def _solve_nonzero(H: Any, gradient: Any, w: Any) -> None:
    """Move the nonzero coordinates together to where their signs are optimal, or until the first of them is zero."""
    used = np.flatnonzero(w)
    p = len(used)
    part = np.empty((p, p))
    target = np.empty(p)
    trace = 0.0
    for j in range(p):
        trace += H[used[j], used[j]]
    if not trace > 0.0:
        return
    for j in range(p):
        for k in range(p):
            part[j, k] = H[used[j], used[k]]
        part[j, j] += _JITTER * trace / p
        target[j] = -gradient[used[j]] - np.sign(w[used[j]])
    step = np.linalg.solve(part, target)
    if not np.isfinite(step).all():
        return
    length, first = 1.0, -1
    for j in range(p):
        if step[j] * w[used[j]] < 0.0 and -w[used[j]] / step[j] < length:
            length, first = -w[used[j]] / step[j], j
    for j in range(p):
        change = length * step[j]
        if j == first:
            change = -w[used[j]]
        w[used[j]] += change
        row = H[used[j]]
        for k in range(len(w)):
            gradient[k] += change * row[k]
