"""Row relaxation: one dual variable at a time, a block of categories in lanes.

Problem: min over w of (1/n) sum_i c_i f(w.x_i y_i) + lam w^2 through its dual, for every loss with a
conjugate: hinge (the modified SVM), squared hinge, squared, logistic, modified logistic. The constant is
penalized like any weight, which is what frees the dual of its equality constraint. Input: a Problem,
options below. Output: weights, dual variables and certificates of a block of categories. Paper:
zhang_oles_2001 algorithm 5.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.linear import row_kernels as kernels
from textcat.linear.certificate import measure, scores_of, signs_of, weigh
from textcat.linear.options import RowOptions
from textcat.linear.problem import Floats, Problem, blocks_of, lanes_of
from textcat.linear.products import transposed_times
from textcat.linear.progress import BlockResult, Progress

LOSS_CODES = {
    "squared": kernels.SQUARED,
    "squared_hinge": kernels.SQUARED_HINGE,
    "hinge": kernels.HINGE,
    "logistic": kernels.LOGISTIC,
    "modified_logistic": kernels.LOGISTIC,
}
# Weights are taken afresh from the dual variables this often, so that rounding does not pile up in them.
REFRESH = {"float32": 8, "float64": 64}


@dataclass
class Lanes:
    """The arrays of a block, one lane a category, padded to a whole number of vectors."""

    weight: NDArray[Any]
    free: NDArray[Any]
    dual: NDArray[Any]
    stiffness: NDArray[Any]
    pull: NDArray[Any]
    signs: NDArray[Any]
    active: NDArray[Any]


def _padded(values: Floats, lanes: int, dtype: Any) -> NDArray[Any]:
    out = np.zeros((values.shape[0], lanes), dtype=dtype)
    out[:, : values.shape[1]] = values
    return out


def prepare(problem: Problem, block: slice, options: RowOptions, dual: Floats) -> Lanes:
    """Lay a block out in lanes; idle lanes never move."""
    lanes, dtype, n = lanes_of(dual.shape[1]), np.dtype(options.precision), problem.documents
    scale = 1.0 / (2 * problem.penalty.strength[0, block] * n)
    pull = np.broadcast_to(weigh(problem, block, np.ones(dual.shape)) * scale, dual.shape)
    squares = problem.rows.multiply(problem.rows).tocsr()
    free = problem.free(block).astype(np.float64)
    return Lanes(
        weight=_padded(weights_of(problem, block, dual), lanes, dtype),
        free=_padded(free, lanes, dtype),
        dual=_padded(dual, lanes, dtype),
        stiffness=_padded(pull * (squares @ free), lanes, dtype),
        pull=_padded(pull, lanes, dtype),
        signs=_padded(signs_of(problem, block), lanes, dtype),
        active=_padded(np.ones((1, dual.shape[1])), lanes, dtype)[0],
    )


def blocks(problem: Problem, options: RowOptions) -> list[slice]:
    """Blocks of lanes; a grouped order is each category's own, so each is solved alone."""
    if options.order == "grouped":
        return [slice(k, k + 1) for k in range(problem.categories)]
    return blocks_of(problem.categories)


def weights_of(problem: Problem, block: slice, dual: Floats) -> Floats:
    """Equation 17: w = -(1 / (2 lam n)) sum_i c_i v_i y_i x_i on the selected features."""
    scale = -1.0 / (2 * problem.penalty.strength[0, block] * problem.documents)
    pulled = transposed_times(problem.columns, weigh(problem, block, dual) * signs_of(problem, block))
    return np.asarray(pulled * problem.free(block) * scale)


def orders(problem: Problem, block: slice, options: RowOptions) -> Iterator[NDArray[np.int64]]:
    """The order of documents in each pass, forever."""
    n = problem.documents
    generator = np.random.default_rng(options.seed)
    order = np.arange(n)
    if options.order == "random":
        order = generator.permutation(n)
    elif options.order == "grouped":
        order = np.argsort(~problem.positive[:, block.start], kind="stable")
    while True:
        yield generator.permutation(n) if options.order == "shuffled" else order


def solve_block(problem: Problem, block: slice, options: RowOptions, start: Floats) -> BlockResult:
    """Relax one block of categories from a dual point until its stopping rule holds for each of them."""
    began = time.perf_counter()
    width = start.shape[1]
    lanes = prepare(problem, block, options, start)
    progress = Progress(options.stop, options.tol, options.max_passes, width)

    def dual() -> Floats:
        return lanes.dual[:, :width].astype(np.float64)

    def scores() -> Floats:
        return scores_of(problem, lanes.weight[:, :width].astype(np.float64))

    def measured() -> Any:
        return measure(problem, block, weights_of(problem, block, dual()), dual())

    progress.begin(scores(), measured)
    sequence, sweep = orders(problem, block, options), _sweeper(problem, lanes, options)
    while progress.running.any():
        sweep(next(sequence))
        if (progress.passes + 1) % REFRESH[options.precision] == 0:
            lanes.weight[:, :width] = weights_of(problem, block, dual())
        progress.end_pass(scores, measured)
        lanes.active[:width] = progress.running
    certificates = progress.certificates(measured(), began)
    return BlockResult(weights_of(problem, block, dual()), certificates, dual())


def _sweeper(problem: Problem, lanes: Lanes, options: RowOptions) -> Callable[[NDArray[np.int64]], None]:
    """One pass as a function of the order of documents, everything else bound."""
    rows, loss = problem.rows, problem.loss
    starts, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.uint32)
    values, one = rows.data.astype(lanes.weight.dtype), lanes.weight.dtype.type(1)

    def sweep(order: NDArray[np.int64]) -> None:
        kernels.row_pass(
            starts, columns, values, order, lanes.weight, lanes.free, problem.mask is not None, lanes.dual,
            lanes.stiffness, lanes.pull, lanes.signs, LOSS_CODES[loss.name], loss.gamma, loss.target,
            one.dtype.type(options.eta), one, lanes.active,
        )  # fmt: skip

    return sweep
