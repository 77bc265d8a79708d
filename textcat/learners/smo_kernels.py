"""Kernels of the SVM with a free threshold: pair steps on a dense Gram matrix, and what feeds them.

Multipliers are kept with their sign, beta_i = y_i alpha_i, each in a box [low_i, high_i] that holds 0, so
that w = sum_i beta_i x_i; the dual objective is sum_i y_i beta_i - |w|^2 / 2, and the sum of all beta_i is 0.
The error of a document is y_i - w.x_i; the multipliers are optimal when no document that can go up
(beta < high) has a larger error than one that can go down (beta > low).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FLAT = 1e-12  # curvature below which two documents count as the same point


@compiled
def outputs(indptr: Integers, indices: Integers, data: Floats, weights: Floats, result: Floats) -> None:
    """Write w.x_i for every document."""
    for i in range(result.size):
        total = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            total += data[position] * weights[indices[position]]
        result[i] = total


@compiled
def add_documents(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    kept: Floats,
    rows: Integers,
    steps: Floats,
    weights: Floats,
) -> None:
    """w <- w + sum of steps_r x_r over the rows, on the kept features only."""
    for r in range(rows.size):
        if steps[r] != 0.0:
            for position in range(indptr[rows[r]], indptr[rows[r] + 1]):
                j = indices[position]
                weights[j] += steps[r] * data[position] * kept[j]


@compiled
def inner_products(
    indptr: Integers, indices: Integers, data: Floats, kept: Floats, rows: Integers, known: int, gram: Floats
) -> None:
    """Fill the Gram matrix of `rows` on the kept features; its first `known` rows and columns stand already.

    Goes through postings (for each feature the rows that hold it), so that only common features cost time.
    """
    starts, holders, values = _postings(indptr, indices, data, kept, rows)
    for a in range(known, rows.size):
        gram[a, : rows.size] = 0.0
        for position in range(indptr[rows[a]], indptr[rows[a] + 1]):
            j = indices[position]
            for entry in range(starts[j], starts[j + 1]):
                gram[a, holders[entry]] += data[position] * values[entry]
        gram[:a, a] = gram[a, :a]


@compiled
def _postings(
    indptr: Integers, indices: Integers, data: Floats, kept: Floats, rows: Integers
) -> tuple[Integers, Integers, Floats]:
    """The kept part of the rows turned over: where each feature's entries start, their rows, their values."""
    starts = np.zeros(kept.size + 2, np.int64)
    for row in rows:
        for position in range(indptr[row], indptr[row + 1]):
            if kept[indices[position]] != 0.0:
                starts[indices[position] + 2] += 1
    starts = np.cumsum(starts)
    holders, values = np.empty(starts[-1], np.int64), np.empty(starts[-1])
    for a in range(rows.size):
        for position in range(indptr[rows[a]], indptr[rows[a] + 1]):
            j = indices[position]
            if kept[j] != 0.0:
                holders[starts[j + 1]] = a
                values[starts[j + 1]] = data[position]
                starts[j + 1] += 1
    return starts, holders, values


@compiled
def steepest_upward(beta: Floats, high: Floats, error: Floats) -> int:
    """The document that can go up with the largest error, or -1."""
    best = -1
    for i in range(beta.size):
        if beta[i] < high[i] and (best < 0 or error[i] > error[best]):
            best = i
    return best


@compiled
def best_partner(gram: Floats, up: int, beta: Floats, low: Floats, error: Floats) -> tuple[int, float]:
    """The document to go down whose pair step with `up` gains most, and the largest violation with `up`."""
    best, best_gain, violation = -1, 0.0, 0.0
    for j in range(beta.size):
        difference = error[up] - error[j]
        if beta[j] > low[j] and difference > 0.0:
            violation = max(violation, difference)
            curvature = max(gram[up, up] + gram[j, j] - 2.0 * gram[up, j], FLAT)
            gain = difference * difference / curvature
            if gain > best_gain:
                best, best_gain = j, gain
    return best, violation


@compiled
def optimise_pairs(
    gram: Floats, low: Floats, high: Floats, beta: Floats, error: Floats, tolerance: float, max_steps: int
) -> int:
    """Pair steps until the largest violation is at most `tolerance`; beta and error change in place.

    Input    gram q x q, box, multipliers and errors of the q documents.     Output   number of pair steps.
    Algorithm: sequential minimal optimization (Platt 1999), the pair by second order (Fan, Chen & Lin 2005).
    """
    for step in range(max_steps):
        up = steepest_upward(beta, high, error)
        if up < 0:
            return step
        down, violation = best_partner(gram, up, beta, low, error)
        if down < 0 or violation <= tolerance:
            return step
        curvature = max(gram[up, up] + gram[down, down] - 2.0 * gram[up, down], FLAT)
        room = min(high[up] - beta[up], beta[down] - low[down])
        change = (error[up] - error[down]) / curvature
        if change >= room:
            change = room
            beta[up], beta[down] = _moved(beta[up], beta[down], low[down], high[up], room)
        else:
            beta[up] += change
            beta[down] -= change
        for k in range(error.size):
            error[k] -= change * (gram[up, k] - gram[down, k])
    return max_steps


@compiled
def _moved(rising: float, falling: float, floor: float, ceiling: float, room: float) -> tuple[float, float]:
    """Both multipliers after the longest step in the box; the one that meets its bound lies on it exactly."""
    if ceiling - rising <= falling - floor:
        return ceiling, (floor if ceiling - rising == falling - floor else falling - room)
    return rising + room, floor
