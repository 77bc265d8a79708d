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
from textcat.linear.certificate import Certificate
from textcat.linear.fast.dual import Aim, maximise
from textcat.linear.fast.lane_losses import LOSSES
from textcat.linear.fast.layout import Block, Rows, all_products, groups_of, pack_block, pack_rows
from textcat.linear.fast.task import LaneSolution, Task, finished, margins_of, solve_masked, solve_task
from textcat.linear.mapped_arrays import pieces
from textcat.linear.options import Options
from textcat.linear.problem import Floats, Problem
from textcat.linear.regularization import c_from_lam
from textcat.linear.simd import WIDTH
from textcat.linear.stopping import BlockResult
from textcat.parallel.threads import in_threads, one_thread

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """The documents that are trained on and those that are scored, and C by category."""

    kept: NDArray[np.int64]
    held: NDArray[np.int64]
    limits: Array


def solve_each(task: Task, folds: Sequence[Fold], init: Array | None) -> list[Array]:
    """The products of each fold's held documents with the weights of its kept ones, under the gaussian prior; `init`
    are weights of all documents to start from, and the task's own C is not read.
    """
    rows = pack_rows(task.X, task.importance)
    found = [np.empty((len(fold.held), task.Y.shape[1])) for fold in folds]
    # One block after the other: its signs and margins are as large as the documents are many.
    for number, categories in enumerate(groups_of(task.Y)):
        block = pack_block(task.Y, task.limits, categories)
        margins = None if init is None else margins_of(rows, block, init)
        work = partial(_products, task, rows, (task.seed, number), block, margins)
        for whole, part in zip(
            found, in_threads(task.jobs, [partial(work, fold) for fold in folds]), strict=True
        ):
            whole[:, categories] = part[:, : block.size]
    return found


def _products(
    task: Task, rows: Rows, seed: tuple[int, int], block: Block, margins: Array | None, fold: Fold
) -> Array:
    """Those of one block on one fold, by lane."""
    part = replace(block, signs=block.signs[fold.kept], limits=fold.limits[block.lanes])
    start = None if margins is None else [margins[fold.kept]]
    _, (found,) = maximise(rows.some(fold.kept), [part], task.loss, task.aim, [seed], start)
    held = rows.some(fold.held)
    products = np.empty((held.documents, WIDTH))
    all_products(held.spans, held.indices, held.data, found.W, products)
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
    _refuse(loss, prior, tol)
    matrix, labels = _checked(X, Y)
    limits = np.full(labels.shape[1], C) if C_per_category is None else np.asarray(C_per_category, np.float64)
    importance = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    _check_positive(limits, importance, labels.shape)
    aim = Aim(tol, criterion == "each", max_passes)
    task = Task(matrix, labels, loss, prior, limits, importance, aim, seed, n_jobs)
    with one_thread():
        solution = solve_masked(task, mask, init) if mask is not None else solve_task(task, init)
    return finished(solution, started)


def solve_folds(
    X: Any,
    Y: ArrayLike,
    folds: Sequence[Fold],
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
    _refuse(loss, "gaussian", tol)
    matrix, labels = _checked(X, Y)
    importance = np.ones(len(labels))
    for fold in folds:
        _check_positive(fold.limits, importance, labels.shape)
    task = Task(
        matrix,
        labels,
        loss,
        "gaussian",
        folds[0].limits,
        importance,
        Aim(tol, True, max_passes),
        seed,
        n_jobs,
    )
    with one_thread():
        return solve_each(task, folds, init)


def _refuse(loss: str, prior: str, tol: float) -> None:
    if loss not in LOSSES:
        raise UsageError(f"unknown loss {loss!r}", hint=f"one of {', '.join(LOSSES)}")
    if prior not in ("gaussian", "laplace"):
        raise UsageError(f"unknown prior {prior!r}", hint="Choose gaussian or laplace.")
    if prior == "laplace" and not LOSSES[loss].smooth:
        raise UsageError(
            f"{loss} loss with a laplace prior is not smooth in any coordinate",
            hint="Take squared_hinge, or the gaussian prior.",
        )
    if not tol > 0:
        raise UsageError(f"tol must be positive, not {tol}", hint="Give a number such as 1e-4.")


def _checked(X: Any, Y: ArrayLike) -> tuple[sp.csr_matrix, NDArray[np.bool_]]:
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
    if not all(np.isfinite(matrix.data[piece]).all() for piece in pieces(matrix.nnz)):
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


def blocks(problem: Problem, options: FastOptions) -> list[slice]:
    """All categories at once: the lanes split them themselves."""
    return [slice(0, problem.categories)] if problem.categories else []


def solve_block(problem: Problem, block: slice, options: FastOptions, start: Floats) -> BlockResult:
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


def scores_of_folds(
    problem: Problem,
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
        Fold(kept, held, c_from_lam(lam, len(kept))) for (kept, held), lam in zip(folds, lams, strict=True)
    ]
    return solve_folds(
        problem.rows, problem.positive, parts, loss=problem.loss.name, tol=options.tol,
        max_passes=options.max_passes, seed=options.seed, init=start if known else None, n_jobs=options.jobs,
    )  # fmt: skip
