"""The fast solver: check the problem, solve it for the prior, and cross-validate on shared packed rows.

Problem, for each category:  min_w  R(w) + C sum_i s_i loss(y_i w'x_i),  R = w'w/2 (gaussian) or |w|_1
(laplace)
In:   X documents x features (CSR, the constant column already appended and penalised like any other), Y
documents x categories
Out:  coefficients and a float64 certificate by category

Problem: as the other algorithms', with one lam a category, the constant penalized, no modes and no signs,
and weights that belong to documents. Output: weights of all categories and certificates whose objective and
gap are the lanes' own (in double precision, of a feasible dual point), in the units of the objective here.
The gap bounds the distance to the optimum; the violation, which would take another pass, is not measured.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError
from textcat.linear.algorithm_options import Options
from textcat.linear.certificate import Certificate
from textcat.linear.fast.dual import StoppingRule, maximise_dual
from textcat.linear.fast.lane_losses import LANE_LOSSES
from textcat.linear.fast.layout import (
    CategoryBlock,
    PackedRows,
    group_categories,
    multiply_all_rows,
    pack_block,
    pack_rows,
)
from textcat.linear.fast.task import (
    LaneSolution,
    SolverTask,
    compute_start_margins,
    set_seconds,
    solve_masked,
    solve_task,
)
from textcat.linear.mapped_arrays import split_into_pieces
from textcat.linear.problem import Floats, LinearProblem
from textcat.linear.regularization import c_from_lam
from textcat.linear.simd import WIDTH
from textcat.linear.stopping import BlockResult
from textcat.parallel.threads import limit_to_one_thread, run_in_threads

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SolverFold:
    """The documents that are trained on and those that are scored, and C by category."""

    kept: NDArray[np.int64]
    held: NDArray[np.int64]
    limits: Array


def solve_task_folds(task: SolverTask, folds: Sequence[SolverFold], init: Array | None) -> list[Array]:
    """The products of each fold's held documents with the weights of its kept ones, under the gaussian prior; `init`
    are weights of all documents to start from, and the task's own C is not read.
    """
    rows = pack_rows(task.X, task.importance)
    found = [np.empty((len(fold.held), task.Y.shape[1])) for fold in folds]
    # One block after the other: its signs and margins are as large as the documents are many.
    for number, categories in enumerate(group_categories(task.Y)):
        block = pack_block(task.Y, task.limits, categories)
        margins = None if init is None else compute_start_margins(rows, block, init)
        work = partial(_compute_fold_products, task, rows, (task.seed, number), block, margins)
        for whole, part in zip(
            found, run_in_threads(task.jobs, [partial(work, fold) for fold in folds]), strict=True
        ):
            whole[:, categories] = part[:, : block.size]
    return found


def _compute_fold_products(
    task: SolverTask,
    rows: PackedRows,
    seed: tuple[int, int],
    block: CategoryBlock,
    margins: Array | None,
    fold: SolverFold,
) -> Array:
    """Those of one block on one fold, by lane."""
    part = replace(block, signs=block.signs[fold.kept], limits=fold.limits[block.lanes])
    start = None if margins is None else [margins[fold.kept]]
    _, (found,) = maximise_dual(rows.select_documents(fold.kept), [part], task.loss, task.aim, [seed], start)
    held = rows.select_documents(fold.held)
    products = np.empty((held.documents, WIDTH))
    multiply_all_rows(held.spans, held.indices, held.data, found.W, products)
    return products


def solve(
    X: Any,
    Y: ArrayLike,
    *,
    loss: str = "logistic",
    prior: str = "gaussian",
    C: float = 1.0,
    tol: float = 1e-5,
    max_passes: float = 10_000,
    seed: int = 0,
    init: NDArray[np.float64] | None = None,
    mask: NDArray[np.bool_] | None = None,
    C_per_category: Sequence[float] | None = None,
    sample_weight: ArrayLike | None = None,
    criterion: Literal["total", "each"] = "total",
    n_jobs: int = 1,
) -> LaneSolution:
    """Solve all categories until the duality gap is at most `tol` times the objective, in total or for each
    category.
    """
    started = time.perf_counter()
    _check_settings(loss, prior, tol)
    matrix, labels = _check_data(X, Y)
    limits = np.full(labels.shape[1], C) if C_per_category is None else np.asarray(C_per_category, np.float64)
    importance = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    _check_positive(limits, importance, labels.shape)
    aim = StoppingRule(tol, criterion == "each", max_passes)
    task = SolverTask(matrix, labels, loss, prior, limits, importance, aim, seed, n_jobs)
    with limit_to_one_thread():
        solution = solve_masked(task, mask, init) if mask is not None else solve_task(task, init)
    return set_seconds(solution, started)


def solve_folds(
    X: Any,
    Y: ArrayLike,
    folds: Sequence[SolverFold],
    *,
    loss: str = "logistic",
    tol: float = 1e-5,
    max_passes: float = 10_000,
    seed: int = 0,
    init: NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> list[Array]:
    """The products of each fold's held documents with weights of its other documents, under the gaussian prior, solved
    until each category has a duality gap of at most `tol` times its objective; `init` are weights of all documents.
    """
    _check_settings(loss, "gaussian", tol)
    matrix, labels = _check_data(X, Y)
    importance = np.ones(len(labels))
    for fold in folds:
        _check_positive(fold.limits, importance, labels.shape)
    task = SolverTask(
        matrix,
        labels,
        loss,
        "gaussian",
        folds[0].limits,
        importance,
        StoppingRule(tol, True, max_passes),
        seed,
        n_jobs,
    )
    with limit_to_one_thread():
        return solve_task_folds(task, folds, init)


def _check_settings(loss: str, prior: str, tol: float) -> None:
    if loss not in LANE_LOSSES:
        raise UsageError(f"unknown loss {loss!r}", hint=f"one of {', '.join(LANE_LOSSES)}")
    if prior not in ("gaussian", "laplace"):
        raise UsageError(f"unknown prior {prior!r}", hint="Choose gaussian or laplace.")
    if prior == "laplace" and not LANE_LOSSES[loss].smooth:
        raise UsageError(
            f"{loss} loss with a laplace prior is not smooth in any coordinate",
            hint="Take squared_hinge, or the gaussian prior.",
        )
    if not tol > 0:
        raise UsageError(f"tol must be positive, not {tol}", hint="Give a number such as 1e-4.")


def _check_data(X: Any, Y: ArrayLike) -> tuple[sp.csr_matrix, NDArray[np.bool_]]:
    matrix = sp.csr_matrix(X)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    labels = np.asarray(Y, bool)
    labels = labels[:, None] if labels.ndim == 1 else labels
    if labels.shape[0] != matrix.shape[0]:
        raise UsageError(
            f"{matrix.shape[0]} documents but labels for {labels.shape[0]}",
            hint="Give a row of labels for each document.",
        )
    if not all(np.isfinite(matrix.data[piece]).all() for piece in split_into_pieces(matrix.nnz)):
        raise UsageError(
            "the matrix holds values that are not finite", hint="Replace or leave out what is not a number."
        )
    return matrix, labels


def _check_positive(limits: Array, importance: Array, shape: tuple[int, ...]) -> None:
    if limits.shape != shape[1:] or not (limits > 0).all() or not np.isfinite(limits).all():
        raise UsageError(
            "C must be positive and finite, one number or one a category", hint="Give a number such as 1."
        )
    if importance.shape != shape[:1] or not (importance >= 0).all() or not np.isfinite(importance).all():
        raise UsageError(
            "sample weights must be finite and not negative, one a document",
            hint="Give a number of 0 or more for each document.",
        )


Numbers = NDArray[np.int64]

FAST_LOSSES = ("logistic", "hinge", "squared_hinge")


@dataclass(frozen=True)
class FastOptions(Options):
    """The fast path stops at the optimum, each category at a duality gap within tol of its objective."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop != "optimality":
            raise UsageError(
                "the fast path knows no passes of the papers, only the optimum",
                where="fit",
                hint="Choose the algorithm `column` or `row` for the papers' passes.",
            )


