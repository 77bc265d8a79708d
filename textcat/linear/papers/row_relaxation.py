"""Dual row relaxation: one dual variable at a time, a block of categories in lanes (zhang_oles_2001, algorithm 5).

Problem: min over w of (1/n) sum_i c_i f(w.x_i y_i) + lam w^2 through its dual (equation 16), for each lane
min over v of sum_i c_i k(v_i) + (1 / (4 lam n)) |sum_i c_i v_i y_i x_i|^2, for every loss with a conjugate:
hinge (the modified SVM), squared hinge, squared, logistic, modified logistic. The constant is penalized like
any weight, so the dual has no equality constraint. Input: a LinearProblem, RowOptions. Output: weights,
dual variables and certificates of a block of categories.

The kernels read X by rows, an order of documents, dual variables v (n x L), weights (d x L), and for each
document and lane the stiffness q = c_i x_i^2 / (2 lam n) over the selected features. They keep
w = -(1 / (2 lam n)) sum_i c_i v_i y_i x_i up to date (equation 17). The algorithm is written with the margin
r = y w.x, so that v.x y in the paper is -2 lam n r.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel
from textcat.linear.algorithm_options import REFRESH_PASSES, RowOptions
from textcat.linear.certificate import apply_document_weights, measure, scores_of, signs_of
from textcat.linear.losses import HINGE, LOGISTIC, LOSS_CODES, SQUARED_HINGE
from textcat.linear.problem import Floats, LinearProblem, pad_to_lanes
from textcat.linear.products import accumulate_row_product, multiply_transposed
from textcat.linear.stopping import BlockResult, Progress

Array = Any

MAX_NEWTON_STEPS = 100


@compile_kernel
def find_logistic_root(margin: float, stiffness: float, a: float, sharpness: float, target: float) -> float:
    """Return the new a = -v of a (modified) logistic loss, by Newton's method kept inside a bracket.

    With t = ln(a' / (1 - a')), the equation below (16) reads t / g + r - m + q (a' - a) = 0; its left
    side grows with t, by at least 1 / g, and changes sign between the two ends where a' is 0 or 1.
    """
    low = sharpness * (target - margin - stiffness * (1.0 - a))
    high = sharpness * (target - margin + stiffness * a)
    t = math.log(a / (1.0 - a)) if 0.0 < a < 1.0 else (low + high) / 2
    t = min(max(t, low), high)
    new = a
    for _ in range(MAX_NEWTON_STEPS):
        small = math.exp(-abs(t))
        new = 1.0 / (1.0 + small) if t > 0 else small / (1.0 + small)
        excess = t / sharpness + margin - target + stiffness * (new - a)
        if excess > 0:
            high = t
        else:
            low = t
        step = excess / (1.0 / sharpness + stiffness * (small / ((1.0 + small) * (1.0 + small))))
        if abs(step) <= 1e-12 * (1.0 + abs(t)) or high - low <= 1e-15 * (1.0 + abs(t)):
            break
        t = t - step if low < t - step < high else (low + high) / 2
    return new


@compile_kernel
def compute_hinge_step(margin: Array, stiffness: Array, dual: Array, eta: Any, one: Any, step: Array) -> None:
    """Compute the steps of equation 18, the modified SVM: the new v = -a stays within -1 and 0."""
    for k in range(step.shape[0]):
        v, q = dual[k], stiffness[k]
        ask = eta * (one - margin[k]) / q if q > 0 else one
        step[k] = -max(v, min(one + v, ask))


@compile_kernel
def compute_squared_step(
    margin: Array, stiffness: Array, dual: Array, eta: Any, one: Any, bounded: bool, step: Array
) -> None:
    """Compute the steps of modified least squares (below equation 18); without its bound, of least squares."""
    two = one + one
    for k in range(step.shape[0]):
        v = dual[k]
        change = -eta * (two + v - two * margin[k]) / (one + two * stiffness[k])
        step[k] = min(-v, change) if bounded else change


@compile_kernel
def compute_logistic_step(
    margin: Array, stiffness: Array, dual: Array, eta: Any, sharpness: float, target: float, active: Array,
    step: Array,
) -> None:  # fmt: skip
    """Compute the steps to the root of the logistic equation, within -1 and 0."""
    for k in range(step.shape[0]):
        v = dual[k]
        if active[k] == 0:
            step[k] = 0
            continue
        change = -eta * (find_logistic_root(margin[k], stiffness[k], -v, sharpness, target) + v)
        step[k] = min(max(v + change, -1.0), 0.0) - v


@compile_kernel
def take_dual_step(
    loss: int, margin: Array, stiffness: Array, dual: Array, sharpness: float, target: float, eta: Any,
    one: Any, active: Array, step: Array,
) -> bool:  # fmt: skip
    """Change a document's dual variable in each lane; did any move?"""
    if loss == HINGE:
        compute_hinge_step(margin, stiffness, dual, eta, one, step)
    elif loss == LOGISTIC:
        compute_logistic_step(margin, stiffness, dual, eta, sharpness, target, active, step)
    else:
        compute_squared_step(margin, stiffness, dual, eta, one, loss == SQUARED_HINGE, step)
    moved = False
    for k in range(step.shape[0]):
        step[k] *= active[k]
        dual[k] += step[k]
        moved |= step[k] != 0
    return moved


@compile_kernel
def add_document(
    columns: Array,
    values: Array,
    start: int,
    stop: int,
    free: Array,
    masked: bool,
    shift: Array,
    weight: Array,
) -> None:
    """Add a multiple of one document to the weights of each lane, on its selected features."""
    zero = shift.dtype.type(0)
    for t in range(start, stop):
        a, x = columns[t], values[t]
        if masked:
            for k in range(shift.shape[0]):
                weight[a, k] += x * (shift[k] if free[a, k] else zero)
        else:
            for k in range(shift.shape[0]):
                weight[a, k] += x * shift[k]


@compile_kernel
def run_row_pass(
    starts: Array, columns: Array, values: Array, order: Array, weight: Array, free: Array, masked: bool,
    dual: Array, stiffness: Array, pull: Array, signs: Array, loss: int, sharpness: float, target: float,
    eta: Any, one: Any, active: Array,
) -> None:  # fmt: skip
    """Visit every document once; `pull` is c_i / (2 lam n)."""
    lanes = weight.shape[1]
    margin, step = np.empty(lanes, weight.dtype), np.empty(lanes, weight.dtype)
    for i in order:
        start, stop = starts[i], starts[i + 1]
        accumulate_row_product(columns, values, start, stop, weight, margin)
        for k in range(lanes):
            margin[k] *= signs[i, k]
        if not take_dual_step(loss, margin, stiffness[i], dual[i], sharpness, target, eta, one, active, step):
            continue
        for k in range(lanes):
            step[k] *= -(signs[i, k] * pull[i, k])
        add_document(columns, values, start, stop, free, masked, step, weight)


@dataclass
class RowLanes:
    """The arrays of a block, one lane a category, padded to a whole number of vectors."""

    weight: NDArray[Any]
    free: NDArray[Any]
    dual: NDArray[Any]
    stiffness: NDArray[Any]
    pull: NDArray[Any]
    signs: NDArray[Any]
    active: NDArray[Any]


def prepare_row_lanes(problem: LinearProblem, block: slice, options: RowOptions, dual: Floats) -> RowLanes:
    """Lay a block out in lanes; idle lanes never move."""
    dtype, n = np.dtype(options.precision), problem.documents
    scale = 1.0 / (2 * problem.penalty.strength[0, block] * n)
    pull = np.broadcast_to(apply_document_weights(problem, block, np.ones(dual.shape)) * scale, dual.shape)
    squares = problem.rows.multiply(problem.rows).tocsr()
    free = problem.free(block).astype(np.float64)
    return RowLanes(
        weight=pad_to_lanes(compute_weights_from_dual(problem, block, dual), dtype),
        free=pad_to_lanes(problem.free(block), np.bool_),
        dual=pad_to_lanes(dual, dtype),
        stiffness=pad_to_lanes(pull * (squares @ free), dtype),
        pull=pad_to_lanes(pull, dtype),
        signs=pad_to_lanes(signs_of(problem, block), dtype),
        active=pad_to_lanes(np.ones((1, dual.shape[1])), dtype)[0],
    )


def compute_weights_from_dual(problem: LinearProblem, block: slice, dual: Floats) -> Floats:
    """Return the weights of equation 17: w = -(1 / (2 lam n)) sum_i c_i v_i y_i x_i on the selected features."""
    scale = -1.0 / (2 * problem.penalty.strength[0, block] * problem.documents)
    pulled = multiply_transposed(
        problem.columns, apply_document_weights(problem, block, dual) * signs_of(problem, block)
    )
    return np.asarray(pulled * problem.free(block) * scale)


def iterate_orders(problem: LinearProblem, block: slice, options: RowOptions) -> Iterator[NDArray[np.int64]]:
    """Yield the order of documents for each pass."""
    n = problem.documents
    generator = np.random.default_rng(options.seed)
    order = np.arange(n)
    if options.order == "random":
        order = generator.permutation(n)
    elif options.order == "grouped":
        order = np.argsort(~problem.positive[:, block.start], kind="stable")
    while True:
        yield generator.permutation(n) if options.order == "shuffled" else order


def solve_block(problem: LinearProblem, block: slice, options: RowOptions, start: Floats) -> BlockResult:
    """Relax one block of categories from a dual point until its stopping rule holds for each of them."""
    began = time.perf_counter()
    width = start.shape[1]
    lanes = prepare_row_lanes(problem, block, options, start)
    progress = Progress(options.stop, options.tol, options.max_passes, width)

    def dual() -> Floats:
        return lanes.dual[:, :width].astype(np.float64)

    def scores() -> Floats:
        return scores_of(problem, lanes.weight[:, :width].astype(np.float64))

    def measured() -> Any:
        return measure(problem, block, compute_weights_from_dual(problem, block, dual()), dual())

    progress.begin(scores(), measured)
    sequence, sweep = iterate_orders(problem, block, options), _bind_pass(problem, lanes, options)
    while progress.running.any():
        sweep(next(sequence))
        if (progress.passes + 1) % REFRESH_PASSES[options.precision] == 0:
            lanes.weight[:, :width] = compute_weights_from_dual(problem, block, dual())
        progress.end_pass(scores, measured)
        lanes.active[:width] = progress.running
    certificates = progress.certificates(measured(), began)
    return BlockResult(compute_weights_from_dual(problem, block, dual()), certificates, dual())


def _bind_pass(
    problem: LinearProblem, lanes: RowLanes, options: RowOptions
) -> Callable[[NDArray[np.int64]], None]:
    """Return one pass as a function of the order of documents."""
    rows, loss = problem.rows, problem.loss
    starts, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.uint32)
    values, one = rows.data.astype(lanes.weight.dtype), lanes.weight.dtype.type(1)

    def sweep(order: NDArray[np.int64]) -> None:
        run_row_pass(
            starts, columns, values, order, lanes.weight, lanes.free, problem.mask is not None, lanes.dual,
            lanes.stiffness, lanes.pull, lanes.signs, LOSS_CODES[loss.name], loss.gamma, loss.target,
            one.dtype.type(options.eta), one, lanes.active,
        )  # fmt: skip

    return sweep
