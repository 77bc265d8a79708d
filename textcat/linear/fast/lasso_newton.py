"""Laplace prior on a working set of features: proximal Newton steps, one category at a time.

Problem:  min_w  |w|_1 + sum_i C_i loss(z_i),  z_i = y_i w'x_i, logistic or squared hinge loss
In:   the columns of the working set (CSC), signs, C per document; `w` and `z`, changed in place
Out:  the largest violation of optimality left, and the number of Newton steps
Each step minimises the quadratic model plus |w|_1 on the small dense Hessian, without exponentials (the idea of
newGLMNET), and is shortened where the directional derivative shows that it overshoots.

Inner problem:  min_s  g's + s'Hs/2 + |w + s|_1
In:   H (small, dense), gradient g and w, both changed in place
Out:  w + s and the gradient there, with no violation above `tol`
Coordinate descent finds which coordinates are zero and the signs of the others. Where columns are nearly
dependent it would take thousands of sweeps for the values; a system of equations gives them directly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textcat.compile import compile_kernel
from textcat.linear.lane_math import exponential, lane_softplus
from textcat.linear.simd import WIDTH, choose_less, entry, lane_maximum, load, splat, store

# The cost of solving p equations, in sweeps per p; and the sweeps to make before solving them.
_SWEEPS_PER_SOLUTION = 0.06
_MIN_SWEEPS = 10
# Added to the diagonal, relative to its mean: equal columns have no unique solution.
_JITTER = 1e-10


@compile_kernel
def measure_violation(w: float, gradient: float) -> float:
    """Return the distance of -gradient from the subdifferential of |w|: 0 for an optimal coordinate."""
    if w > 0:
        return abs(gradient + 1.0)
    if w < 0:
        return abs(gradient - 1.0)
    return max(abs(gradient) - 1.0, 0.0)


@compile_kernel
def _shrink(x: float, by: float) -> float:
    return max(x - by, 0.0) - max(-x - by, 0.0)


@compile_kernel
def _refresh_gradient(H: Any, first: Any, start: Any, w: Any, gradient: Any) -> float:
    """Compute the gradient at w from that at `start`; return the largest violation."""
    gradient[:] = first + np.dot(H, w - start)
    worst = 0.0
    for j in range(len(w)):
        worst = max(worst, measure_violation(w[j], gradient[j]))
    return worst


@compile_kernel
def minimise_quadratic(H: Any, gradient: Any, w: Any, tol: float, sweeps: int) -> None:
    """Minimise g's + s'Hs/2 + |w + s|_1 by coordinate descent and set w to w + s.

    Half of the sweeps visit only nonzero coordinates; where sweeps take long, these are solved together. Sweeps read
    H in float32, which is half as long; the gradient is computed again from H at the end.
    """
    p = len(w)
    single = H.astype(np.float32)
    first = gradient.copy()
    start = w.copy()
    full = True
    since = 0
    for _ in range(sweeps):
        worst = 0.0
        for j in range(p):
            now = w[j]
            if full or now != 0.0:
                worst = max(worst, measure_violation(now, gradient[j]))
                h = max(H[j, j], 1e-12)
                new = _shrink(now - gradient[j] / h, 1.0 / h)
                if new != now:
                    w[j] = new
                    change = new - now
                    row = single[j]
                    for k in range(p):
                        gradient[k] += change * row[k]
        if worst <= tol and full and _refresh_gradient(H, first, start, w, gradient) <= tol:
            return
        full = worst <= tol
        since += 1
        if not full and since > _SWEEPS_PER_SOLUTION * p + _MIN_SWEEPS:
            _solve_nonzero(H, gradient, w)
            since = 0


@compile_kernel
def _solve_positive(lower: Any, target: Any) -> Any:
    """Solve a system of equations, given the Cholesky factor of its matrix."""
    p = len(target)
    x = target.copy()
    for j in range(p):
        x[j] /= lower[j, j]
        for k in range(j + 1, p):
            x[k] -= x[j] * lower[k, j]
    for j in range(p - 1, -1, -1):
        total = x[j]
        for k in range(j + 1, p):
            total -= lower[k, j] * x[k]
        x[j] = total / lower[j, j]
    return x


@compile_kernel
def _solve_nonzero(H: Any, gradient: Any, w: Any) -> None:
    """Move the nonzero coordinates to the optimum for their signs, or until the first of them is zero."""
    used = np.flatnonzero(w)
    p = len(used)
    part = np.empty((p, p))
    target = np.empty(p)
    trace = 0.0
    for j in range(p):
        trace += H[used[j], used[j]]
    if not 0.0 < trace < np.inf:
        return
    for j in range(p):
        for k in range(p):
            part[j, k] = H[used[j], used[k]]
        part[j, j] += _JITTER * trace / p
        target[j] = -gradient[used[j]] - np.sign(w[used[j]])
    step = _solve_positive(np.linalg.cholesky(part), target)
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


# Where every document is far from the boundary the curvature vanishes and steps would be unbounded.
_MIN_CURVATURE = 1e-7
_MAX_HALVINGS = 60


@compile_kernel
def fill_slopes_and_curvatures(logistic: bool, z: Any, weights: Any, alpha: Any, curvature: Any) -> None:
    """Fill in the dual variables -C l'(z) and curvatures C l''(z) of all documents, sixteen at a time.

    If both arrays are the same, it holds the dual variables: they are written last.
    """
    one = splat(z, 1.0)
    zero = splat(z, 0.0)
    least = splat(z, _MIN_CURVATURE)
    for row in range(len(z) // WIDTH):
        weight = load(weights, row)
        margin = load(z, row)
        if logistic:
            p = one / (one + exponential(margin))
            store(curvature, row, weight * lane_maximum(p * (one - p), least))
            store(alpha, row, weight * p)
        else:
            missing = one - margin
            double = weight + weight
            store(curvature, row, choose_less(zero, missing, double, zero))
            missing = lane_maximum(missing, zero)
            store(alpha, row, double * missing)


@compile_kernel
def sum_losses(logistic: bool, z: Any, weights: Any) -> float:
    """Return the sum of C l(z) over all documents."""
    one = splat(z, 1.0)
    zero = splat(z, 0.0)
    sums = np.zeros(WIDTH)
    total = zero
    for row in range(len(z) // WIDTH):
        weight = load(weights, row)
        margin = load(z, row)
        if logistic:
            total = total + weight * lane_softplus(zero - margin)
        else:
            missing = lane_maximum(one - margin, zero)
            total = total + weight * missing * missing
    store(sums, 0, total)
    return float(sums.sum())


@compile_kernel
def transpose_columns(columns: Any, indptr: Any, indices: Any, data: Any, n: int) -> Any:
    """Return the chosen columns of a CSC matrix as rows: starts, positions within the choice, values."""
    starts = np.zeros(n + 1, np.int64)
    for j in columns:
        for t in range(indptr[j], indptr[j + 1]):
            starts[entry(indices, t) + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    filled = starts[:-1].copy()
    positions = np.empty(starts[n], np.uint32)
    values = np.empty(starts[n], np.float64)
    for k in range(len(columns)):
        for t in range(indptr[columns[k]], indptr[columns[k] + 1]):
            i = entry(indices, t)
            positions[filled[i]] = k
            values[filled[i]] = entry(data, t)
            filled[i] += 1
    return starts, positions, values


@compile_kernel
def fill_hessian(starts: Any, positions: Any, values: Any, curvature: Any, least: float, H: Any) -> None:
    """Compute X' D X of the working set; documents of a curvature below `least` count on the diagonal only.

    Positions in a row ascend, so the lower triangle is filled and mirrored.
    """
    H[:] = 0.0
    for i in range(len(starts) - 1):
        whole = curvature[i] >= least
        for s in range(starts[i], starts[i + 1]):
            scaled = curvature[i] * values[s]
            row = H[positions[s]]
            for t in range(starts[i] if whole else s, s + 1):
                row[entry(positions, t)] += scaled * entry(values, t)
    for j in range(len(H)):
        for k in range(j):
            H[k, j] = H[j, k]


@compile_kernel
def _fill_gradient(
    columns: Any, indptr: Any, indices: Any, data: Any, signs: Any, alpha: Any, out: Any
) -> None:
    for k in range(len(columns)):
        total = 0.0
        for t in range(indptr[columns[k]], indptr[columns[k] + 1]):
            i = entry(indices, t)
            total -= entry(signs, i) * entry(alpha, i) * entry(data, t)
        out[k] = total


@compile_kernel
def _fill_margin_changes(
    columns: Any, indptr: Any, indices: Any, data: Any, signs: Any, step: Any, out: Any
) -> None:
    """Compute the change of the margins by a step."""
    out[:] = 0.0
    for k in range(len(columns)):
        if step[k] != 0.0:
            for t in range(indptr[columns[k]], indptr[columns[k] + 1]):
                i = entry(indices, t)
                out[np.uint32(i)] += entry(signs, i) * entry(data, t) * step[k]


@compile_kernel
def _compute_slope_before(along: Any, alpha: Any, w: Any, step: Any, t: float) -> float:
    """Slope of the objective along the step just before w + t step, where the dual variables are `alpha`."""
    total = -float(np.dot(alpha, along))
    for j in range(len(w)):
        at = w[j] + t * step[j]
        if t == 1.0 and abs(at) <= 1e-12 * abs(w[j]):
            at = 0.0
        total += step[j] * np.sign(at) if at != 0.0 else -abs(step[j])
    return total


# Documents of less than this share of the mean curvature count on the diagonal of the Hessian only, in proportion to
# the violation where that is below 1.
_LIGHT_SHARE = 0.01


@compile_kernel
def _run_newton_steps(
    logistic: bool,
    columns: Any,
    indptr: Any,
    indices: Any,
    data: Any,
    signs: Any,
    weights: Any,
    z: Any,
    w: Any,
    tol: float,
    most_steps: int,
) -> Any:
    """Take proximal Newton steps until no coordinate violates optimality by more than `tol`."""
    n, p = len(z), len(columns)
    matrix = (columns, indptr, indices, data)
    starts, positions, values = transpose_columns(columns, indptr, indices, data, n)
    H = np.empty((p, p))
    alpha, curvature, along, trial = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    gradient = np.empty(p)
    fill_slopes_and_curvatures(logistic, z, weights, alpha, curvature)
    for steps in range(most_steps):
        _fill_gradient(*matrix, signs, alpha, gradient)
        worst = 0.0
        for k in range(p):
            worst = max(worst, measure_violation(w[k], gradient[k]))
        if worst <= tol:
            return worst, steps
        light = _LIGHT_SHARE * min(1.0, worst) * curvature.mean()
        fill_hessian(starts, positions, values, curvature, light, H)
        new = w.copy()
        minimise_quadratic(H, gradient, new, max(0.3 * tol, worst * min(0.1, worst)), 1000)
        step = new - w
        _fill_margin_changes(*matrix, signs, step, along)
        slope = np.abs(new).sum() - np.abs(w).sum() - np.dot(alpha, along)
        before = np.inf
        t = 1.0
        for _ in range(_MAX_HALVINGS):
            for i in range(n):
                trial[i] = z[i] + t * along[i]
            fill_slopes_and_curvatures(logistic, trial, weights, alpha, curvature)
            if _compute_slope_before(along, alpha, w, step, t) <= 0.0:
                break
            if before == np.inf:
                before = sum_losses(logistic, z, weights) + np.abs(w).sum()
            value = sum_losses(logistic, trial, weights) + np.abs(w + t * step).sum()
            if value <= before + 0.01 * t * slope + 1e-14 * before:
                break
            t *= 0.5
        z[:] = trial
        w[:] = new if t == 1.0 else w + t * step
    return worst, most_steps


@compile_kernel
def _find_constant(columns: Any, indptr: Any, data: Any, n: int) -> int:
    """Return the position of a column with the same number in all n documents, or -1."""
    for k in range(len(columns)):
        start = indptr[columns[k]]
        if n > 0 and indptr[columns[k] + 1] - start == n:
            same = True
            for t in range(start, start + n):
                same &= entry(data, t) == data[start]
            if same:
                return k
    return -1


@compile_kernel
def _place_documents(columns: Any, indptr: Any, indices: Any, constant: int, n: int) -> Any:
    """Return the documents with a feature of the working set besides the constant, and the place of each, or -1."""
    place = np.full(n, -1, np.int32)
    for k in range(len(columns)):
        if k != constant:
            for t in range(indptr[columns[k]], indptr[columns[k] + 1]):
                place[entry(indices, t)] = 0
    chosen = np.flatnonzero(place == 0)
    for s in range(len(chosen)):
        place[chosen[s]] = s
    return chosen, place


@compile_kernel
def _copy_joined_columns(
    columns: Any, indptr: Any, indices: Any, data: Any, constant: int, place: Any, joined: int
) -> Any:
    """Return the working set's columns over the placed documents and `joined` more with only the constant."""
    p = len(columns)
    starts = np.zeros(p + 1, np.int64)
    for k in range(p):
        size = indptr[columns[k] + 1] - indptr[columns[k]]
        starts[k + 1] = starts[k] + (joined if k == constant else size)
    rows, values = np.empty(starts[p], np.int32), np.empty(starts[p])
    for k in range(p):
        first = indptr[columns[k]]
        for s in range(starts[k + 1] - starts[k]):
            rows[starts[k] + s] = s if k == constant else place[entry(indices, first + s)]
            values[starts[k] + s] = data[first if k == constant else first + s]
    return np.arange(p), starts, rows, values


