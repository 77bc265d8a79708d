"""Column relaxation: one weight at a time, a block of categories in lanes.

Problem: min over w of (1/n) sum_i c_i f(w.x_i y_i) + penalty(w), for the squared, squared hinge, logistic
and modified logistic losses with a Gaussian, Laplace or no prior. Input: a LinearProblem, ColumnOptions.
Output: weights and certificates of a block of categories. Papers: zhang_oles_2001 algorithm 1 with its
instances 2 (CLS), 3 (CMLS) and 4 (CLG); genkin_2004 algorithms 1 (CLG) and 2 (CLG-lasso).

Under a lasso with the logistic loss most weights are 0 and stay there while the slope of the loss is less than the
strength of the prior. The sparse pass keeps p = 1 / (1 + exp(-g e)) for each state and changes it with the state, so
that a weight that stays 0 costs a sum without exponentials; the bound of the curvature is computed only where a weight
of a lane moves. Weights, scores and trust regions have the same bits as those of `column_kernels`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel, compile_part
from textcat.linear.algorithm_options import REFRESH_PASSES, ColumnOptions
from textcat.linear.certificate import BlockResult, OptimalityMeasures, Progress, measure, scores_of, signs_of
from textcat.linear.lane_math import exponential_pair
from textcat.linear.losses import LOSS_CODES, SQUARED
from textcat.linear.papers import column_kernels as kernels
from textcat.linear.papers.column_kernels import (
    LAPLACE,
    bound_loosely,
    bound_tightly,
    resize_trust_region,
    take_step,
    weigh,
)
from textcat.linear.problem import (
    LANE_STEP,
    LinearProblem,
    allocate_lanes,
    compute_lane_width,
    join_lanes,
    mark_lanes,
    split_into_lanes,
)
from textcat.linear.simd import (
    any_differs,
    choose_less,
    entry,
    fused_multiply_add,
    lane_absolute,
    load,
    narrow,
    rounded,
    splat,
    store,
)

Array = Any


@compile_part
def _sum_slopes(rows: Array, values: Array, start: int, stop: int, slopes: Array, weights: Array) -> Any:
    """Sum c x p."""
    slope = splat(slopes, 0.0)
    for t in range(start, stop):
        pull = weigh(weights, entry(rows, t), splat(slopes, entry(values, t)))
        slope = slope + pull * load(slopes, entry(rows, t))
    return slope


@compile_part
def _find_farthest(e: Any, x: Any, sharpness: float, radius: Any, tight: bool) -> Any:
    """Return the logarithm of the largest growth of exp(-g e) in the trust region, or with `tight` of exp(-|g e|)."""
    zero, size = splat(e, 0.0), lane_absolute(x) * splat(e, sharpness)
    beyond = fused_multiply_add(size, radius, zero - lane_absolute(splat(e, sharpness) * e))
    return choose_less(beyond, zero, beyond, zero) if tight else size * radius


@compile_part
def _sum_bends(
    rows: Array, values: Array, start: int, stop: int, state: Array, slopes: Array, weights: Array,
    sharpness: float, radius: Any, tight: bool,
) -> Any:  # fmt: skip
    """Sum the bound of p (1 - p) times c x^2, two documents a turn."""
    bend = splat(state, 0.0)
    for t in range(start, stop, 2):
        u = min(t + 1, stop - 1)
        a, b = entry(rows, t), entry(rows, u)
        x, y = splat(state, entry(values, t)), splat(state, entry(values, u))
        most, last = exponential_pair(
            _find_farthest(load(state, a), x, sharpness, radius, tight),
            _find_farthest(load(state, b), y, sharpness, radius, tight),
        )
        bound = bound_tightly(most) if tight else bound_loosely(load(slopes, a), most)
        bend = bend + (weigh(weights, a, x) * x) * bound
        if u > t:
            bound = bound_tightly(last) if tight else bound_loosely(load(slopes, b), last)
            bend = bend + (weigh(weights, b, y) * y) * bound
    return bend


@compile_part
def _apply(
    rows: Array,
    values: Array,
    start: int,
    stop: int,
    state: Array,
    slopes: Array,
    sharpness: float,
    move: Any,
) -> None:
    """Move the scores of a column's documents by the step times each value, two documents a turn."""
    zero, one, sharp = splat(state, 0.0), splat(state, 1.0), splat(state, sharpness)
    for t in range(start, stop, 2):
        u = min(t + 1, stop - 1)
        a, b = entry(rows, t), entry(rows, u)
        e = load(state, a) + splat(state, entry(values, t)) * move
        f = load(state, b) + splat(state, entry(values, u)) * move
        small_e, small_f = exponential_pair(zero - sharp * e, zero - sharp * f)
        store(state, a, e)
        store(slopes, a, one / (one + small_e))
        if u > t:
            store(state, b, f)
            store(slopes, b, one / (one + small_f))


