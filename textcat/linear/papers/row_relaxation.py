"""Dual row relaxation: one dual variable at a time, a block of categories in lanes (zhang_oles_2001, algorithm 5).

Problem: min over w of (1/n) sum_i c_i f(w.x_i y_i) + lam w^2 through its dual (equation 16), for each lane
min over v of sum_i c_i k(v_i) + (1 / (4 lam n)) |sum_i c_i v_i y_i x_i|^2, for every loss with a conjugate:
hinge (the modified SVM), squared hinge, squared, logistic, modified logistic. The constant is penalized like
any weight, so the dual has no equality constraint. Input: a LinearProblem, RowOptions. Output: weights,
dual variables and certificates of a block of categories.

The kernels read X by rows, an order of documents, dual variables v (n x 16), weights (d x 16), and for each
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

from textcat.compile import compile_kernel, compile_part
from textcat.linear.algorithm_options import REFRESH_PASSES, RowOptions
from textcat.linear.certificate import (
    BlockResult,
    Progress,
    apply_document_weights,
    measure,
    scores_of,
    signs_of,
)
from textcat.linear.losses import HINGE, LOGISTIC, LOSS_CODES, SQUARED_HINGE
from textcat.linear.problem import Floats, LinearProblem, join_lanes, mark_lanes, split_into_lanes
from textcat.linear.products import multiply_transposed
from textcat.linear.simd import any_differs, choose_less, choose_marked, entry, load, prefetch, splat, store

Array = Any

MAX_NEWTON_STEPS = 100


@compile_part
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


@compile_part
def compute_hinge_step(margin: Any, stiffness: Any, dual: Any, eta: float) -> Any:
    """Return the steps of equation 18, the modified SVM: the new v = -a stays within -1 and 0."""
    zero, one = splat(dual, 0.0), splat(dual, 1.0)
    ask = choose_less(zero, stiffness, splat(dual, eta) * (one - margin) / stiffness, one)
    most = one + dual
    step = choose_less(ask, most, ask, most)
    return zero - choose_less(dual, step, step, dual)


@compile_part
def compute_squared_step(margin: Any, stiffness: Any, dual: Any, eta: float, bounded: bool) -> Any:
    """Return the steps of modified least squares (below equation 18); without its bound, of least squares."""
    one, two, zero = splat(dual, 1.0), splat(dual, 2.0), splat(dual, 0.0)
    change = (zero - splat(dual, eta)) * (two + dual - two * margin) / (one + two * stiffness)
    farthest = zero - dual
    return choose_less(farthest, change, farthest, change) if bounded else change


@compile_part
def compute_logistic_steps(
    margin: Array, stiffness: Array, dual: Array, eta: float, sharpness: float, target: float, active: Array,
    step: Array,
) -> None:  # fmt: skip
    """Compute the steps to the root of the logistic equation, within -1 and 0."""
    for k in range(step.shape[1]):
        v = dual[k]
        step[0, k] = 0
        if active[0, k] != 0:
            root = find_logistic_root(margin[0, k], stiffness[k], -v, sharpness, target)
            step[0, k] = min(max(v - eta * (root + v), -1.0), 0.0) - v


@compile_part
def multiply_document(columns: Array, values: Array, start: int, stop: int, weight: Array) -> Any:
    """Return the scores of a document, four nonzeros at a time, in the order of `accumulate_row_product`."""
    total, t = splat(weight, 0.0), start
    while t + 4 <= stop:
        p, q = splat(weight, entry(values, t)), splat(weight, entry(values, t + 1))
        r, s = splat(weight, entry(values, t + 2)), splat(weight, entry(values, t + 3))
        first = p * load(weight, entry(columns, t)) + q * load(weight, entry(columns, t + 1))
        total = total + (
            first + (r * load(weight, entry(columns, t + 2)) + s * load(weight, entry(columns, t + 3)))
        )
        t += 4
    while t < stop:
        total = total + splat(weight, entry(values, t)) * load(weight, entry(columns, t))
        t += 1
    return total


@compile_part
def add_document(
    columns: Array, values: Array, start: int, stop: int, free: Array, masked: bool, shift: Any, weight: Array
) -> None:
    """Add a multiple of one document to the weights of each lane, on its selected features."""
    for t in range(start, stop):
        j = entry(columns, t)
        before = load(weight, j)
        after = before + splat(weight, entry(values, t)) * shift
        store(weight, j, choose_marked(entry(free, j), after, before) if masked else after)


@compile_part
def prefetch_document(
    starts: Array, columns: Array, values: Array, i: int, dual: Array, stiffness: Array, pull: Array
) -> None:
    """Prefetch what is read of a document: in a random order the processor cannot guess which one follows."""
    prefetch(dual, i)
    prefetch(stiffness, i)
    prefetch(pull, i)
    for t in range(entry(starts, i), entry(starts, i + 1), 8):
        prefetch(columns, t)
        prefetch(values, t)


@compile_kernel
def run_row_pass(
    starts: Array, columns: Array, values: Array, order: Array, weight: Array, free: Array, masked: bool,
    dual: Array, stiffness: Array, pull: Array, positive: Array, loss: int, sharpness: float | None,
    target: float, eta: float, active: Array,
) -> None:  # fmt: skip
    """Visit every document once, for sixteen categories; `pull` is c_i / (2 lam n).

    `sharpness` is None for losses that are not logistic: without it numba compiles nothing of the logistic loss.
    """
    zero, moving = splat(weight, 0.0), load(active, 0)
    if sharpness is not None:
        margins, steps = np.empty_like(active), np.empty_like(active)
    for v in range(len(order)):
        i, following = entry(order, v), entry(order, min(v + 1, len(order) - 1))
        prefetch_document(starts, columns, values, following, dual, stiffness, pull)
        start, stop, before = entry(starts, i), entry(starts, i + 1), load(dual, i)
        score = multiply_document(columns, values, start, stop, weight)
        margin = choose_marked(entry(positive, i), score, zero - score)
        if sharpness is not None:
            store(margins, 0, margin)
            compute_logistic_steps(margins, stiffness[i], dual[i], eta, sharpness, target, active, steps)
            step = load(steps, 0)
        elif loss == HINGE:
            step = compute_hinge_step(margin, load(stiffness, i), before, eta)
        else:
            step = compute_squared_step(margin, load(stiffness, i), before, eta, loss == SQUARED_HINGE)
        step = step * moving
        if any_differs(step, zero):
            store(dual, i, before + step)
            shift = step * load(pull, i)
            shift = choose_marked(entry(positive, i), zero - shift, shift)
            add_document(columns, values, start, stop, free, masked, shift, weight)


@dataclass
class RowLanes:
    """The arrays of a block in groups of lanes, one lane a category; a bit a lane in `free` and `positive`."""

    weight: NDArray[Any]
    free: NDArray[np.uint16]
    dual: NDArray[Any]
    stiffness: NDArray[Any]
    pull: NDArray[Any]
    positive: NDArray[np.uint16]
    active: NDArray[Any]


def prepare_row_lanes(problem: LinearProblem, block: slice, options: RowOptions, dual: Floats) -> RowLanes:
    """Lay a block out in lanes; idle lanes never move."""
    dtype, n = np.dtype(options.precision), problem.documents
    scale = 1.0 / (2 * problem.penalty.strength[0, block] * n)
    pull = np.broadcast_to(apply_document_weights(problem, block, np.ones(dual.shape)) * scale, dual.shape)
    squares = problem.rows.multiply(problem.rows).tocsr()
    free = problem.free(block)
    return RowLanes(
        weight=split_into_lanes(compute_weights_from_dual(problem, block, dual), dtype),
        free=mark_lanes(free),
        dual=split_into_lanes(dual, dtype),
        stiffness=split_into_lanes(pull * (squares @ free.astype(np.float64)), dtype),
        pull=split_into_lanes(pull, dtype),
        positive=mark_lanes(problem.positive[:, block]),
        active=split_into_lanes(np.ones((1, dual.shape[1])), dtype),
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
        return join_lanes(lanes.dual, width).astype(np.float64)

    def scores() -> Floats:
        return scores_of(problem, join_lanes(lanes.weight, width).astype(np.float64))

    def measured() -> Any:
        return measure(problem, block, compute_weights_from_dual(problem, block, dual()), dual())

    progress.begin(scores(), measured)
    sequence, sweep = iterate_orders(problem, block, options), _bind_pass(problem, lanes, options)
    while progress.running.any():
        sweep(next(sequence))
        if (progress.passes + 1) % REFRESH_PASSES[options.precision] == 0:
            weights = compute_weights_from_dual(problem, block, dual())
            lanes.weight = split_into_lanes(weights, lanes.weight.dtype)
        progress.end_pass(scores, measured)
        lanes.active = split_into_lanes(progress.running[None], lanes.weight.dtype)
    certificates = progress.certificates(measured(), began)
    return BlockResult(compute_weights_from_dual(problem, block, dual()), certificates, dual())


def _bind_pass(
    problem: LinearProblem, lanes: RowLanes, options: RowOptions
) -> Callable[[NDArray[np.int64]], None]:
    """Return one pass as a function of the order of documents."""
    rows, loss = problem.rows, problem.loss
    starts, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.uint32)
    values = rows.data.astype(lanes.weight.dtype)
    code = LOSS_CODES[loss.name]
    sharpness = loss.gamma if code == LOGISTIC else None

    def sweep(order: NDArray[np.int64]) -> None:
        for k in np.flatnonzero(lanes.active.any(axis=(1, 2))):
            run_row_pass(
                starts, columns, values, order, lanes.weight[k], lanes.free[k], problem.mask is not None,
                lanes.dual[k], lanes.stiffness[k], lanes.pull[k], lanes.positive[k], code,
                sharpness, loss.target, values.dtype.type(options.eta), lanes.active[k],
            )  # fmt: skip

    return sweep
