"""Blocks of categories: division into blocks and parts for the threads, checks of solutions, dropping of small weights.

A block costs the nonzeros of every feature that any of its categories may use. Where categories have different
selected features it can be cheaper to solve them apart. A block becomes a problem on its own features; its parts keep
these features, so that sums over a document are made in the same order, and share the matrix. The weights
do not depend on the division: a lane never moves a feature that its category did not select.

A collection with thousands of labels has most of its weights near zero: they take the memory, and change no ranking.
Small weights of a solved block are dropped, the others kept as CSC float32, and the certificates say what that cost.
The constants are kept as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import StageFailedError
from textcat.linear.certificate import BlockResult, Certificate
from textcat.linear.mapped_arrays import convert_dtype
from textcat.linear.problem import LANE_STEP, Bools, Floats, LinearProblem, ProblemMatrix, compute_lane_width
from textcat.parallel.executors import run_in_threads

# The cost of reading a number of the matrix, in lanes of arithmetic. The division of blocks is part of a result:
# numpy sums a single category, for its certificate, in another order.
READING_COST = 8
# A part is divided further for the threads until none has more than this multiple of its share of the cost.
BALANCE = 1.1

SolveBlock = Callable[..., BlockResult]
PassCost = Callable[[LinearProblem, NDArray[np.int64]], int]


def divide_blocks(problem: LinearProblem, blocks: list[slice]) -> list[slice]:
    """Halve blocks repeatedly wherever the halves together cost less than the whole."""
    if problem.mask is None:
        return blocks
    sizes = np.diff(problem.columns.indptr)
    return [
        part
        for block in blocks
        for part in _find_cheapest_division(problem.mask, sizes, problem.documents, block)[1]
    ]


def _find_cheapest_division(
    mask: Bools, sizes: NDArray[Any], documents: int, block: slice
) -> tuple[int, list[slice]]:
    """Return the least cost of a pass, in lanes times numbers read, and the division of the block that has it."""
    width = block.stop - block.start
    cost = (READING_COST + (width if width < 2 else -(-width // 8) * 8)) * (
        documents + int(sizes[mask[:, block].any(axis=1)].sum())
    )
    if width < 2:
        return cost, [block]
    middle = block.start + width // 2
    halves = [
        _find_cheapest_division(mask, sizes, documents, half)
        for half in (slice(block.start, middle), slice(middle, block.stop))
    ]
    apart = sum(cost_of_half for cost_of_half, _ in halves)
    return (apart, [part for _, parts in halves for part in parts]) if apart < cost else (cost, [block])


def _solve_restricted(
    solve_block: SolveBlock,
    problem: LinearProblem,
    block: slice,
    options: Any,
    start: Floats,
    used: Bools,
    dual: bool,
) -> BlockResult:
    """Solve a block of a problem on the features `used`; return the weights of all features."""
    result = solve_block(problem, block, options, start if dual else start[used])
    weights = np.zeros((len(used), result.weights.shape[1]))
    weights[used] = result.weights
    return replace(result, weights=weights)


def _restrict_problem(problem: LinearProblem, used: NDArray[np.bool_]) -> LinearProblem:
    """Return the same problem on some of the features."""
    columns = problem.columns[:, used]
    restricted = replace(problem, matrix=ProblemMatrix(columns.tocsr(), columns))
    return _select(restricted, ("mask",), lambda values: values[used])


def _take_categories(problem: LinearProblem, categories: NDArray[np.int64]) -> LinearProblem:
    """Return the same problem with some of the categories."""
    names = ("positive", "mask", "weights")
    return _select(problem, names, lambda values: np.take(values, categories, axis=1))


def _select(problem: LinearProblem, names: Sequence[str], select: Callable[[Any], Any]) -> LinearProblem:
    """Return the problem with `select` applied to these arrays of it and to those of its penalty."""

    def apply(owner: Any, names: Sequence[str]) -> dict[str, Any]:
        given = {name: getattr(owner, name) for name in names}
        return {name: None if values is None else select(values) for name, values in given.items()}

    penalty = replace(problem.penalty, **apply(problem.penalty, ("strength",)))
    return replace(problem, penalty=penalty, **apply(problem, names))


class BlockProblem:
    """The problem of a block on the features that it uses, made when the first of its parts asks for it.

    Without `narrow` it stays on all features: the fast algorithm has no columns to choose from.
    """

    def __init__(self, problem: LinearProblem, block: slice, *, narrow: bool) -> None:
        masked = narrow and problem.mask is not None
        self.used = np.asarray(problem.free(block).any(axis=1)) if masked else None
        self.block = block
        self._whole, self._narrowed = problem, None if self.narrow else problem
        self._lock = Lock()
        self.share(1)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lock out: joblib sends parts to other processes, where each has a copy of the block."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())

    def share(self, parts: int) -> None:
        """Set the number of parts."""
        self._count = self._left = parts

    @property
    def narrow(self) -> bool:
        """Whether the block uses only some of the features."""
        return self.used is not None and not self.used.all()

    def take_part(self, categories: NDArray[np.int64]) -> tuple[LinearProblem, slice]:
        """Return a problem and the block of it that has these categories; the last part frees the matrix."""
        with self._lock:
            if self._narrowed is None and self.used is not None:
                self._narrowed = _restrict_problem(self._whole, self.used)
            narrowed, undivided = self._narrowed or self._whole, self._count == 1
            self._left -= 1
            if not self._left:
                self._narrowed = None
        if undivided:
            return narrowed, self.block
        return _take_categories(narrowed, categories), slice(0, len(categories))


@dataclass(frozen=True)
class Part:
    """Some categories of a block, and the cost of a pass over them."""

    block: BlockProblem
    categories: NDArray[np.int64]
    cost: int


def estimate_column_pass(problem: LinearProblem, categories: NDArray[np.int64]) -> int:
    """Return the numbers that a pass by columns reads, which skips what no category of a group of lanes may use."""
    if problem.mask is None:
        return estimate_row_pass(problem, categories)
    sizes = np.diff(problem.columns.indptr)
    groups = (categories[first : first + LANE_STEP] for first in range(0, len(categories), LANE_STEP))
    return sum(int(sizes[problem.mask[:, group].any(axis=1)].sum()) for group in groups)


def estimate_row_pass(problem: LinearProblem, categories: NDArray[np.int64]) -> int:
    """Return the numbers that a pass by rows reads: every feature, for each group of lanes."""
    return compute_lane_width(len(categories)) // LANE_STEP * int(problem.columns.nnz)


def divide_block(
    problem: LinearProblem, block: slice, estimate: PassCost | None, threads: int, *, narrow: bool = True
) -> list[Part]:
    """Divide a block into parts: where they are cheaper than the whole, and until all threads have work.

    Categories that use many features come first, so that a part has categories alike. No part has a single category:
    numpy sums a single column in another order.
    """
    shared, categories = BlockProblem(problem, block, narrow=narrow), np.arange(block.start, block.stop)
    if estimate is None:
        return [Part(shared, categories, 0)]
    order = categories
    if problem.mask is not None:
        reads = np.diff(problem.columns.indptr) @ problem.mask[:, block]
        order = categories[np.argsort(-reads, kind="stable")]

    def make_part(chosen: NDArray[np.int64]) -> Part:
        return Part(shared, chosen, estimate(problem, chosen))

    parts = _divide_where_cheaper(make_part(order), make_part)
    while True:
        largest = max(parts, key=lambda part: part.cost)
        halves = _halve(largest, make_part)
        if not halves or largest.cost * threads <= BALANCE * sum(part.cost for part in parts):
            break
        parts = [part for part in parts if part is not largest] + halves
    shared.share(len(parts))
    return parts if len(parts) > 1 else [replace(parts[0], categories=categories)]


def _divide_where_cheaper(part: Part, make_part: Callable[[NDArray[np.int64]], Part]) -> list[Part]:
    parts = [
        smaller for half in _halve(part, make_part) for smaller in _divide_where_cheaper(half, make_part)
    ]
    return parts if parts and sum(smaller.cost for smaller in parts) < part.cost else [part]


def _halve(part: Part, make_part: Callable[[NDArray[np.int64]], Part]) -> list[Part]:
    """Return two parts of whole vectors, or nothing if the part is too small."""
    width = len(part.categories)
    middle = -(-width // (2 * LANE_STEP)) * LANE_STEP
    if width - middle < 2:
        middle -= LANE_STEP
    if middle < LANE_STEP:
        return []
    return [make_part(part.categories[:middle]), make_part(part.categories[middle:])]


def solve_part(
    solve_block: SolveBlock, part: Part, options: Any, start: Floats, *, dual: bool
) -> BlockResult:
    """Solve a part of a block; with `dual`, `start` holds dual variables, not weights."""
    problem, block = part.block.take_part(part.categories)
    used = part.block.used
    if not part.block.narrow or used is None:
        return solve_block(problem, block, options, start)
    return _solve_restricted(solve_block, problem, block, options, start, used, dual)


# Categories that are solved before their weights are pruned: their dense weights are in memory together.
MAX_BLOCK = 512


@dataclass(frozen=True)
class PrunedBlock:
    """Sparse weights of a block (features x categories, without the constant), its constants and certificates."""

    coef: sp.csc_matrix
    constants: Floats
    certificates: Sequence[Certificate]
    dual: None = None


def split_blocks(blocks: Sequence[slice]) -> list[slice]:
    """Split blocks of categories into blocks of at most MAX_BLOCK."""
    return [
        slice(start, min(start + MAX_BLOCK, block.stop))
        for block in blocks
        for start in range(block.start, block.stop, MAX_BLOCK)
    ]


def prune_block(problem: LinearProblem, solved: BlockResult, threshold: float, jobs: int) -> PrunedBlock:
    """Drop weights below the threshold; add the share dropped and the largest change of a score to certificates."""
    features = problem.features - (problem.bias != 0.0)
    dense, width = solved.weights[:features], solved.weights.shape[1]
    constants = solved.weights[features] if problem.bias != 0.0 else np.zeros(width)
    coef = sp.csc_matrix(np.where(np.abs(dense) >= threshold, dense, 0.0).astype(np.float32))
    used = np.count_nonzero(dense, axis=0)
    shares = 1.0 - np.diff(coef.indptr) / np.maximum(used, 1)
    changes = _measure_changes(problem, dense, coef, jobs)
    certificates = [
        replace(one, pruned_share=float(share) if any_used else 0.0, pruned_change=float(change))
        for one, share, any_used, change in zip(solved.certificates, shares, used, changes, strict=True)
    ]
    return PrunedBlock(coef, np.array(constants), certificates)


def _measure_changes(problem: LinearProblem, dense: Floats, coef: sp.csc_matrix, jobs: int) -> Floats:
    """Return the largest change of a training document's score, for each category."""
    from textcat.linear.simd import WIDTH  # noqa: PLC0415 - loads numba

    rows = problem.rows
    spans = np.stack((rows.indptr[:-1], rows.indptr[1:]), axis=1).astype(np.int64)
    matrix = (spans, rows.indices.astype(np.int32, copy=False), convert_dtype(rows.data, np.float32))
    starts = range(0, dense.shape[1], WIDTH)
    work = partial(_measure_group, problem.features, matrix, dense, coef)
    parts = run_in_threads(jobs, [partial(work, start) for start in starts])
    return np.concatenate([np.zeros(0), *parts])


