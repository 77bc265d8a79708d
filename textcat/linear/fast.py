"""The fastest path to the same optimum: the lanes of textcat.linear.lanes behind the contract of `fit`.

Problem: as the other algorithms', with one lam a category, the constant penalized, no modes and no signs,
and weights that belong to documents. Output: weights of all categories and certificates whose objective and
gap are the lanes' own (in double precision, of a feasible dual point), in the units of the objective here.
The gap bounds the distance to the optimum; the violation, which would take another pass, is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.linear.certificate import Certificate
from textcat.linear.lanes.folds import Fold
from textcat.linear.lanes.solve import solve, solve_folds
from textcat.linear.options import Options
from textcat.linear.problem import Floats, Problem
from textcat.linear.progress import BlockResult
from textcat.linear.regularization import c_from_lam

Numbers = NDArray[np.int64]

LOSSES = ("logistic", "hinge", "squared_hinge")


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
