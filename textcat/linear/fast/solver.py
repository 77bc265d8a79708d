"""The fast algorithm: hinge, squared hinge and logistic loss to a certified optimum, sixteen categories at once.

Problem, for each category:  min_w  R(w) + C sum_i s_i loss(y_i w'x_i),  R = w'w/2 (Gaussian) or |w|_1
(Laplace), with one C per category and one weight s_i per document; the constant is penalized like any
feature, and there are no modes and no signs.
In:   a LinearProblem, in the form (1/n) sum f + lam penalty
Out:  weights and certificates; objective and gap are computed in double precision from a feasible dual point.
The violation is not measured: it would take another pass, and the gap already bounds the distance to the
optimum.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.linear.algorithm_options import FastOptions
from textcat.linear.certificate import BlockResult, Certificate
from textcat.linear.fast.dual import StoppingRule, maximise_dual
from textcat.linear.fast.lasso import minimise_lasso
from textcat.linear.fast.layout import (
    CategoryBlock,
    PackedRows,
    group_categories,
    multiply_all_rows,
    pack_block,
    pack_rows,
    place_columns,
    take_columns,
)
from textcat.linear.problem import Floats, LinearProblem, allocate_lanes
from textcat.linear.regularization import c_from_lam
from textcat.linear.simd import WIDTH
from textcat.parallel.executors import limit_to_one_thread, run_in_threads

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class SolverTask:
    """A problem in the form of the kernels: C per category in `limits`, document weights in `importance`."""

    X: sp.csr_matrix
    Y: NDArray[np.bool_]
    loss: str
    prior: str
    limits: Floats
    importance: Floats
    rule: StoppingRule
    seed: int
    jobs: int


@dataclass(frozen=True)
class FastSolution:
    """Weights (features x categories), and objective, gap and passes per category.

    `passes` counts passes over the whole matrix, parts of passes included.
    """

    coef: Floats
    objective: Floats
    gap: Floats
    passes: Floats


def solve_block(problem: LinearProblem, block: slice, options: FastOptions, start: Floats) -> BlockResult:
    """Solve all categories of a block from the weights `start`; return weights and certificates."""
    began = time.perf_counter()
    n, prior = problem.documents, problem.penalty.prior
    costs = c_from_lam(np.asarray(problem.penalty.strength[0, block]), n, prior)
    importance = np.ones(n) if problem.weights is None else np.asarray(problem.weights[:, 0], np.float64)
    task = _make_task(problem, options, problem.positive[:, block], costs, importance)
    init = start if start.any() else None
    with limit_to_one_thread():
        if problem.mask is None:
            solution = _solve_task(task, init)
        else:
            solution = _solve_masked(task, problem.free(block), init)
    objective, gaps = solution.objective / (costs * n), solution.gap / (costs * n)
    seconds = (time.perf_counter() - began) / max(len(costs), 1)
    reached = gaps <= options.tol * objective
    certificates = [
        Certificate(
            float(objective[k]), np.nan, float(gaps[k]), int(np.ceil(solution.passes[k])), seconds,
            "optimality" if reached[k] else "passes",
        )
        for k in range(len(costs))
    ]  # fmt: skip
    return BlockResult(solution.coef, certificates)


def _make_task(
    problem: LinearProblem, options: FastOptions, labels: NDArray[np.bool_], costs: Floats, importance: Floats
) -> SolverTask:
    if not np.isfinite(costs).all():
        raise UsageError("lam is so small that C is not finite", where="fit", hint="Give a lam such as 1e-6.")
    rule = StoppingRule(options.tol, options.max_passes)
    loss, prior = problem.loss.name, problem.penalty.prior
    return SolverTask(problem.rows, labels, loss, prior, costs, importance, rule, options.seed, options.jobs)


def _solve_task(task: SolverTask, init: Floats | None) -> FastSolution:
    """Solve all categories on all features."""
    rows = pack_rows(task.X, task.importance)
    if task.prior == "laplace":
        return _solve_lasso(task, rows, init)
    labels = _select_labels(task)
    parts = run_in_threads(
        task.jobs,
        [
            partial(_solve_group, task, rows, labels, init, number, categories)
            for number, categories in enumerate(group_categories(labels))
        ],
    )
    coef = np.empty((rows.features, task.Y.shape[1]))
    objective, gap, passes = np.zeros((3, task.Y.shape[1]))
    for part in parts:
        own = part.categories
        objective[own], gap[own], passes[own] = part.objective, part.gap, part.passes
    _place_weights(parts, rows.place, coef)
    return FastSolution(coef, objective, gap, passes)


def _select_labels(task: SolverTask) -> NDArray[np.bool_]:
    """Return the labels of the documents of positive weight, without a copy if these are all documents."""
    return task.Y if task.importance.all() else task.Y[task.importance > 0]


@dataclass(frozen=True)
class GroupSolution:
    """A solved group of categories: weights (features in the order of `PackedRows`), and values by category."""

    categories: Numbers
    W: NDArray[np.floating]
    objective: Floats
    gap: Floats
    passes: float


# Rows of the weights of all categories that are written together, so that they stay in the cache.
_ROWS_PER_TILE = 512


def _place_weights(parts: Sequence[GroupSolution], place: NDArray[np.int32], coef: Floats) -> None:
    for start in range(0, len(coef), _ROWS_PER_TILE):
        tile = slice(start, start + _ROWS_PER_TILE)
        for part in parts:
            place_columns(part.W, place[tile], part.categories, coef[tile])


def _solve_group(
    task: SolverTask,
    rows: PackedRows,
    labels: NDArray[np.bool_],
    init: Floats | None,
    number: int,
    categories: Numbers,
) -> GroupSolution:
    """Solve a group of at most sixteen categories; its number seeds the order of visits."""
    block = pack_block(labels, task.limits, categories)
    margins = None if init is None else _compute_start_margins(rows, block, [init])
    found, passes = maximise_dual(rows, block, task.loss, task.rule, (task.seed, number), margins)
    return GroupSolution(categories, found.W, found.objective[: block.size], found.gap[: block.size], passes)


def _solve_lasso(task: SolverTask, rows: PackedRows, init: Floats | None) -> FastSolution:
    start = None
    if init is not None:
        start = np.empty_like(init)
        start[rows.place] = init
    labels = _select_labels(task)
    lanes = minimise_lasso(rows, labels, task.limits, task.loss, task.rule, start, task.jobs)
    coef = np.zeros((len(lanes), rows.features))
    for lane in lanes:
        coef[lane.category, lane.columns] = lane.w
    return FastSolution(
        np.ascontiguousarray(coef[:, rows.place].T),
        np.array([lane.objective for lane in lanes]),
        np.array([lane.gap for lane in lanes]),
        np.array([float(lane.rounds) for lane in lanes]),
    )


def _compute_start_margins(rows: PackedRows, block: CategoryBlock, init: Sequence[Floats]) -> Floats:
    """Return the margins of the weights to start from, given in parts; single precision is enough for a start."""
    W = allocate_lanes((rows.features, WIDTH), np.float32)
    ends = np.cumsum([len(part) for part in init])
    for part, end in zip(init, ends, strict=True):
        take_columns(part, rows.place[end - len(part) : end], block.categories, W)
    margins = np.empty(block.signs.shape, np.float32)
    multiply_all_rows(rows.spans, rows.indices, rows.single[0], W, margins)
    return np.asarray(block.signs * margins, np.float64)


def _solve_masked(task: SolverTask, mask: NDArray[np.bool_], init: Floats | None) -> FastSolution:
    """Solve categories with selected features, those of equal selections together.

    Weights outside a selection are zero.
    """
    groups: dict[bytes, list[int]] = {}
    packed = np.packbits(np.asarray(mask, bool), axis=0)
    for k in range(task.Y.shape[1]):
        groups.setdefault(packed[:, k].tobytes(), []).append(k)
    coef = np.zeros((task.X.shape[1], task.Y.shape[1]))
    objective, gap, passes = np.zeros((3, task.Y.shape[1]))
    for members in groups.values():
        own = np.array(members)
        chosen = np.flatnonzero(mask[:, own[0]])
        part = replace(task, X=task.X[:, chosen], Y=task.Y[:, own], limits=task.limits[own])
        solution = _solve_task(part, None if init is None else init[np.ix_(chosen, own)])
        coef[np.ix_(chosen, own)] = solution.coef
        objective[own], gap[own], passes[own] = solution.objective, solution.gap, solution.passes
    return FastSolution(coef, objective, gap, passes)


# The gap of a fold is computed in float32 if it need not be smaller than this share of the objective.
_EXACT_BELOW = 1e-5


def score_fast_folds(
    problem: LinearProblem,
    options: FastOptions,
    folds: Sequence[tuple[Numbers, Numbers]],
    lams: Sequence[Floats],
    start: Sequence[Floats] | None,
) -> list[Floats]:
    """Return the scores of each fold's held-out documents, trained on its other ones with the Gaussian prior.

    A fold is (documents to train on, documents to score); all folds read the same packed rows. Training
    starts from `start`, weights of all documents in parts, where the loss is smooth; for the hinge, weights
    say too little about the dual variables.
    """
    parts = [
        SolverFold(kept, held, c_from_lam(lam, len(kept)))
        for (kept, held), lam in zip(folds, lams, strict=True)
    ]
    ones = np.ones(problem.documents)
    task = _make_task(problem, options, problem.positive, parts[0].limits, ones)
    known = problem.loss.smooth and start is not None and any(part.any() for part in start)
    with limit_to_one_thread():
        return _score_task_folds(task, parts, start if known else None)


@dataclass(frozen=True)
class SolverFold:
    """The documents to train on, those to score, and C per category."""

    kept: Numbers
    held: Numbers
    limits: Floats


def _score_task_folds(
    task: SolverTask, folds: Sequence[SolverFold], init: Sequence[Floats] | None
) -> list[Floats]:
    rows = pack_rows(task.X, task.importance)
    found = [np.empty((len(fold.held), task.Y.shape[1])) for fold in folds]
    # One block at a time: its signs and margins have a row per document.
    for number, categories in enumerate(group_categories(task.Y)):
        block = pack_block(task.Y, task.limits, categories)
        margins = None if init is None else _compute_start_margins(rows, block, init)
        work = partial(_score_fold, task, rows, (task.seed, number), block, margins)
        parts = run_in_threads(task.jobs, [partial(work, fold) for fold in folds])
        for whole, part in zip(found, parts, strict=True):
            whole[:, categories] = part[:, : block.size]
    return found


def _score_fold(
    task: SolverTask,
    rows: PackedRows,
    seed: tuple[int, int],
    block: CategoryBlock,
    margins: Floats | None,
    fold: SolverFold,
) -> Floats:
    """Train one block on one fold; return the scores of the held-out documents by lane."""
    part = replace(block, signs=block.signs[fold.kept], limits=fold.limits[block.lanes])
    start = None if margins is None else margins[fold.kept]
    kept, held = rows.select_documents(fold.kept), rows.select_documents(fold.held)
    exact = task.rule.tol < _EXACT_BELOW
    solved, _ = maximise_dual(kept, part, task.loss, task.rule, seed, start, exact=exact)
    scores = np.empty((held.documents, WIDTH), solved.W.dtype)
    multiply_all_rows(held.spans, held.indices, held.values(solved.W.dtype)[0], solved.W, scores)
    return scores
