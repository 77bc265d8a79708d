"""The problems that solvers are measured on, and their objective in plain numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BenchmarkProblem:
    """R(w) + C sum of losses, summed over the categories."""

    loss: str
    prior: str
    C: float

    @property
    def name(self) -> str:
        """A short name, as in the reports."""
        return f"{'L2' if self.prior == 'gaussian' else 'L1'} {self.loss} C={self.C:g}"


PROBLEMS = tuple(
    BenchmarkProblem(loss, prior, C)
    for loss, prior in (
        ("logistic", "gaussian"),
        ("logistic", "laplace"),
        ("hinge", "gaussian"),
        ("squared_hinge", "gaussian"),
    )
    for C in (1.0, 100.0)
)


def compute_objective(
    X: sp.csr_matrix, Y: NDArray[np.bool_], coef: Array, problem: BenchmarkProblem
) -> float:
    """The objective summed over the categories, in float64."""
    z = np.where(Y, 1.0, -1.0) * (X @ coef)
    if problem.loss == "logistic":
        losses = np.logaddexp(0.0, -z)
    else:
        missing = 1.0 - z if problem.loss == "squared" else np.maximum(0.0, 1.0 - z)
        losses = missing if problem.loss == "hinge" else missing * missing
    penalty = 0.5 * (coef * coef).sum() if problem.prior == "gaussian" else np.abs(coef).sum()
    return float(penalty + problem.C * losses.sum())
