"""Independent optima: scipy's L-BFGS on smooth objectives, liblinear (through scikit-learn) on the
others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.svm import LinearSVC


def with_constant(X: Any, bias: float = 1.0) -> np.ndarray:
    dense = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    return np.hstack([dense, np.full((dense.shape[0], 1), bias)])


def loss_and_slope(name: str, r: np.ndarray, gamma: float = 10.0) -> tuple[np.ndarray, np.ndarray]:
    if name == "squared":
        return (r - 1) ** 2, 2 * (r - 1)
    if name == "squared_hinge":
        short = np.minimum(r - 1, 0)
        return short**2, 2 * short
    if name == "logistic":
        return np.logaddexp(0, -r), -expit(-r)
    if name == "modified_logistic":
        return np.logaddexp(0, -gamma * (r - 1)) / gamma, -expit(-gamma * (r - 1))
    return np.maximum(0, 1 - r), np.where(r < 1, -1.0, 0.0)


def objective(
    name: str, X: np.ndarray, y: np.ndarray, w: np.ndarray, lam: Any, prior: str = "gaussian", c: Any = 1.0,
    gamma: float = 10.0,
) -> float:  # fmt: skip
    losses, _ = loss_and_slope(name, (X @ w) * y, gamma)
    size = np.abs(w) if prior == "laplace" else w * w
    return float(np.mean(c * losses) + np.sum(lam * size))


def smooth_optimum(
    name: str, X: np.ndarray, y: np.ndarray, lam: Any, c: Any = 1.0, gamma: float = 10.0
) -> tuple[float, np.ndarray]:
    """The least objective under a Gaussian prior; lam a number or one a feature."""

    def both(w: np.ndarray) -> tuple[float, np.ndarray]:
        losses, slope = loss_and_slope(name, (X @ w) * y, gamma)
        value = np.mean(c * losses) + np.sum(lam * w * w)
        return value, X.T @ (c * slope * y) / len(y) + 2 * lam * w

    w = np.zeros(X.shape[1])
    for _ in range(5):
        found = minimize(
            both,
            w,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-12},
        )
        w = found.x
    return float(both(w)[0]), w


def laplace_optimum(
    name: str, X: np.ndarray, y: np.ndarray, lam: Any, gamma: float = 10.0
) -> tuple[float, np.ndarray]:
    """The least objective under a Laplace prior: w = p - q with p, q >= 0, by bounded L-BFGS."""
    d = X.shape[1]

    def both(z: np.ndarray) -> tuple[float, np.ndarray]:
        losses, slope = loss_and_slope(name, (X @ (z[:d] - z[d:])) * y, gamma)
        pull = X.T @ (slope * y) / len(y)
        return np.mean(losses) + np.sum(lam * (z[:d] + z[d:])), np.concatenate([pull + lam, -pull + lam])

    z = np.zeros(2 * d)
    for _ in range(5):
        found = minimize(
            both, z, jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * d),
            options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-12},
        )  # fmt: skip
        z = found.x
    w = z[:d] - z[d:]
    return objective(name, X, y, w, lam, "laplace", gamma=gamma), w


def hinge_optimum(X: np.ndarray, y: np.ndarray, lam: float) -> float:
    """The support vector machine's least objective, by liblinear's dual."""
    machine = LinearSVC(
        C=1 / (2 * lam * len(y)),
        loss="hinge",
        fit_intercept=False,
        tol=1e-10,
        max_iter=2_000_000,
        random_state=0,
    )
    machine.fit(X, y)
    return objective("hinge", X, y, machine.coef_[0], lam)
