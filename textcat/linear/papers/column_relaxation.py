"""Column relaxation: one weight at a time, a block of categories in lanes.

Problem: min over w of (1/n) sum_i c_i f(w.x_i y_i) + penalty(w), for the squared, squared hinge, logistic
and modified logistic losses with a Gaussian, Laplace or no prior. Input: a LinearProblem, ColumnOptions.
Output: weights and certificates of a block of categories. Papers: zhang_oles_2001 algorithm 1 with its
instances 2 (CLS), 3 (CMLS) and 4 (CLG); genkin_2004 algorithms 1 (CLG) and 2 (CLG-lasso).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.linear.algorithm_options import REFRESH_PASSES, ColumnOptions
from textcat.linear.certificate import BlockResult, OptimalityMeasures, Progress, measure, scores_of, signs_of
from textcat.linear.losses import LOSS_CODES, SQUARED
from textcat.linear.papers import column_kernels as kernels
from textcat.linear.papers import sparse_kernels
from textcat.linear.problem import (
    LANE_STEP,
    LinearProblem,
    compute_lane_width,
    join_lanes,
    mark_lanes,
    split_into_lanes,
)

RULE_CODES = {"epsilon": kernels.RULE_EPSILON, "halving": kernels.RULE_HALVING}


@dataclass
class ColumnLanes:
    """The arrays of a block in groups of lanes, one lane a category; labels are documents x categories."""

    weight: NDArray[Any]
    state: NDArray[Any]
    target: NDArray[Any]
    positive: NDArray[np.bool_]
    weights: NDArray[Any]
    positive_sums: NDArray[Any]
    strength: NDArray[Any]
    mode: NDArray[Any]
    low: NDArray[Any]
    high: NDArray[Any]
    radius: NDArray[Any]
    active: NDArray[Any]
    slopes: NDArray[Any]


def prepare_column_lanes(
    problem: LinearProblem, block: slice, options: ColumnOptions, start: NDArray[np.float64]
) -> ColumnLanes:
    """Lay a block out in lanes; idle lanes and masked features get a trust region of 0."""
    dtype = np.dtype(options.precision)
    n, shape = problem.documents, start.shape
    free, penalty, signs = problem.free(block), problem.penalty, signs_of(problem, block)
    weights = np.ones(signs.shape) if problem.weights is None else problem.weights[:, block]
    marked = bool(((weights == 0.0) | (weights == 1.0)).all())
    strength = split_into_lanes(penalty.strength[:, block] * n, dtype, shape)

    def lay_out_informed(values: NDArray[np.float64] | None, default: float) -> NDArray[Any]:
        if not penalty.informed:
            return strength
        return split_into_lanes(default if values is None else values[:, block], dtype, shape)

    target = split_into_lanes(problem.loss.target * signs, dtype)
    return ColumnLanes(
        weight=split_into_lanes(start, dtype),
        state=np.zeros_like(target),
        target=target,
        positive=problem.positive[:, block],
        weights=weights == 1.0 if marked else split_into_lanes(weights, dtype),
        positive_sums=split_into_lanes(problem.columns.T @ (problem.positive[:, block] * weights), dtype),
        strength=strength,
        mode=lay_out_informed(penalty.mode, 0.0),
        low=lay_out_informed(penalty.low, -np.inf),
        high=lay_out_informed(penalty.high, np.inf),
        radius=split_into_lanes(np.where(free, options.choose_first_radius(problem.loss), 0.0), dtype),
        active=split_into_lanes(np.ones((1, shape[1])), dtype),
        slopes=np.zeros_like(target) if keeps_slopes(problem) else target,
    )


def keeps_slopes(problem: LinearProblem) -> bool:
    """Return whether the slope of the loss is kept for each state: where most weights are 0 and few of them move."""
    penalty, logistic = problem.penalty, problem.loss.name == "logistic"
    return logistic and penalty.prior == "laplace" and not penalty.informed and not has_plain_columns(problem)


def order_features(problem: LinearProblem, wanted: NDArray[np.bool_], order: str) -> NDArray[np.int64]:
    """Return the features that a pass visits, in order; the constant feature is last in the matrix."""
    visits = np.flatnonzero(wanted)
    if order == "reversed":
        return visits[::-1].copy()
    if order == "constant_first" and problem.bias != 0.0:
        return np.roll(visits, 1)
    return visits


def has_plain_columns(problem: LinearProblem) -> bool:
    """Return whether each feature's nonzeros share one value and documents weigh 1, as for binary text."""
    columns = problem.columns
    if problem.weights is not None or not columns.nnz:
        return False
    firsts = np.repeat(
        columns.data[np.minimum(columns.indptr[:-1], columns.nnz - 1)], np.diff(columns.indptr)
    )
    return bool((columns.data == firsts).all())


def refresh_scores(problem: LinearProblem, lanes: ColumnLanes, width: int) -> NDArray[np.float64]:
    """Recompute the state from the weights; return the scores."""
    scores = scores_of(problem, join_lanes(lanes.weight, width).astype(np.float64))
    lanes.state = split_into_lanes(scores - join_lanes(lanes.target, width), lanes.state.dtype)
    if keeps_slopes(problem):
        for state, slopes in zip(lanes.state, lanes.slopes, strict=True):
            sparse_kernels.fill_slopes(state, problem.loss.gamma, slopes)
    return scores


