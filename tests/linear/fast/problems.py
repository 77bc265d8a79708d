"""Problems of odd shapes, and the objective written as plainly as can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from textcat.linear import LinearModel, fit
from textcat.linear.regularization import lam_from_c


def make(seed: int, n: int, d: int, k: int, density: float = 0.3, scale: float = 1.0):
    """A sparse matrix with its constant column, and labels of which the first two categories are empty and
    full.
    """
    rng = np.random.default_rng(seed)
    features = sp.random(n, d, density=density, random_state=rng, format="csr") * scale
    X = sp.csr_matrix(sp.hstack([features, np.ones((n, 1))]))
    Y = rng.random((n, k)) < rng.uniform(0.05, 0.6, k)
    Y[:, 0] = False
    if k > 1:
        Y[:, 1] = True
    return X, Y


def objective(X, Y, coef, loss, prior, C, weight=None):
    """R(w) + C sum of weighted losses, by category."""
    z = np.where(Y, 1.0, -1.0) * (X @ coef)
    values = {
        "logistic": lambda: np.logaddexp(0, -z),
        "hinge": lambda: np.maximum(0, 1 - z),
        "squared_hinge": lambda: np.maximum(0, 1 - z) ** 2,
    }[loss]()
    weight = np.ones(len(Y)) if weight is None else weight
    penalty = (coef**2).sum(axis=0) / 2 if prior == "gaussian" else np.abs(coef).sum(axis=0)
    return penalty + C * (weight[:, None] * values).sum(axis=0)


@dataclass(frozen=True)
class Solution:
    """What `fit` found, in the units of R(w) + C sum of losses."""

    coef: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    passes: np.ndarray
    reason: list[str]


def solve(X, Y, C=1.0, prior="gaussian", init=None, max_passes=10_000, tol=1e-5, **settings) -> Solution:
    """Fit by the fast algorithm to a matrix that has its constant column."""
    n, costs = X.shape[0], np.broadcast_to(C, 1 if Y.ndim == 1 else Y.shape[1])
    start = None if init is None else LinearModel(init, np.zeros(init.shape[1]))
    model = fit(
        X, Y, algorithm="fast", prior=prior, lam=lam_from_c(costs, n, prior), bias=0.0, init=start,
        max_passes=max_passes, tol=tol, **settings,
    )  # fmt: skip
    objective, gap = (
        np.array([getattr(each, name) for each in model.certificate]) * costs * n
        for name in ("objective", "gap")
    )
    passes = np.array([each.passes for each in model.certificate])
    return Solution(model.coef, objective, gap, passes, [each.reason for each in model.certificate])
