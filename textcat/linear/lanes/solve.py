"""The fastest way here to the optimum of one-vs-rest linear categorization.

Problem, for each category:  min_w  R(w) + C sum_i s_i loss(y_i w'x_i),  R = w'w/2 (gaussian) or |w|_1
(laplace)
In:   X documents x features (CSR, the constant column already appended and penalised like any other), Y
documents x categories
Out:  coefficients and a float64 certificate by category
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError
from textcat.linear.lanes.dual import Aim
from textcat.linear.lanes.folds import Fold, solve_each
from textcat.linear.lanes.losses import LOSSES
from textcat.linear.lanes.solution import LaneSolution, finished
from textcat.linear.lanes.task import Task, solve_masked, solve_task
from textcat.linear.mapped import pieces
from textcat.linear.threads import one_thread

Array = NDArray[np.float64]


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
