"""From a checked problem to a certified solution: packing, the algorithm for the prior, masked categories.

features of their own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.linear.fast.dual import StoppingRule, maximise_dual
from textcat.linear.fast.dual_ascent import BlockCertificate
from textcat.linear.fast.lasso import minimise_lasso
from textcat.linear.fast.layout import (
    CategoryBlock,
    PackedRows,
    group_categories,
    multiply_all_rows,
    pack_block,
    pack_rows,
    place_columns,
)
from textcat.parallel.threads import run_in_threads


@dataclass(frozen=True)
class LaneSolution:
    """Coefficients (features x categories) and float64 certificates by category.

    objective - optimum <= gap, because `dual_objective` is the value of a feasible dual point.
    `passes` counts passes over the whole matrix; `reason` is "converged" or "max_passes".
    """

    coef: NDArray[np.float64]
    objective: NDArray[np.float64]
    dual_objective: NDArray[np.float64]
    gap: NDArray[np.float64]
    passes: NDArray[np.float64]
    seconds: float
    reason: NDArray[np.str_]


def set_seconds(solution: LaneSolution, started: float) -> LaneSolution:
    """The same with the seconds since `started` (of `time.perf_counter`)."""
    return replace(solution, seconds=time.perf_counter() - started)


Array = NDArray[np.float64]


@dataclass(frozen=True)
class SolverTask:
    """A checked problem: C by category in `limits`, document weights in `importance`."""

    X: sp.csr_matrix
    Y: NDArray[np.bool_]
    loss: str
    prior: str
    limits: Array
    importance: Array
    aim: StoppingRule
    seed: int
    jobs: int = 1


def solve_task(task: SolverTask, init: Array | None) -> LaneSolution:
    """All features for all categories."""
    rows = pack_rows(task.X, task.importance)
    if task.prior == "laplace":
        return _solve_lasso(task, rows, init)
    labels = task.Y[task.importance > 0]
    groups = list(enumerate(group_categories(labels)))
    # Categories that each have an aim of their own need not be held at the same time.
    together = [[group] for group in groups] if task.aim.each else [groups]
    parts = run_in_threads(
        task.jobs, [partial(_solve_blocks, task, rows, labels, init, some) for some in together]
    )
    return _join_blocks([part for some in parts for part in some], rows.place, task.Y.shape[1])


@dataclass(frozen=True)
class BlockSolution:
    """What is kept of a solved block: weights in the order of `Rows`, and numbers by lane."""

    categories: NDArray[np.int64]
    W: Array
    certificate: BlockCertificate
    passes: float
    reached: bool


def _solve_blocks(
    task: SolverTask,
    rows: PackedRows,
    labels: NDArray[np.bool_],
    init: Array | None,
    groups: list[tuple[int, NDArray[np.int64]]],
) -> list[BlockSolution]:
    """Some blocks, from their numbers (which seed their order of visits) and categories to their solutions."""
    blocks = [pack_block(labels, task.limits, categories) for _, categories in groups]
    margins = None if init is None else [compute_start_margins(rows, block, init) for block in blocks]
    seeds = [(task.seed, number) for number, _ in groups]
    ascents, certificates = maximise_dual(rows, blocks, task.loss, task.aim, seeds, margins)
    reached = task.aim.reached(certificates, [block.size for block in blocks])
    return [
        BlockSolution(
            block.categories,
            certificate.W,
            replace(certificate, W=np.empty((0, 0)), margins=np.empty((0, 0))),
            ascent.passes,
            reached,
        )
        for block, ascent, certificate in zip(blocks, ascents, certificates, strict=True)
    ]


def _solve_lasso(task: SolverTask, rows: PackedRows, init: Array | None) -> LaneSolution:
    start = None
    if init is not None:
        start = np.empty_like(init)
        start[rows.place] = init
    lanes = minimise_lasso(
        rows, task.Y[task.importance > 0], task.limits, task.loss, task.aim, start, task.jobs
    )
    coef = np.zeros((len(lanes), rows.features))
    for lane in lanes:
        coef[lane.category, lane.columns] = lane.w
    return LaneSolution(
        np.ascontiguousarray(coef[:, rows.place].T),
        np.array([lane.objective for lane in lanes]),
        np.array([lane.dual_objective for lane in lanes]),
        np.array([lane.gap for lane in lanes]),
        np.array([float(lane.rounds) for lane in lanes]),
        0.0,
        np.array(["converged" if lane.done else "max_passes" for lane in lanes]),
    )


def compute_start_margins(rows: PackedRows, block: CategoryBlock, init: Array) -> Array:
    """Where to start from, in single precision: it is only a start."""
    W = np.zeros((rows.features, block.signs.shape[1]), np.float32)
    W[rows.place, : block.size] = init[:, block.categories]
    margins = np.empty(block.signs.shape, np.float32)
    multiply_all_rows(rows.spans, rows.indices, rows.single[0], W, margins)
    return np.asarray(block.signs * margins, np.float64)


def _join_blocks(parts: list[BlockSolution], place: NDArray[np.int32], categories: int) -> LaneSolution:
    coef = np.empty((len(place), categories))
    objective, dual, gap, passes = np.zeros((4, categories))
    reason = np.full(categories, "max_passes")
    for part in parts:
        own, size = part.categories, len(part.categories)
        place_columns(part.W, place, own, coef)
        objective[own] = part.certificate.objective[:size]
        dual[own] = part.certificate.dual_objective[:size]
        gap[own] = part.certificate.gap[:size]
        passes[own] = part.passes
        reason[own] = "converged" if part.reached else "max_passes"
    return LaneSolution(coef, objective, dual, gap, passes, 0.0, reason)


def solve_masked(task: SolverTask, mask: NDArray[np.bool_], init: Array | None) -> LaneSolution:
    """Categories with features of their own, those of equal selections together; weights outside a selection
    are zero.
    """
    groups: dict[bytes, list[int]] = {}
    packed = np.packbits(np.asarray(mask, bool), axis=0)
    for k in range(task.Y.shape[1]):
        groups.setdefault(packed[:, k].tobytes(), []).append(k)
    coef = np.zeros((task.X.shape[1], task.Y.shape[1]))
    parts = []
    for members in groups.values():
        own = np.array(members)
        chosen = np.flatnonzero(mask[:, own[0]])
        part = replace(task, X=task.X[:, chosen], Y=task.Y[:, own], limits=task.limits[own])
        solution = solve_task(part, None if init is None else init[np.ix_(chosen, own)])
        coef[np.ix_(chosen, own)] = solution.coef
        parts.append(solution)
    back = np.argsort(np.concatenate(list(groups.values())))
    joined = (
        np.concatenate([getattr(part, name) for part in parts])[back]
        for name in ("objective", "dual_objective", "gap", "passes", "reason")
    )
    objective, dual, gap, passes, reason = joined
    return LaneSolution(coef, objective, dual, gap, passes, 0.0, reason)