def _measure_group(features: int, matrix: Any, dense: Floats, coef: sp.csc_matrix, start: int) -> Floats:
    from textcat.linear.fast.layout import multiply_all_rows  # noqa: PLC0415 - loads numba
    from textcat.linear.simd import WIDTH  # noqa: PLC0415 - loads numba

    stop = min(start + WIDTH, dense.shape[1])
    dropped = np.zeros((features, WIDTH), np.float32)
    dropped[: len(dense), : stop - start] = dense[:, start:stop] - coef[:, start:stop].toarray()
    changes = np.empty((len(matrix[0]), WIDTH), np.float32)
    spans, indices, data = matrix
    multiply_all_rows(spans, indices, data, dropped, changes)
    return np.asarray(np.abs(changes).max(axis=0, initial=0.0)[: stop - start], dtype=np.float64)


def join_pruned(blocks: Sequence[PrunedBlock]) -> sp.csc_matrix:
    """Return the weights of consecutive blocks side by side."""
    return sp.csc_matrix(sp.hstack([block.coef for block in blocks], format="csc"))


def check_finite(results: Sequence[Any]) -> None:
    """Raise StageFailedError if weights or objectives are not finite."""
    if all(map(_is_finite, results)):
        return
    raise StageFailedError(
        "training led to weights or an objective that are not finite",
        where="fit",
        hint="Scale the features, for example to documents of length 1; their squares must not overflow.",
    )


def _is_finite(result: BlockResult | PrunedBlock) -> bool:
    parts = (result.weights,) if isinstance(result, BlockResult) else (result.coef.data, result.constants)
    objectives = [certificate.objective or 0.0 for certificate in result.certificates]
    return all(bool(np.isfinite(part).all()) for part in (*parts, objectives))
