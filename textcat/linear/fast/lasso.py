"""Laplace prior: working sets of features that grow by the worst violators of optimality.

Problem, for each category:  min_w  |w|_1 + sum_i C_i loss(y_i w'x_i)
A round computes the gradients of up to sixteen unfinished categories in one pass over the rows, adds to each
working set the features that violate optimality most, and minimises over the working set by proximal Newton
steps (`lasso_newton`). A scaled copy of the dual variables bounds the optimum from below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.linear.fast.dual import StoppingRule
from textcat.linear.fast.lane_losses import LANE_LOSSES
from textcat.linear.fast.lasso_newton import fill_slopes_and_curvatures, run_proximal_newton
from textcat.linear.fast.layout import (
    PackedRows,
    add_rows,
    group_categories,
    multiply_all_columns,
    split_lanes,
)
from textcat.linear.mapped_arrays import convert_to_columns
from textcat.linear.problem import allocate_lanes
from textcat.linear.simd import WIDTH
from textcat.parallel.executors import run_in_threads

Array = NDArray[np.float64]

_MAX_NEWTON_STEPS = 50
# Tolerances of the working set: share of the allowed gap, and of the largest violation outside it.
_INNER_SHARE = 0.5
_ROUND_SHARE = 0.5
_FIRST_FEATURES = 16


@dataclass
class LassoLane:
    """One category: its working set `columns` with weights `w`, margins `z`, C per document in `weights`.

    Arrays over documents are padded to whole vectors.
    """

    category: int
    loss: str
    signs: Array
    weights: Array
    columns: NDArray[np.int64]
    w: Array
    z: Array
    alpha: Array = field(init=False)
    rounds: int = 0
    dtype: type[np.floating] = np.float32
    patience: float = 1.0
    done: bool = False
    objective: float = np.inf
    dual_objective: float = -np.inf

    def __post_init__(self) -> None:
        self.alpha = np.empty_like(self.z)
        self.update()

    def update(self) -> None:
        """Compute the dual variables at the margins."""
        fill_slopes_and_curvatures(self.logistic, self.z, self.weights, self.alpha, self.alpha)

    @property
    def logistic(self) -> bool:
        """Whether the loss is logistic; else it is the squared hinge."""
        return self.loss == "logistic"

    @property
    def gap(self) -> float:
        """The duality gap of the last certificate."""
        return max(self.objective - self.dual_objective, 0.0)

    def compute_objective(self) -> float:
        """Return the objective at the present margins."""
        return float(np.abs(self.w).sum() + LANE_LOSSES[self.loss].value(self.z, self.weights).sum())

    def compute_bound(self, steepest: float) -> float:
        """Return the dual objective of the dual variables, scaled so that no feature's gradient exceeds one."""
        scaled = self.alpha * min(1.0, 1.0 / max(steepest, 1e-300))
        real = self.weights > 0
        return float(LANE_LOSSES[self.loss].dual_value(scaled[real], self.weights[real]).sum())

    def release(self) -> None:
        """Free the arrays over documents; weights and certificate stay."""
        self.signs = self.weights = self.z = self.alpha = np.empty(0)

    def grow(self, gradient: NDArray[np.floating], most: int) -> int:
        """Keep the features in use, add at most `most` of the worst violators, and return how many were added."""
        steep = np.abs(gradient)
        steep[self.columns] = 0.0
        violators = np.flatnonzero(steep > 1.0)
        if len(violators) > most:
            violators = violators[np.argpartition(-steep[violators], most - 1)[:most]]
        used = self.w != 0
        self.columns = np.concatenate((self.columns[used], np.sort(violators)))
        self.w = np.concatenate((self.w[used], np.zeros(len(violators))))
        return len(violators)

    def descend(self, matrix: sp.csc_matrix, tol: float) -> None:
        """Minimise over the working set."""
        columns = (matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
        run_proximal_newton(
            self.logistic,
            self.columns,
            *columns,
            self.signs,
            self.weights,
            matrix.shape[0],
            self.z,
            self.w,
            tol,
            _MAX_NEWTON_STEPS,
        )
        self.update()


def compute_gradients(
    rows: PackedRows, columns: sp.csc_matrix, lanes: list[LassoLane], dtype: type[np.floating]
) -> NDArray[np.floating]:
    """Return the gradients of the losses, lanes x features, of at most sixteen lanes in one pass."""
    n = rows.documents
    steps = allocate_lanes((n, WIDTH), dtype)
    for lane, one in enumerate(lanes):
        np.multiply(one.signs[:n], -one.alpha[:n], out=steps[:, lane], casting="same_kind")
    G = allocate_lanes((rows.features, WIDTH), dtype)
    if n < rows.features:
        # What is read in random order is smaller by columns.
        multiply_all_columns(columns.indptr, columns.indices, columns.data, steps, G)
    else:
        add_rows(rows.spans, rows.indices, rows.values(dtype)[0], steps, G)
    return split_lanes(G, np.arange(len(lanes)), dtype)


def minimise_lasso(
    rows: PackedRows,
    Y: NDArray[np.bool_],
    limits: Array,
    loss: str,
    rule: StoppingRule,
    init: Array | None = None,
    jobs: int = 1,
) -> list[LassoLane]:
    """Solve every category; `init` holds weights to start from (features x categories, as in `PackedRows`)."""
    columns = convert_to_columns(rows.starts, rows.indices, rows.data, rows.features)

    def solve_group(categories: NDArray[np.int64]) -> list[LassoLane]:
        lanes = []
        for k in categories:
            start = None if init is None else init[:, k]
            signs = np.where(Y[:, k], 1.0, -1.0)
            lanes.append(_make_lane(rows, columns, int(k), loss, signs, limits[k], start))
        _run_rounds(lanes, rows, columns, rule)
        return lanes

    found = run_in_threads(jobs, [partial(solve_group, categories) for categories in group_categories(Y)])
    return sorted((lane for lanes in found for lane in lanes), key=lambda lane: lane.category)


def _run_rounds(lanes: list[LassoLane], rows: PackedRows, columns: sp.csc_matrix, rule: StoppingRule) -> None:
    """Run rounds until all of at most sixteen categories are done."""
    open_lanes = list(lanes)
    for lane in lanes:
        lane.objective = lane.compute_objective()
    while open_lanes:
        for dtype in (np.float32, np.float64):
            chosen = [lane for lane in open_lanes if lane.dtype is dtype]
            if chosen:
                gradients = compute_gradients(rows, columns, chosen, dtype)
                for lane, gradient in zip(chosen, gradients, strict=True):
                    _run_round(lane, gradient, columns, rule.tol * lane.objective)
        open_lanes = [lane for lane in open_lanes if not lane.done and lane.rounds < rule.max_passes]
    for lane in lanes:
        lane.release()


def _run_round(
    lane: LassoLane, gradient: NDArray[np.floating], columns: sp.csc_matrix, target: float
) -> None:
    """Check the certificate; if the gap is too large, grow the working set or switch to float64."""
    steepest = float(np.abs(gradient).max(initial=0.0))
    size = float(np.abs(lane.w).sum())
    lane.rounds += 1
    if lane.dtype is np.float64 and (steepest - 1) * size <= 3 * target:
        lane.dual_objective = lane.compute_bound(steepest)
        if lane.gap <= target:
            lane.done = True
            return
    allowed = _INNER_SHARE * target / max(size, 1.0) * lane.patience
    added = 0
    if steepest - 1 > allowed:
        added = lane.grow(gradient, max(_FIRST_FEATURES, int(np.count_nonzero(lane.w))))
    if not added:
        change = 1.0 if lane.dtype is np.float32 else 0.3
        lane.patience *= change
        allowed *= change
        lane.dtype = np.float64
    lane.descend(columns, max(allowed, _ROUND_SHARE * (steepest - 1)) if added else allowed)
    lane.objective = lane.compute_objective()


def _make_lane(
    rows: PackedRows,
    columns: sp.csc_matrix,
    category: int,
    loss: str,
    signs: Array,
    C: float,
    init: Array | None,
) -> LassoLane:
    n = rows.documents
    padded = -(-n // WIDTH) * WIDTH
    weights, all_signs, z = np.zeros(padded), np.ones(padded), np.zeros(padded)
    weights[:n], all_signs[:n] = C * rows.importance, signs
    if init is None:
        used, w = _fit_constant(columns, weights[:n], signs, loss)
    else:
        used = np.flatnonzero(init)
        w = init[used]
    z[:n] = signs * (columns[:, used] @ w)
    return LassoLane(category, loss, all_signs, weights, used, w, z)


def _fit_constant(
    columns: sp.csc_matrix, weights: Array, signs: Array, loss: str
) -> tuple[NDArray[np.int64], Array]:
    """Return the best model of the constant column alone, or an empty one if no column is all ones."""
    n = columns.shape[0]
    full = np.flatnonzero(np.diff(columns.indptr) == n)
    constant = [j for j in full if n and (columns.data[columns.indptr[j] : columns.indptr[j + 1]] == 1).all()]
    if not constant:
        return np.empty(0, np.int64), np.empty(0)
    total, positive = float(weights.sum()), float(weights[signs > 0].sum())
    side = 1.0 if 2 * positive > total else -1.0
    if loss == "logistic":
        share = (positive - side) / total
        b = float(np.log(share / (1 - share))) if 0 < share < 1 and (share - 0.5) * side > 0 else 0.0
    else:
        b = (2 * (2 * positive - total) - side) / (2 * total)
        b = b if b * side > 0 else 0.0
    return np.array(constant[:1]), np.array([b])
