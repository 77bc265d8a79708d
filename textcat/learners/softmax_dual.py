"""Softmax regression by coordinate ascent in the dual, one document at a time.

Problem:  as in `textcat.learners.softmax`, with a Gaussian prior on all weights:
          minimise (1/n) sum_i c_i [log sum_k exp(f_k(i)) - f_y(i)] + lam * sum of squared weights.
Dual:     maximise (1/n) sum_i c_i H(m_i) - lam * sum of squared weights over distributions m_i on the categories,
          where H is the entropy and the weights are sum_i (c_i / (2 lam n)) x_i (y_i - m_i).
Outputs:  weights, passes; the duality gap of the caller's certificate bounds the distance to the optimum.
Paper:    Yu, Huang & Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models",
          Machine Learning 85, 2011: the dual and the order of documents; the step is a Newton step in log m_i.

Algorithm: at the optimum log m_ik = f_k(i) - const. For one document, with s its scores, q = c_i |x_i|^2 / (2 lam n)
and d the change of m_i, the part of the dual that changes is H(m_i + d) + s.d - q |d|^2 / 2. Its optimum solves
log m + q d = s - const, of which one Newton step in log m is taken, then m is normalised. A step that lowers the dual
is halved. Documents come in a random order of a fixed seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from textcat.compile import compile_kernel
from textcat.learners.checks import Bools, Features, Floats
from textcat.linear.lane_math import exponential

# Probabilities start this far from the labels, because the logarithm of 0 is not finite.
START_SHARE = 0.1
MAX_HALVINGS = 40
BOUNDED_ATTEMPTS = 4
# Documents times categories up to which distributions and their logarithms are kept: 0.8 GB.
LARGEST_DUAL = 50_000_000
# The gap is measured once a pass gains less than this share of the gap that is wanted.
GAIN_SHARE = 0.5


@dataclass(frozen=True)
class DualResult:
    """Weights, features and constant by categories, their duality gap, and the passes over the documents.

    converged: the gap is at most what was asked for.
    """

    weights: Floats
    gap: float
    passes: int
    converged: bool


def ascend_softmax_dual(
    X: Features, Y: Bools, lam: float, bias: float, weights: Floats | None, tol: float, max_passes: int
) -> DualResult:
    """Return weights whose duality gap is at most `tol` times min(1, objective), or after `max_passes`."""
    rows = scipy.sparse.csr_matrix(X, dtype=np.float64)
    documents, categories = Y.shape
    shares = np.ones(documents) if weights is None else np.asarray(weights, dtype=np.float64)
    total = float(shares.sum())
    labels = np.argmax(Y, axis=1).astype(np.int64)
    costs = shares / (2.0 * lam * total)
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() + bias**2
    m = np.full((documents, categories), START_SHARE / categories)
    m[np.arange(documents), labels] += 1.0 - START_SHARE
    logs = np.log(m)
    solution = np.zeros((rows.shape[1] + 1, categories))
    data = (rows.indptr, rows.indices, rows.data, labels)
    _add_documents(*data, costs, bias, m, solution)
    order, generator = np.arange(documents), np.random.default_rng(0)
    scratch = np.zeros((4, categories))
    passes = 0
    while passes < max_passes:
        passes += 1
        generator.shuffle(order)
        gain = _run_pass(*data, order, costs, squares, bias, m, logs, solution, scratch) / total
        if gain <= GAIN_SHARE * tol:
            gap, objective = _measure(*data, shares, bias, m, logs, solution, lam, scratch[0])
            if gap <= tol * min(1.0, objective):
                break
    # Recompute sums that were updated step by step, so that the gap belongs to exactly these weights.
    solution[:] = 0.0
    _add_documents(*data, costs, bias, m, solution)
    gap, objective = _measure(*data, shares, bias, m, logs, solution, lam, scratch[0])
    return DualResult(solution, max(gap, 0.0), passes, gap <= tol * min(1.0, objective))


def can_ascend_dual(prior: str, penalize_bias: bool, size: int) -> bool:
    """Return whether the algorithm applies, and its memory (two numbers a document and category) is in bounds."""
    return prior == "gaussian" and penalize_bias and size <= LARGEST_DUAL


@compile_kernel
def _add_documents(
    starts: NDArray[Any], columns: NDArray[Any], values: Floats, labels: Any, costs: Floats, bias: float, m: Floats,
    solution: Floats,
) -> None:  # fmt: skip
    """Add cost * x (y - m) of every document to the weights."""
    last = solution.shape[0] - 1
    for i in range(len(labels)):
        for place in range(starts[i], starts[i + 1] + 1):
            row = columns[place] if place < starts[i + 1] else last
            value = costs[i] * (values[place] if place < starts[i + 1] else bias)
            for k in range(m.shape[1]):
                solution[row, k] -= value * m[i, k]
            solution[row, labels[i]] += value


@compile_kernel
def _fill_scores(
    start: int, end: int, columns: NDArray[Any], values: Floats, bias: float, solution: Floats, scores: Floats
) -> None:
    """Write the scores of one document."""
    last = solution.shape[0] - 1
    for k in range(len(scores)):
        scores[k] = bias * solution[last, k]
    for place in range(start, end):
        value, row = values[place], columns[place]
        for k in range(len(scores)):
            scores[k] += value * solution[row, k]


@compile_kernel
def _run_pass(
    starts: NDArray[Any], columns: NDArray[Any], values: Floats, labels: Any, order: Any, costs: Floats,
    squares: Floats, bias: float, m: Floats, logs: Floats, solution: Floats, scratch: Floats,
) -> float:  # fmt: skip
    """Take one step for each document, in order; return the gain of the dual, times the sum of weights."""
    categories, last = m.shape[1], solution.shape[0] - 1
    scores, step, new, new_logs = scratch[0], scratch[1], scratch[2], scratch[3]
    gained = 0.0
    for i in order:
        _fill_scores(starts[i], starts[i + 1], columns, values, bias, solution, scores)
        stiffness = costs[i] * squares[i]
        old, old_logs = m[i], logs[i]
        weight, offset = 0.0, 0.0
        for k in range(categories):
            curved = old[k] / (1.0 + stiffness * old[k])
            weight += curved
            offset += curved * (scores[k] - old_logs[k])
        offset /= weight
        gain = -1.0
        for attempt in range(MAX_HALVINGS + 1):
            _fill_step(scores, old, old_logs, offset, stiffness, attempt, step)
            gain = _try_step(old, old_logs, scores, step, stiffness, new, new_logs)
            if gain > 0.0:
                break
        if gain <= 0.0:
            continue
        gained += gain * costs[i]
        for place in range(starts[i], starts[i + 1] + 1):
            row = columns[place] if place < starts[i + 1] else last
            value = costs[i] * (values[place] if place < starts[i + 1] else bias)
            for k in range(categories):
                solution[row, k] -= value * (new[k] - old[k])
        for k in range(categories):
            old[k], old_logs[k] = new[k], new_logs[k]
    return gained


@compile_kernel
def _fill_step(
    scores: Floats, old: Floats, old_logs: Floats, offset: float, stiffness: float, attempt: int, step: Floats
) -> None:
    """Write the Newton step of the logarithms; steps that are tried later are shorter.

    The first steps are bounded one by one, which is quicker but need not raise the dual however short they are.
    """
    bounded = attempt < BOUNDED_ATTEMPTS
    share = 0.5 ** (attempt if bounded else attempt - BOUNDED_ATTEMPTS)
    for k in range(len(step)):
        residual = scores[k] - old_logs[k] - offset
        change = residual / (1.0 + stiffness * old[k])
        if bounded and change > 1.0:
            # The root of log m + stiffness * m, whose slope falls with log m, is not beyond this.
            change = min(change, np.log1p(residual / (stiffness * old[k])))
        step[k] = share * change


@compile_kernel
def _try_step(
    old: Floats,
    old_logs: Floats,
    scores: Floats,
    step: Floats,
    stiffness: float,
    new: Floats,
    new_logs: Floats,
) -> float:
    """Write the normalised distribution after a step in its logarithm; return the gain of the document's dual."""
    highest = old_logs[0] + step[0]
    for k in range(len(old)):
        highest = max(highest, old_logs[k] + step[k])
    for k in range(len(old)):
        new_logs[k] = old_logs[k] + step[k] - highest
        new[k] = exponential(new_logs[k])
    total = 0.0
    for k in range(len(old)):
        total += new[k]
    shift, inverse = np.log(total), 1.0 / total
    gain = 0.0
    for k in range(len(old)):
        new_logs[k] -= shift
        new[k] *= inverse
        change = new[k] - old[k]
        gain += old[k] * old_logs[k] - new[k] * new_logs[k] + change * (scores[k] - 0.5 * stiffness * change)
    return gain


@compile_kernel
def _measure(
    starts: NDArray[Any], columns: NDArray[Any], values: Floats, labels: Any, shares: Floats, bias: float, m: Floats,
    logs: Floats, solution: Floats, lam: float, scores: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Return duality gap and objective: the gap is the weighted mean divergence of m from the softmax of scores."""
    gap, loss, total = 0.0, 0.0, 0.0
    for i in range(len(labels)):
        _fill_scores(starts[i], starts[i + 1], columns, values, bias, solution, scores)
        highest = scores.max()
        mass, inner = 0.0, 0.0
        for k in range(len(scores)):
            mass += exponential(scores[k] - highest)
            inner += m[i, k] * (logs[i, k] - scores[k])
        normaliser = highest + np.log(mass)
        gap += shares[i] * (inner + normaliser)
        loss += shares[i] * (normaliser - scores[labels[i]])
        total += shares[i]
    penalty = 0.0
    for row in range(solution.shape[0]):
        for k in range(solution.shape[1]):
            penalty += solution[row, k] ** 2
    return gap / total, loss / total + lam * penalty