@compile_part
def _rests(j: int, weight: Array, slope: Any, strength: Array, radius: Array, active: Array) -> bool:
    """Return whether no lane takes a step: weights are 0 with slopes less than the strength, or cannot move."""
    zero, one, most = splat(slope, 0.0), splat(slope, 1.0), load(strength, j)
    moves = choose_less(slope + most, zero, one, choose_less(zero, slope - most, one, zero))
    moves = choose_less(zero, lane_absolute(load(weight, j)), one, moves)
    return not any_differs(choose_less(zero, load(radius, j), moves, zero) * load(active, 0), zero)


@compile_kernel
def run_sparse_pass(
    starts: Array, rows: Array, values: Array, state: Array, slopes: Array, weights: Array,
    positive_sums: Array, sharpness: float, tight: bool, weight: Array, strength: Array, visits: Array,
    active: Array, radius: Array, rule: int, epsilon: float,
) -> None:  # fmt: skip
    """Visit features in the order of `visits`; `slopes` holds p of each state."""
    for v in range(len(visits)):
        j = entry(visits, v)
        start, stop = entry(starts, j), entry(starts, j + 1)
        slope = rounded(_sum_slopes(rows, values, start, stop, slopes, weights)) - load(positive_sums, j)
        if _rests(j, weight, slope, strength, radius, active):
            resize_trust_region(j, radius, splat(state, 0.0), rule, epsilon)
            continue
        reach = load(radius, j)
        bend = _sum_bends(rows, values, start, stop, state, slopes, weights, sharpness, reach, tight)
        bend = rounded(bend * splat(state, sharpness))
        step = take_step(j, LAPLACE, weight, slope, bend, strength, radius, active)
        move = narrow(step, state)
        resize_trust_region(j, radius, move, rule, epsilon)
        if any_differs(step, splat(step, 0.0)):
            _apply(rows, values, start, stop, state, slopes, sharpness, move)


@compile_kernel
def fill_slopes(state: Array, sharpness: float, slopes: Array) -> None:
    """Write p for each state of a group."""
    one = splat(state, 1.0)
    for i in range(len(state)):
        small, _ = exponential_pair(splat(state, 0.0) - splat(state, sharpness) * load(state, i), one)
        store(slopes, i, one / (one + small))


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
    target = split_into_lanes(problem.loss.target * signs, dtype)
    return ColumnLanes(
        weight=split_into_lanes(start, dtype),
        state=allocate_lanes(target.shape, dtype),
        target=target,
        positive=problem.positive[:, block],
        weights=weights == 1.0 if marked else split_into_lanes(weights, dtype),
        positive_sums=split_into_lanes(problem.columns.T @ (problem.positive[:, block] * weights), dtype),
        strength=split_into_lanes(penalty.strength[:, block] * n, dtype, shape),
        radius=split_into_lanes(np.where(free, options.choose_first_radius(problem.loss), 0.0), dtype),
        active=split_into_lanes(np.ones((1, shape[1])), dtype),
        slopes=allocate_lanes(target.shape, dtype) if keeps_slopes(problem) else target,
    )


def keeps_slopes(problem: LinearProblem) -> bool:
    """Return whether the slope of the loss is kept for each state: where most weights are 0 and few of them move."""
    logistic = problem.loss.name == "logistic"
    return logistic and problem.penalty.prior == "laplace" and not has_plain_columns(problem)


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
            fill_slopes(state, problem.loss.gamma, slopes)
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
            taken[id(values)] = allocate_lanes((groups, *values.shape[1:]), values.dtype)
            kernels.take_lanes(values, moving, taken[id(values)])
        return taken[id(values)]

    return ColumnLanes(**{field.name: select(getattr(lanes, field.name)) for field in fields(lanes)})


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
            run_sparse_pass(
                starts, rows, values, lanes.state[k], lanes.slopes[k], weights[k], lanes.positive_sums[k],
                loss.gamma, options.bound == "genkin_2004", lanes.weight[k], lanes.strength[k], visits[k],
                lanes.active[k], lanes.radius[k], rule, options.epsilon,
            )  # fmt: skip

    def sweep(beyond: float) -> None:
        for k in np.flatnonzero(lanes.active.any(axis=(1, 2))):
            kernels.run_column_pass(
                starts, rows, values, lanes.state[k], None if plain else weights[k], positive[k],
                lanes.positive_sums[k], code, loss.gamma, beyond, options.bound == "genkin_2004", prior,
                lanes.weight[k], lanes.strength[k], visits[k], lanes.active[k], lanes.radius[k], rule,
                options.epsilon,
            )  # fmt: skip

    return sweep_sparse if keeps_slopes(problem) else sweep
