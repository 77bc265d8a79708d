"""The SVM with an explicit, unpenalised threshold (zhang_oles_2001, equations 7 and 8), by SMO to optimality.

Problem  min over w, theta of (1/n) sum_i max(0, 1 - y_i (w.x_i - theta)) + lam |w|^2, one per category.
    Input    X documents x features (sparse or dense); Y bool documents x categories; lam > 0;
             mask features x categories: the features a category may use; tol: relative duality gap to reach.
    Output   coef = w, intercept = -theta, and a certificate for each category; its `passes` are pair steps.
    Dual     max sum_i alpha_i - |w|^2 / 2 with w = sum_i alpha_i y_i x_i, 0 <= alpha_i <= C = 1 / (2 lam n)
             and sum_i alpha_i y_i = 0; times 2 lam it equals the primal at the optimum.

Multipliers keep their sign, beta_i = y_i alpha_i, each in a box [low_i, high_i] that contains 0, so that
w = sum_i beta_i x_i, the dual objective is sum_i y_i beta_i - |w|^2 / 2, and all beta_i sum to 0. The error
of a document is y_i - w.x_i. The multipliers are optimal when no document that can go up (beta < high) has a
larger error than one that can go down (beta > low).

Algorithm: sequential minimal optimization (Platt, chapter 12 of the book that the paper cites), in
`optimise_pairs`. Pairs are chosen among active documents, whose Gram matrix is stored. Each round adds the
documents that violate optimality most under the current w, until none does (Osuna's chunking around SMO).
Documents that never come near the margin therefore never cost a kernel row.

Ties between documents are broken by document order. If an interval of thresholds is optimal, its middle is used, or its
finite end.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textcat.compile import compile_kernel, compile_part
from textcat.learners.checks import Bools, Floats, as_documents, as_labels, as_mask, require_positive
from textcat.linear.certificate import Certificate
from textcat.linear.model import LinearModel

Integers = NDArray[np.int64]

CsrArrays = tuple[Integers, Integers, Floats]  # row starts, features, values

MIN_PAIR_CURVATURE = 1e-12  # curvature below which two documents count as the same point
INNER_SHARE = 0.1  # a round ends when pair steps have reduced the largest violation to this share


@compile_kernel
def compute_outputs(
    indptr: Integers, indices: Integers, data: Floats, weights: Floats, result: Floats
) -> None:
    """Write w.x_i for every document."""
    for i in range(result.size):
        total = 0.0
        for position in range(indptr[i], indptr[i + 1]):
            total += data[position] * weights[indices[position]]
        result[i] = total


@compile_kernel
def add_documents(
    indptr: Integers,
    indices: Integers,
    data: Floats,
    kept: Floats,
    rows: Integers,
    steps: Floats,
    weights: Floats,
) -> None:
    """Add the sum of steps_r x_r over the rows to w, on the kept features only."""
    for r in range(rows.size):
        if steps[r] != 0.0:
            for position in range(indptr[rows[r]], indptr[rows[r] + 1]):
                j = indices[position]
                weights[j] += steps[r] * data[position] * kept[j]


@compile_part
def _build_postings(
    indptr: Integers, indices: Integers, data: Floats, kept: Floats, rows: Integers, starts: Integers,
    holders: Integers, values: Floats,
) -> None:  # fmt: skip
    """Write the kept part of the rows by feature: entry starts, which are 0 before, row positions, values."""
    for row in rows:
        for position in range(indptr[row], indptr[row + 1]):
            if kept[indices[position]] != 0.0:
                starts[indices[position] + 2] += 1
    for j in range(1, starts.size):
        starts[j] += starts[j - 1]
    for a in range(rows.size):
        for position in range(indptr[rows[a]], indptr[rows[a] + 1]):
            j = indices[position]
            if kept[j] != 0.0:
                holders[starts[j + 1]] = a
                values[starts[j + 1]] = data[position]
                starts[j + 1] += 1


@compile_kernel
def _fill_gram_matrix(
    indptr: Integers, indices: Integers, data: Floats, kept: Floats, rows: Integers, known: int, gram: Floats,
    starts: Integers, holders: Integers, values: Floats,
) -> None:  # fmt: skip
    """Fill the Gram matrix with the postings of the rows, for which there is space in the last three arrays.

    Slices are written as loops: numba compiles them in a third of the time.
    """
    _build_postings(indptr, indices, data, kept, rows, starts, holders, values)
    for a in range(known, rows.size):
        for b in range(rows.size):
            gram[a, b] = 0.0
        for position in range(indptr[rows[a]], indptr[rows[a] + 1]):
            j = indices[position]
            for entry in range(starts[j], starts[j + 1]):
                gram[a, holders[entry]] += data[position] * values[entry]
        for b in range(a):
            gram[b, a] = gram[a, b]


def fill_gram_matrix(arrays: CsrArrays, kept: Floats, rows: Integers, known: int, gram: Floats) -> None:
    """Fill the Gram matrix of `rows` on the kept features; its first `known` rows and columns are filled.

    Uses postings (for each feature the rows that contain it), so only common features cost time.
    """
    indptr = arrays[0]
    entries = int((indptr[rows + 1] - indptr[rows]).sum())
    starts = np.zeros(kept.size + 2, np.int64)
    space = np.empty(entries, np.int64), np.empty(entries)
    _fill_gram_matrix(*arrays, kept, rows, known, gram, starts, *space)


@compile_part
def find_steepest_upward(beta: Floats, high: Floats, error: Floats) -> int:
    """Return the document with the largest error among those that can go up, or -1."""
    best = -1
    for i in range(beta.size):
        if beta[i] < high[i] and (best < 0 or error[i] > error[best]):
            best = i
    return best


@compile_part
def find_best_partner(gram: Floats, up: int, beta: Floats, low: Floats, error: Floats) -> tuple[int, float]:
    """Return the document whose pair step with `up` gains most (-1: none), and the largest violation."""
    best, best_gain, violation = -1, 0.0, 0.0
    for j in range(beta.size):
        difference = error[up] - error[j]
        if beta[j] > low[j] and difference > 0.0:
            violation = max(violation, difference)
            curvature = max(gram[up, up] + gram[j, j] - 2.0 * gram[up, j], MIN_PAIR_CURVATURE)
            gain = difference * difference / curvature
            if gain > best_gain:
                best, best_gain = j, gain
    return best, violation


@compile_kernel
def optimise_pairs(
    gram: Floats, low: Floats, high: Floats, beta: Floats, error: Floats, tolerance: float, max_steps: int
) -> int:
    """Optimise pairs until the largest violation is at most `tolerance`; return the number of pair steps.

    Input    gram (its first q rows and columns), box, multipliers and errors of the q documents; beta and error
             change in place.
    Algorithm: sequential minimal optimization (Platt 1999), pairs by second order (Fan, Chen & Lin 2005).
    """
    for step in range(max_steps):
        up = find_steepest_upward(beta, high, error)
        if up < 0:
            return step
        down, violation = find_best_partner(gram, up, beta, low, error)
        if down < 0 or violation <= tolerance:
            return step
        curvature = max(gram[up, up] + gram[down, down] - 2.0 * gram[up, down], MIN_PAIR_CURVATURE)
        room = min(high[up] - beta[up], beta[down] - low[down])
        change = (error[up] - error[down]) / curvature
        if change >= room:
            change = room
            beta[up], beta[down] = _move_pair(beta[up], beta[down], low[down], high[up], room)
        else:
            beta[up] += change
            beta[down] -= change
        for k in range(error.size):
            error[k] -= change * (gram[up, k] - gram[down, k])
    return max_steps


@compile_part
def _move_pair(
    rising: float, falling: float, floor: float, ceiling: float, room: float
) -> tuple[float, float]:
    """Return both multipliers after the longest step in the box; the one at its bound is exact."""
    if ceiling - rising <= falling - floor:
        return ceiling, (floor if ceiling - rising == falling - floor else falling - room)
    return rising + room, floor


class SmoSettings(NamedTuple):
    """Settings of the solution (lam, tol) and of the work (batch, capacity, max_rounds)."""

    lam: float
    tol: float
    batch: int
    capacity: int
    max_rounds: int


def fit_svm(
    X: Any,
    Y: ArrayLike,
    lam: float = 1e-3,
    mask: ArrayLike | None = None,
    *,
    tol: float = 1e-5,
    batch: int = 100,
    capacity: int = 3000,
    max_rounds: int = 1000,
    n_jobs: int = 1,
) -> LinearModel:
    """Train one SVM with a free threshold per category; the result does not depend on n_jobs.

    batch: documents of each side that a round adds. capacity: number of active documents above which those
    with a multiplier at a bound are dropped (Gram memory is 8 capacity^2 bytes, more only when more
    multipliers are free). max_rounds: rounds per category, each with one pass over the documents. With batch
    and capacity at the number of documents this is SMO on the whole Gram matrix, as first published.
    """
    require_positive(lam=lam, tol=tol, batch=batch)
    documents = as_documents(X)
    labels = as_labels(Y, documents.shape[0])
    selected = as_mask(mask, documents.shape[1], labels.shape[1])
    arrays = documents.indptr.astype(np.int64), documents.indices.astype(np.int64), documents.data
    settings = SmoSettings(lam, tol, batch, capacity, max_rounds)
    from joblib import Parallel, delayed  # noqa: PLC0415 - takes long to import

    solved = Parallel(n_jobs=n_jobs, backend="threading")(
        delayed(_solve_category)(arrays, labels[:, k], selected[:, k], settings)
        for k in range(labels.shape[1])
    )
    coef = np.stack([weights for weights, _, _ in solved], axis=1)
    intercept = np.array([intercept for _, intercept, _ in solved])
    certificate = [entry for _, _, entry in solved]
    return LinearModel(coef, intercept, certificate, {"lam": lam, "tol": tol}, kind="svm-smo")


def _solve_category(
    arrays: CsrArrays, labels: Bools, selected: Bools, settings: SmoSettings
) -> tuple[Floats, float, Certificate]:
    began = perf_counter()
    state = _SmoState(arrays, labels, selected, settings)
    reason = "most rounds allowed"
    for _ in range(settings.max_rounds):
        if state.gap() <= settings.tol * state.objective():
            reason = "gap reached"
            break
        if not state.improve():
            reason = "no pair improves"
            break
    state.refresh(exactly=True)
    seconds = perf_counter() - began
    entry = Certificate(state.objective(), None, state.gap(), state.pair_steps, seconds, reason)
    return state.weights, state.find_best_intercept(), entry


class _SmoState:
    """Multipliers, weights and errors of one category between rounds."""

    def __init__(self, arrays: CsrArrays, labels: Bools, selected: Bools, settings: SmoSettings) -> None:
        self.settings = settings
        self.arrays = arrays
        self.sign: Floats = np.where(labels, 1.0, -1.0)
        self.kept: Floats = selected.astype(np.float64)
        self.limit = 1.0 / (2.0 * settings.lam * labels.size)
        self.low, self.high = np.minimum(0.0, self.sign * self.limit), np.maximum(0.0, self.sign * self.limit)
        self.beta: Floats = np.zeros(labels.size)
        self.weights: Floats = np.zeros(selected.size)
        self.output: Floats = np.zeros(labels.size)
        self.active: Integers = np.empty(0, np.int64)
        self.gram: Floats = np.empty((0, 0))
        self.pair_steps = 0

    def refresh(self, *, exactly: bool = False) -> None:
        """Compute outputs from the weights; with `exactly`, first the weights from the multipliers."""
        if exactly:
            self.weights[:] = 0.0
            support = np.flatnonzero(self.beta)
            add_documents(*self.arrays, self.kept, support, self.beta[support], self.weights)
        compute_outputs(*self.arrays, self.weights, self.output)

    def find_best_intercept(self) -> float:
        """Return the intercept with the least hinge loss under the current weights.

        The loss is convex and piecewise linear with a breakpoint y_i - w.x_i for each document. Its slope
        starts at minus the number of positives and gains 1 at each, so two order statistics enclose the
        minimum.
        """
        breakpoints = self.sign - self.output
        positives = int(np.count_nonzero(self.sign > 0))
        if positives == 0:
            return float(breakpoints.min())
        if positives == breakpoints.size:
            return float(breakpoints.max())
        ordered = np.partition(breakpoints, [positives - 1, positives])
        return float((ordered[positives - 1] + ordered[positives]) / 2.0)

    def objective(self) -> float:
        """Return the primal objective at the best intercept."""
        margins = self.sign * (self.output + self.find_best_intercept())
        loss = float(np.maximum(0.0, 1.0 - margins).mean())
        return loss + self.settings.lam * self._compute_squared_norm()

    def gap(self) -> float:
        """Return the primal objective minus the dual, at least 0 despite rounding."""
        dual = float(np.abs(self.beta).sum()) - self._compute_squared_norm() / 2.0
        return max(0.0, self.objective() - 2.0 * self.settings.lam * dual)

    def _compute_squared_norm(self) -> float:
        # Not a BLAS product: its threads cost more than they save, and their number changes the last digit.
        return float(np.square(self.weights).sum())

    def improve(self) -> bool:
        """Run one round: add the worst violators, optimise pairs, update weights and outputs."""
        error = self.sign - self.output
        rising, falling = self.beta < self.high, self.beta > self.low
        if not (rising.any() and falling.any()):
            return False
        highest, lowest = error[rising].max(), error[falling].min()
        if highest <= lowest:
            return False
        rises, falls = np.flatnonzero(rising & (error > lowest)), np.flatnonzero(falling & (error < highest))
        self._activate_violators(error, rises, falls)
        return self._optimise(error, INNER_SHARE * float(highest - lowest))

    def _activate_violators(self, error: Floats, rising: Integers, falling: Integers) -> None:
        """Add the worst `batch` documents of either side to the active ones, and their Gram rows."""
        batch = self.settings.batch
        highest = rising[np.argsort(-error[rising], kind="stable")[:batch]]
        lowest = falling[np.argsort(error[falling], kind="stable")[:batch]]
        worst = np.concatenate([highest, lowest])
        if self.active.size + worst.size > self.settings.capacity:
            self._drop_inactive(worst)
        fresh = np.setdiff1d(worst, self.active)
        known = self.active.size
        self.active = np.concatenate([self.active, fresh])
        if self.active.size > self.gram.shape[0]:
            room = max(self.active.size, min(2 * self.active.size, self.settings.capacity))
            grown = np.empty((room, room))
            grown[:known, :known] = self.gram[:known, :known]
            self.gram = grown
        fill_gram_matrix(self.arrays, self.kept, self.active, known, self.gram)

    def _drop_inactive(self, worst: Integers) -> None:
        """Keep only the documents with a free multiplier and the worst violators active."""
        beta = self.beta[self.active]
        free = (beta > self.low[self.active]) & (beta < self.high[self.active])
        staying = np.flatnonzero(free | np.isin(self.active, worst))
        self.gram = self.gram[np.ix_(staying, staying)]
        self.active = self.active[staying]

    def _optimise(self, error: Floats, tolerance: float) -> bool:
        rows, size = self.active, self.active.size
        beta = self.beta[rows]
        low, high, limit = self.low[rows], self.high[rows], 10_000 + 100 * size
        steps = optimise_pairs(self.gram, low, high, beta, error[rows], tolerance, limit)
        self.pair_steps += steps
        add_documents(*self.arrays, self.kept, rows, beta - self.beta[rows], self.weights)
        self.beta[rows] = beta
        self.refresh()
        return bool(steps > 0)
