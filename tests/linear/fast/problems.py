"""Problems of odd shapes, and the objective written as plainly as can be."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


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
        "squared": lambda: (1 - z) ** 2,
    }[loss]()
    weight = np.ones(len(Y)) if weight is None else weight
    penalty = (coef**2).sum(axis=0) / 2 if prior == "gaussian" else np.abs(coef).sum(axis=0)
    return penalty + C * (weight[:, None] * values).sum(axis=0)