def solve_block(
    problem: LinearProblem, block: slice, options: ColumnOptions, start: NDArray[np.float64]
) -> BlockResult:
    """Relax one block of categories until its stopping rule holds for each of them."""
    began = time.perf_counter()
    kept = np.arange(start.shape[1])
    lanes = prepare_column_lanes(problem, block, options, start)
    scores = refresh_scores(problem, lanes, len(kept))
    progress = Progress(options.stop, options.tol, options.max_passes, len(kept))
    progress.begin(scores, lambda: measure(problem, block, np.zeros_like(start)))
    weights = start.copy()
    sweep = _bind_pass(problem, lanes, options)

    def latest(total: NDArray[Any], moving: NDArray[Any]) -> NDArray[np.float64]:
        total[:, kept] = join_lanes(moving, len(kept))
        return total

    def scores_now() -> NDArray[np.float64]:
        now = scores.copy()
        kernels.fill_scores(lanes.state, lanes.target, kept, now)
        return now

    def measured() -> OptimalityMeasures:
        return measure(problem, block, latest(weights, lanes.weight))

    while progress.running.any():
        beyond = options.compute_continuation(progress.passes + 1)
        sweep(beyond)
        if progress.passes % REFRESH_PASSES[options.precision] == 0:
            refresh_scores(problem, lanes, len(kept))
        progress.end_pass(scores_now, measured, settled=beyond == 0.0)
        running = progress.running[kept]
        lanes.active = split_into_lanes(running[None], lanes.state.dtype)
        if 0 < compute_lane_width(int(running.sum())) < compute_lane_width(len(kept)):
            latest(weights, lanes.weight)
            lanes = _drop_idle_lanes(lanes, np.flatnonzero(running))
            kept, sweep = kept[running], _bind_pass(problem, lanes, options)
    latest(weights, lanes.weight)
    return BlockResult(weights, progress.certificates(measure(problem, block, weights), began))


def _drop_idle_lanes(lanes: ColumnLanes, moving: NDArray[np.int64]) -> ColumnLanes:
    """Return the lanes that still move, in as few groups as hold them."""
    groups = compute_lane_width(len(moving)) // LANE_STEP
    taken: dict[int, NDArray[Any]] = {}

    def select(values: NDArray[Any]) -> NDArray[Any]:
        if values.ndim == 2:
            return values[:, moving]
        if id(values) not in taken:
            taken[id(values)] = np.zeros((groups, *values.shape[1:]), values.dtype)
            kernels.take_lanes(values, moving, taken[id(values)])
        return taken[id(values)]

    return ColumnLanes(**{each.name: select(getattr(lanes, each.name)) for each in fields(lanes)})


def _bind_pass(problem: LinearProblem, lanes: ColumnLanes, options: ColumnOptions) -> Any:
    """Return one pass as a function of the continuation parameter."""
    columns, loss = problem.columns, problem.loss
    starts = columns.indptr.astype(np.int64)
    rows = columns.indices.astype(np.uint32)
    values = columns.data.astype(lanes.state.dtype)
    plain, positive = has_plain_columns(problem), mark_lanes(lanes.positive)
    weights = mark_lanes(lanes.weights) if lanes.weights.ndim == 2 else lanes.weights
    code = LOSS_CODES[loss.name]
    prior = kernels.LAPLACE if problem.penalty.prior == "laplace" else kernels.GAUSSIAN
    rule = kernels.RULE_NONE if code == SQUARED else RULE_CODES[options.trust_region]
    visits = [
        order_features(problem, np.asarray((radius > 0).any(axis=1)), options.order)
        for radius in lanes.radius
    ]

    def sweep_sparse(_: float) -> None:
        for k in np.flatnonzero(lanes.active.any(axis=(1, 2))):
            sparse_kernels.run_sparse_pass(
                starts, rows, values, lanes.state[k], lanes.slopes[k], weights[k], lanes.positive_sums[k],
                loss.gamma, options.bound == "genkin_2004", lanes.weight[k], lanes.strength[k], visits[k],
                lanes.active[k], lanes.radius[k], rule, options.epsilon,
            )  # fmt: skip

    def sweep(beyond: float) -> None:
        for k in np.flatnonzero(lanes.active.any(axis=(1, 2))):
            kernels.run_column_pass(
                starts, rows, values, lanes.state[k], None if plain else weights[k], positive[k],
                lanes.positive_sums[k], code, loss.gamma, beyond, options.bound == "genkin_2004", prior,
                lanes.weight[k], lanes.strength[k], lanes.mode[k], lanes.low[k], lanes.high[k],
                problem.penalty.informed, visits[k], lanes.active[k], lanes.radius[k], rule, options.epsilon,
            )  # fmt: skip

    return sweep_sparse if keeps_slopes(problem) else sweep