def make_single_block(problem: LinearProblem, options: FastOptions) -> list[slice]:
    """All categories at once: the lanes split them themselves."""
    return [slice(0, problem.categories)] if problem.categories else []


def solve_block(problem: LinearProblem, block: slice, options: FastOptions, start: Floats) -> BlockResult:
    """Hand the problem over in the form C sum f + penalty, and bring the answer back."""
    n, prior = problem.documents, problem.penalty.prior
    lams = np.asarray(problem.penalty.strength[0, block])
    costs = c_from_lam(lams, n, prior)
    solution = solve(
        problem.rows, problem.positive[:, block], loss=problem.loss.name, prior=prior,
        C_per_category=costs.tolist(), tol=options.tol, max_passes=options.max_passes, seed=options.seed,
        init=start if start.any() else None, mask=problem.free(block) if problem.mask is not None else None,
        sample_weight=None if problem.weights is None else problem.weights[:, 0], criterion="each",
        n_jobs=options.jobs,
    )  # fmt: skip
    objective, gaps = solution.objective / (costs * n), solution.gap / (costs * n)
    seconds = float(solution.seconds / max(len(costs), 1))
    reached = gaps <= options.tol * objective
    certificates = [
        Certificate(
            float(objective[k]), np.nan, float(gaps[k]), int(np.ceil(solution.passes[k])), seconds,
            "optimality" if reached[k] else "passes",
        )
        for k in range(len(costs))
    ]  # fmt: skip
    return BlockResult(solution.coef, certificates)


def score_fast_folds(
    problem: LinearProblem,
    options: FastOptions,
    folds: Sequence[tuple[Numbers, Numbers]],
    lams: Sequence[Floats],
    start: Floats,
) -> list[Floats]:
    """Scores of each fold's second documents, trained on its first ones with the Gaussian prior; from the weights
    `start` of all documents, where the loss is smooth: of the hinge's dual variables weights know too little.
    """
    known = problem.loss.smooth and start.any()
    parts = [
        SolverFold(kept, held, c_from_lam(lam, len(kept)))
        for (kept, held), lam in zip(folds, lams, strict=True)
    ]
    return solve_folds(
        problem.rows, problem.positive, parts, loss=problem.loss.name, tol=options.tol,
        max_passes=options.max_passes, seed=options.seed, init=start if known else None, n_jobs=options.jobs,
    )  # fmt: skip