# Documents are joined if that leaves at most this share of them.
_JOINED_SHARE = 0.8


@compile_kernel
def run_proximal_newton(
    logistic: bool,
    columns: Any,
    indptr: Any,
    indices: Any,
    data: Any,
    signs: Any,
    weights: Any,
    n: int,
    z: Any,
    w: Any,
    tol: float,
    most_steps: int,
) -> Any:
    """Proximal Newton on the working set `columns` until no coordinate violates optimality by more than `tol`.

    Of n documents, those that have no feature of the working set besides the constant have one margin on each side, and
    are joined into one document a side.
    """
    constant = _find_constant(columns, indptr, data, n)
    chosen, place = _place_documents(columns, indptr, indices, constant, n)
    m = len(chosen)
    if m + 2 > _JOINED_SHARE * n:
        return _run_newton_steps(
            logistic, columns, indptr, indices, data, signs, weights, z, w, tol, most_steps
        )
    size = -(-(m + 2) // WIDTH) * WIDTH
    own_signs, own_weights, own_z = np.ones(size), np.zeros(size), np.zeros(size)
    own_signs[:m], own_weights[:m], own_z[:m] = signs[chosen], weights[chosen], z[chosen]
    own_signs[m + 1] = -1.0
    for i in range(n):
        if place[i] < 0:
            own_weights[m if signs[i] > 0 else m + 1] += weights[i]
    if constant >= 0:
        alike = w[constant] * data[indptr[columns[constant]]]
        own_z[m], own_z[m + 1] = alike, -alike
    own, starts, rows, values = _copy_joined_columns(columns, indptr, indices, data, constant, place, m + 2)
    matrix = (own, starts, rows, values)
    found = _run_newton_steps(logistic, *matrix, own_signs, own_weights, own_z, w, tol, most_steps)
    for i in range(n):
        z[i] = own_z[place[i] if place[i] >= 0 else (m if signs[i] > 0 else m + 1)]
    return found
