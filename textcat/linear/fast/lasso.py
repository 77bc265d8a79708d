"""Laplace prior: working sets that grow by the worst violators, the gradient over all features in lanes,
Newton inside.

Problem, for each category:  min_w  |w|_1 + sum_i C_i loss(y_i w'x_i)
A round takes the gradient of all unfinished categories, sixteen to a pass over the rows, adds to each working
set the features that
violate optimality most, and minimises over the working set. A scaled copy of the dual variables bounds the
optimum from below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.linear.fast.dual import StoppingRule
from textcat.linear.fast.lane_losses import LANE_LOSSES
from textcat.linear.fast.lasso_newton import (
    LOGISTIC,
    SQUARED,
    SQUARED_HINGE,
    fill_slopes_and_curvatures,
    run_proximal_newton,
)
from textcat.linear.fast.layout import PackedRows, add_rows, group_categories
from textcat.linear.mapped_arrays import convert_to_columns
from textcat.linear.simd import WIDTH
from textcat.parallel.threads import run_in_threads

Array = NDArray[np.float64]

_LOSS_KINDS = {"logistic": LOGISTIC, "squared_hinge": SQUARED_HINGE, "squared": SQUARED}
_MAX_NEWTON_STEPS = 50
# What part of the allowed gap the working set may cost; its share of the violation outside.
_INNER_SHARE = 0.5
_ROUND_SHARE = 0.1
_FIRST_FEATURES = 16


@dataclass
class LassoLane:
    """One category: its working set `columns` with weights `w`, margins z, C by document; arrays padded to
    whole vectors.
    """

    category: int
    kind: int
    signs: Array
    weights: Array
    columns: NDArray[np.int64]
    w: Array
    z: Array
    alpha: Array = field(init=False)
    curvature: Array = field(init=False)
    rounds: int = 0
    dtype: type[np.floating] = np.float32
    patience: float = 1.0
    done: bool = False
    objective: float = np.inf
    dual_objective: float = -np.inf

    def __post_init__(self) -> None:
        self.alpha, self.curvature = np.empty_like(self.z), np.empty_like(self.z)
        self.update()

    def update(self) -> None:
        """Dual variables at the margins."""
        fill_slopes_and_curvatures(self.kind, self.z, self.weights, self.alpha, self.curvature)

    @property
    def gap(self) -> float:
        """The duality gap by the last certificate."""
        return max(self.objective - self.dual_objective, 0.0)

    def value(self, loss: str) -> float:
        """The objective at the margins as they are."""
        return float(np.abs(self.w).sum() + LANE_LOSSES[loss].value(self.z, self.weights).sum())

    def bound(self, loss: str, steepest: float) -> float:
        """The dual objective of the dual variables, scaled so that no feature's gradient exceeds one."""
        scaled = self.alpha * min(1.0, 1.0 / max(steepest, 1e-300))
        real = self.weights > 0
        return float(LANE_LOSSES[loss].dual_value(scaled[real], self.weights[real]).sum())

    def release(self) -> None:
        """Keep the weights and the certificate alone."""
        self.signs = self.weights = self.z = self.alpha = self.curvature = np.empty(0)

    def grow(self, gradient: NDArray[np.floating], most: int) -> int:
        """Keep the features in use and add at most `most` of the worst violators; how many were added."""
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
            self.kind,
            self.columns,
            *columns,
            self.signs,
            self.weights,
            self.z,
            self.w,
            tol,
            _MAX_NEWTON_STEPS,
        )
        self.update()


def compute_gradients(
    rows: PackedRows, lanes: list[LassoLane], dtype: type[np.floating]
) -> NDArray[np.floating]:
    """Gradients of the losses, lanes x features, for at most sixteen lanes, by one pass over the rows."""
    n = rows.documents
    steps = np.zeros((n, WIDTH), dtype)
    for lane, one in enumerate(lanes):
        np.multiply(one.signs[:n], -one.alpha[:n], out=steps[:, lane], casting="same_kind")
    G = np.zeros((rows.features, WIDTH), dtype)
    add_rows(rows.spans, rows.indices, rows.values(dtype)[0], steps, G)
    return np.ascontiguousarray(G[:, : len(lanes)].T)


