"""Column relaxation: one weight at a time, a block of categories in lanes.

Problem: for each lane, min over w of sum_i c_i f(w.x_i y_i) + sum_j strength_j pen(w_j).
Input: X by columns, the state e = w.x - m y (n x L), weights (d x L), trust regions (d x L, 0 where not
selected). Output: weights, state and trust regions after each feature has been visited once, in order.
Papers: zhang_oles_2001 algorithms 1 to 4; genkin_2004 algorithms 1 and 2.

Problem: min over w of (1/n) sum_i c_i f(w.x_i y_i) + penalty(w), for the squared, squared hinge, logistic
and modified logistic losses with a Gaussian, Laplace or no prior. Input: a Problem, options below.
Output: weights and certificates of a block of categories. Papers: zhang_oles_2001 algorithm 1 with its
instances 2 (CLS), 3 (CMLS) and 4 (CLG); genkin_2004 algorithms 1 (CLG) and 2 (CLG-lasso).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.compile import compile_kernel
from textcat.linear.algorithm_options import ColumnOptions
from textcat.linear.certificate import OptimalityMeasures, measure, scores_of, signs_of
from textcat.linear.lane_math import exponential
from textcat.linear.papers import column_slopes as gather
from textcat.linear.papers import column_step
from textcat.linear.papers.column_step import resize_trust_region, take_gaussian_step, take_laplace_step
from textcat.linear.problem import LinearProblem, compute_lane_width
from textcat.linear.stopping import BlockResult, Progress

Array = Any

SQUARED, SQUARED_HINGE, LOGISTIC = 0, 1, 2
GAUSSIAN, LAPLACE = 0, 1

sum_squared_plain, sum_squared_valued = gather.sum_squared_plain, gather.sum_squared_valued
sum_hinge_plain, sum_hinge_valued = gather.sum_hinge_plain, gather.sum_hinge_valued
sum_logistic_plain, sum_logistic_valued = gather.sum_logistic_plain, gather.sum_logistic_valued
apply_plain, apply_valued = gather.apply_plain, gather.apply_valued


@compile_kernel
def sum_plain_column(
    loss: int, rows: Array, start: int, stop: int, value: Any, state: Array, positive: Array, sharpness: Any,
    beyond: Any, tight: bool, one: Any, quarter: Any, radius: Array, reach: Array, slope: Array, bend: Array,
) -> None:  # fmt: skip
    """Slope and bend of a column with one value and unit weights (scaled to the objective's units)."""
    size = abs(value)
    if loss == SQUARED:
        sum_squared_plain(rows, start, stop, state, slope)
        for k in range(slope.shape[0]):
            bend[k] = (stop - start) * one
    elif loss == SQUARED_HINGE:
        for k in range(slope.shape[0]):
            reach[k] = radius[k] * size
        sum_hinge_plain(rows, start, stop, state, positive, reach, beyond, one, slope, bend)
    else:
        for k in range(slope.shape[0]):
            reach[k] = exponential(sharpness * radius[k] * size)
        sum_logistic_plain(rows, start, stop, state, sharpness, reach, tight, one, quarter, slope, bend)
    for k in range(slope.shape[0]):
        slope[k] *= value
        bend[k] *= value * value


@compile_kernel
def sum_valued_column(
    loss: int, rows: Array, values: Array, start: int, stop: int, state: Array, weights: Array,
    positive: Array,
    sharpness: Any, beyond: Any, tight: bool, one: Any, quarter: Any, radius: Array, slope: Array, bend:
    Array,
) -> None:  # fmt: skip
    """Slope and bend of any column."""
    if loss == SQUARED:
        sum_squared_valued(rows, values, start, stop, state, weights, slope, bend)
    elif loss == SQUARED_HINGE:
        sum_hinge_valued(
            rows, values, start, stop, state, weights, positive, radius, beyond, one, slope, bend
        )
    else:
        sum_logistic_valued(
            rows, values, start, stop, state, weights, sharpness, radius, tight, one, quarter, slope, bend
        )


@compile_kernel
def finish_slopes(loss: int, sharpness: Any, positive_sum: Array, slope: Array, bend: Array) -> None:
    """From gathered sums to slopes: twice the residuals, or probabilities less the sum over positives."""
    for k in range(slope.shape[0]):
        if loss == LOGISTIC:
            slope[k] -= positive_sum[k]
            bend[k] *= sharpness
        else:
            slope[k] += slope[k]
            bend[k] += bend[k]


@compile_kernel
def take_step(
    prior: int, weight: Array, slope: Array, bend: Array, strength: Array, mode: Array, low: Array,
    high: Array, informed: bool, radius: Array, active: Array, move: Array,
) -> bool:  # fmt: skip
    """The step under either prior; did any lane move?"""
    if prior == GAUSSIAN:
        return take_gaussian_step(
            weight, slope, bend, strength, mode, low, high, informed, radius, active, move
        )
    return take_laplace_step(weight, slope, bend, strength, mode, low, high, informed, radius, active, move)


@compile_kernel
def run_column_pass(
    starts: Array, rows: Array, values: Array, plain: bool, state: Array, weights: Array, positive: Array,
    positive_sums: Array, loss: int, sharpness: Any, beyond: Any, tight: bool, prior: int, weight: Array,
    strength: Array, mode: Array, low: Array, high: Array, informed: bool, visits: Array, active: Array,
    radius: Array, rule: int, epsilon: float, one: Any,
) -> None:  # fmt: skip
    """Visit features in the order of `visits`; `beyond` is the continuation parameter c_k of algorithm 3."""
    lanes = state.shape[1]
    slope, bend = np.empty(lanes, state.dtype), np.empty(lanes, state.dtype)
    move, reach = np.empty(lanes, state.dtype), np.empty(lanes, state.dtype)
    quarter = one / (one + one + one + one)
    for j in visits:
        start, stop = starts[j], starts[j + 1]
        slope[:] = one - one
        bend[:] = one - one
        if plain and stop > start:
            sum_plain_column(
                loss, rows, start, stop, values[start], state, positive, sharpness, beyond, tight, one,
                quarter, radius[j], reach, slope, bend,
            )  # fmt: skip
        else:
            sum_valued_column(
                loss, rows, values, start, stop, state, weights, positive, sharpness, beyond, tight, one,
                quarter, radius[j], slope, bend,
            )  # fmt: skip
        finish_slopes(loss, sharpness, positive_sums[j], slope, bend)
        moved = take_step(
            prior, weight[j], slope, bend, strength[j], mode[j], low[j], high[j], informed, radius[j],
            active, move,
        )  # fmt: skip
        resize_trust_region(radius[j], move, rule, epsilon)
        if plain and moved and stop > start:
            for k in range(lanes):
                move[k] *= values[start]
            apply_plain(rows, start, stop, state, move)
        elif moved:
            apply_valued(rows, values, start, stop, state, move)


LOSS_CODES = {
    "squared": SQUARED,
    "squared_hinge": SQUARED_HINGE,
    "logistic": LOGISTIC,
    "modified_logistic": LOGISTIC,
}
RULE_CODES = {"epsilon": column_step.RULE_EPSILON, "halving": column_step.RULE_HALVING}
# Scores are taken afresh from the weights this often, so that rounding does not pile up in the state.
REFRESH = {"float32": 8, "float64": 64}


@dataclass
class ColumnLanes:
    """The arrays of a block, one lane a category, padded to a whole number of vectors."""

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
    visits: NDArray[np.int64]
    active: NDArray[Any]


def _pad_to_lanes(
    values: Any, shape: tuple[int, int], lanes: int, dtype: Any, fill: float = 0.0
) -> NDArray[Any]:
    out = np.full((shape[0], lanes), fill, dtype=dtype)
    out[:, : shape[1]] = np.broadcast_to(values, shape)
    return out


def prepare_column_lanes(
    problem: LinearProblem, block: slice, options: ColumnOptions, start: NDArray[np.float64]
) -> ColumnLanes:
    """Lay a block out in lanes; idle lanes and masked features get a trust region of 0."""
    dtype = np.dtype(options.precision)
    n, d, width = problem.documents, problem.features, start.shape[1]
    lanes, free, penalty = compute_lane_width(width), problem.free(block), problem.penalty
    signs = signs_of(problem, block)
    inside = problem.positive[:, block].astype(np.float64)
    if problem.weights is not None:
        inside = inside * problem.weights[:, block]
    strength = _pad_to_lanes(penalty.strength[:, block] * n, (d, width), lanes, dtype)

    def informed(values: NDArray[np.float64] | None, default: float) -> NDArray[Any]:
        if not penalty.informed:
            return strength
        return _pad_to_lanes(default if values is None else values[:, block], (d, width), lanes, dtype)

    radius = _pad_to_lanes(
        np.where(free, options.choose_first_radius(problem.loss), 0.0), (d, width), lanes, dtype
    )
    plain = has_plain_columns(problem)
    return ColumnLanes(
        weight=_pad_to_lanes(start, (d, width), lanes, dtype),
        state=np.zeros((n, lanes), dtype),
        target=_pad_to_lanes(problem.loss.target * signs, (n, width), lanes, dtype),
        positive=_pad_to_lanes(problem.positive[:, block], (n, width), lanes, np.bool_),
        weights=np.ones((1, 1), dtype) if plain else _pad_weights(problem, block, width, lanes, dtype),
        positive_sums=_pad_to_lanes(problem.columns.T @ inside, (d, width), lanes, dtype),
        strength=strength,
        mode=informed(penalty.mode, 0.0),
        low=informed(penalty.low, -np.inf),
        high=informed(penalty.high, np.inf),
        radius=radius,
        visits=order_features(problem, np.asarray(free.any(axis=1)), options.order),
        active=_pad_to_lanes(1.0, (1, width), lanes, dtype)[0],
    )


def order_features(problem: LinearProblem, wanted: NDArray[np.bool_], order: str) -> NDArray[np.int64]:
    """The features that a pass visits, in their order; the constant feature stands last in the matrix."""
    visits = np.flatnonzero(wanted)
    if order == "reversed":
        return visits[::-1].copy()
    if order == "constant_first" and problem.bias != 0.0:
        return np.roll(visits, 1)
    return visits


def _pad_weights(problem: LinearProblem, block: slice, width: int, lanes: int, dtype: Any) -> NDArray[Any]:
    weights = 1.0 if problem.weights is None else problem.weights[:, block]
    return _pad_to_lanes(weights, (problem.documents, width), lanes, dtype)


def has_plain_columns(problem: LinearProblem) -> bool:
    """Whether each feature's nonzeros share one value and documents are unweighted: the case of binary
    text."""
    if problem.weights is not None:
        return False
    columns = problem.columns
    firsts = np.repeat(
        columns.data[np.minimum(columns.indptr[:-1], max(columns.nnz - 1, 0))], np.diff(columns.indptr)
    )
    return bool((columns.data == firsts).all())


def refresh_scores(problem: LinearProblem, lanes: ColumnLanes, width: int) -> NDArray[np.float64]:
    """Take the scores afresh from the weights into the state; the scores are returned."""
    scores = scores_of(problem, lanes.weight[:, :width].astype(np.float64))
    lanes.state[:, :width] = scores - lanes.target[:, :width]
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
        total[:, kept] = moving[:, : len(kept)]
        return total

    def scores_now() -> NDArray[np.float64]:
        return latest(scores.copy(), lanes.state + lanes.target)

    def measured() -> OptimalityMeasures:
        return measure(problem, block, latest(weights, lanes.weight))

    while progress.running.any():
        beyond = options.compute_continuation(progress.passes + 1)
        sweep(beyond)
        if progress.passes % REFRESH[options.precision] == 0:
            refresh_scores(problem, lanes, len(kept))
        progress.end_pass(scores_now, measured, settled=beyond == 0.0)
        lanes.active[: len(kept)] = progress.running[kept]
        if 0 < compute_lane_width(int(progress.running.sum())) < len(lanes.active):
            latest(weights, lanes.weight)
            lanes = _drop_idle_lanes(lanes, np.flatnonzero(lanes.active))
            kept, sweep = np.flatnonzero(progress.running), _bind_pass(problem, lanes, options)
    latest(weights, lanes.weight)
    return BlockResult(weights, progress.certificates(measure(problem, block, weights), began))


def _drop_idle_lanes(lanes: ColumnLanes, moving: NDArray[np.int64]) -> ColumnLanes:
    """The lanes that still move, in arrays as narrow as they allow; idle ones fill them up."""
    wanted = compute_lane_width(len(moving))
    idle = np.setdiff1d(np.arange(len(lanes.active)), moving)[: wanted - len(moving)]
    chosen = np.concatenate([moving, idle])

    def narrowed(name: str, values: NDArray[Any]) -> NDArray[Any]:
        if name == "visits" or values.shape[-1] != len(lanes.active):
            return values
        return np.ascontiguousarray(values[..., chosen])

    return ColumnLanes(
        **{each.name: narrowed(each.name, getattr(lanes, each.name)) for each in fields(lanes)}
    )


def _bind_pass(problem: LinearProblem, lanes: ColumnLanes, options: ColumnOptions) -> Any:
    """One pass as a function of the continuation parameter, everything else bound."""
    columns, loss = problem.columns, problem.loss
    one = lanes.state.dtype.type(1)
    starts = columns.indptr.astype(np.int64)
    rows = columns.indices.astype(np.uint32)
    values = columns.data.astype(lanes.state.dtype)
    plain = has_plain_columns(problem)
    code = LOSS_CODES[loss.name]
    prior = LAPLACE if problem.penalty.prior == "laplace" else GAUSSIAN
    rule = column_step.RULE_NONE if code == SQUARED else RULE_CODES[options.trust_region]

    def sweep(beyond: float) -> None:
        run_column_pass(
            starts, rows, values, plain, lanes.state, lanes.weights, lanes.positive, lanes.positive_sums,
            code, one.dtype.type(loss.gamma), one.dtype.type(beyond), options.bound == "genkin_2004", prior,
            lanes.weight, lanes.strength, lanes.mode, lanes.low, lanes.high, problem.penalty.informed,
            lanes.visits, lanes.active, lanes.radius, rule, options.epsilon, one,
        )  # fmt: skip

    return sweep