def minimise_lasso(
    rows: PackedRows,
    Y: NDArray[np.bool_],
    limits: Array,
    loss: str,
    aim: StoppingRule,
    init: Array | None = None,
    jobs: int = 1,
) -> list[LassoLane]:
    """Solve every category; `init` (features x categories, ordered as `Rows`) starts from known weights."""
    columns = convert_to_columns(rows.starts, rows.indices, rows.data, rows.features)

    def solved(categories: NDArray[np.int64]) -> list[LassoLane]:
        lanes = [
            _make_lane(
                rows,
                columns,
                int(k),
                loss,
                np.where(Y[:, k], 1.0, -1.0),
                limits[k],
                None if init is None else init[:, k],
            )
            for k in categories
        ]
        _run_rounds(lanes, rows, columns, loss, aim)
        return lanes

    # Categories that each have an aim of their own need not be held at the same time.
    together = group_categories(Y) if aim.each else [np.arange(Y.shape[1])]
    found = run_in_threads(jobs, [partial(solved, categories) for categories in together])
    return sorted((lane for lanes in found for lane in lanes), key=lambda lane: lane.category)


def _run_rounds(
    lanes: list[LassoLane], rows: PackedRows, columns: sp.csc_matrix, loss: str, aim: StoppingRule
) -> None:
    """Rounds until every category is done, sixteen gradients to a pass over the rows."""
    open_lanes = list(lanes)
    for lane in lanes:
        lane.objective = lane.value(loss)
    while open_lanes:
        average = sum(lane.objective for lane in lanes) / len(lanes)
        for dtype in (np.float32, np.float64):
            chosen = [lane for lane in open_lanes if lane.dtype is dtype]
            for start in range(0, len(chosen), WIDTH):
                chunk = chosen[start : start + WIDTH]
                for lane, gradient in zip(chunk, compute_gradients(rows, chunk, dtype), strict=True):
                    _run_round(
                        lane, gradient, columns, loss, _compute_target_gap(aim, lane.objective, average)
                    )
        open_lanes = [lane for lane in open_lanes if not lane.done and lane.rounds < aim.max_passes]
    for lane in lanes:
        lane.release()


def _compute_target_gap(aim: StoppingRule, objective: float, average: float) -> float:
    return aim.tol * (objective if aim.each else 0.5 * (objective + average))


def _run_round(
    lane: LassoLane, gradient: NDArray[np.floating], columns: sp.csc_matrix, loss: str, target: float
) -> None:
    """Certify and finish, or go on with a larger working set, or, where float32 sees no more, in float64."""
    steepest = float(np.abs(gradient).max(initial=0.0))
    size = float(np.abs(lane.w).sum())
    lane.rounds += 1
    if lane.dtype is np.float64 and (steepest - 1) * size <= 3 * target:
        lane.dual_objective = lane.bound(loss, steepest)
        if lane.gap <= target:
            lane.done = True
            return
    added = lane.grow(gradient, max(_FIRST_FEATURES, int(np.count_nonzero(lane.w))))
    if not added:
        lane.patience *= 1.0 if lane.dtype is np.float32 else 0.3
        lane.dtype = np.float64
    allowed = _INNER_SHARE * target / max(size, 1.0) * lane.patience
    lane.descend(columns, max(allowed, _ROUND_SHARE * (steepest - 1) if added else 0.0))
    lane.objective = lane.value(loss)


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
    return LassoLane(category, _LOSS_KINDS[loss], all_signs, weights, used, w, z)


def _fit_constant(
    columns: sp.csc_matrix, weights: Array, signs: Array, loss: str
) -> tuple[NDArray[np.int64], Array]:
    """The best model of the constant column alone, in closed form; nothing where no column is all ones."""
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
