"""The problems that solvers are measured on, and the other solvers: each is used only if it is installed.

A peer is prepared with a matrix and a problem. It then fits one category at a time: from the category's signs
and a tolerance of the peer's own kind to the weights. Conversions of the matrix belong to the preparation and
are not timed, except where a peer converts inside its `fit`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
CategoryFit = Callable[[Array, float], Array]

_LOOSE_TO_TIGHT = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)


@dataclass(frozen=True)
class BenchmarkProblem:
    """Minimize R(w) + C x sum of losses, summed over the categories."""

    loss: str
    prior: str
    C: float

    @property
    def name(self) -> str:
        """Return a short name, such as "L1 logistic C=1"."""
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
    """Return the objective, summed over the categories, in float64."""
    z = np.where(Y, 1.0, -1.0) * (X @ coef)
    if problem.loss == "logistic":
        losses = np.logaddexp(0.0, -z)
    else:
        missing = 1.0 - z if problem.loss == "squared" else np.maximum(0.0, 1.0 - z)
        losses = missing if problem.loss == "hinge" else missing * missing
    penalty = 0.5 * (coef * coef).sum() if problem.prior == "gaussian" else np.abs(coef).sum()
    return float(penalty + problem.C * losses.sum())


@dataclass(frozen=True)
class SolverPeer:
    """A solver: its name, the module it needs, the problems it solves, and how it is prepared for one."""

    name: str
    module: str
    solves: frozenset[tuple[str, str]]
    prepare: Callable[[sp.csr_matrix, BenchmarkProblem], CategoryFit]
    tolerances: tuple[float, ...] = _LOOSE_TO_TIGHT

    def solves_problem(self, problem: BenchmarkProblem) -> bool:
        """Return whether the peer, if it is installed, solves a problem."""
        return (problem.loss, problem.prior) in self.solves

    def explain_absence(self) -> str | None:
        """Return why this peer cannot be measured; None if it can."""
        return None if find_spec(self.module) else f"{self.module} is not installed"


def _make_liblinear_preparer(
    numbers: dict[tuple[str, str], int],
) -> Callable[[sp.csr_matrix, BenchmarkProblem], CategoryFit]:
    def prepare(X: sp.csr_matrix, problem: BenchmarkProblem) -> CategoryFit:
        from liblinear import liblinear, liblinearutil

        number = numbers[problem.loss, problem.prior]
        data = liblinear.problem(np.where(np.arange(X.shape[0]) < 1, 1.0, -1.0), X)

        targets = np.ctypeslib.as_array(data.y, (X.shape[0],))

        def fit(signs: Array, tol: float) -> Array:
            targets[:] = signs
            settings = liblinear.parameter(f"-s {number} -c {problem.C} -e {tol} -q")
            model = liblinearutil.train(data, settings)
            weights = np.ctypeslib.as_array(model.w, (X.shape[1],)).copy()
            return weights if model.label[0] > 0 else -weights

        return fit

    return prepare


def _prepare_scikit_learn(X: sp.csr_matrix, problem: BenchmarkProblem) -> CategoryFit:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    lasso = problem.prior == "laplace"

    def fit(signs: Array, tol: float) -> Array:
        common: dict[str, Any] = {"C": problem.C, "fit_intercept": False, "tol": tol, "max_iter": 10_000}
        if problem.loss == "logistic":
            # Before scikit-learn 1.8 the penalty was named, and l1_ratio did not reach this solver.
            of_lasso = {"penalty": "l1"} if LogisticRegression().penalty == "l2" else {"l1_ratio": 1.0}
            penalty: dict[str, Any] = of_lasso if lasso else {}
            model = LogisticRegression(solver="liblinear", dual=not lasso, **penalty, **common)
        else:
            model = LinearSVC(loss=problem.loss, penalty="l1" if lasso else "l2", dual=not lasso, **common)
        return np.asarray(model.fit(X, signs).coef_[0])

    return fit


def _prepare_skglm(X: sp.csr_matrix, problem: BenchmarkProblem) -> CategoryFit:
    from skglm import SparseLogisticRegression

    columns = X.tocsc()
    alpha = 1.0 / (problem.C * X.shape[0])

    def fit(signs: Array, tol: float) -> Array:
        model = SparseLogisticRegression(alpha=alpha, tol=tol * alpha, fit_intercept=False, max_iter=200)
        return np.asarray(model.fit(columns, signs).coef_[0])

    return fit


def _prepare_celer(X: sp.csr_matrix, problem: BenchmarkProblem) -> CategoryFit:
    from celer import LogisticRegression

    columns = X.tocsc()

    def fit(signs: Array, tol: float) -> Array:
        model = LogisticRegression(C=problem.C, tol=tol, fit_intercept=False, max_iter=200)
        return np.asarray(model.fit(columns, signs).coef_[0])

    return fit


def _prepare_cyanure(X: sp.csr_matrix, problem: BenchmarkProblem) -> CategoryFit:
    from cyanure.estimators import Classifier

    # Its squared hinge loss is half of ours.
    share = 2.0 if problem.loss == "squared_hinge" else 1.0
    strength = 1.0 / (share * problem.C * X.shape[0])
    loss = "sqhinge" if problem.loss == "squared_hinge" else problem.loss
    penalty = "l1" if problem.prior == "laplace" else "l2"

    def fit(signs: Array, tol: float) -> Array:
        model = Classifier(
            loss=loss, penalty=penalty, lambda_1=strength, fit_intercept=False, tol=tol, max_iter=2000,
            verbose=False, n_threads=1, safe=False,
        )  # fmt: skip
        return np.ravel(model.fit(X, signs).coef_)

    return fit


_DUAL = {("logistic", "gaussian"): 7, ("hinge", "gaussian"): 3, ("squared_hinge", "gaussian"): 1}
_PRIMAL = {("logistic", "gaussian"): 0, ("squared_hinge", "gaussian"): 2}
_LASSO = {("logistic", "laplace"): 6, ("squared_hinge", "laplace"): 5}
_SMOOTH = frozenset({("logistic", "gaussian"), ("squared_hinge", "gaussian"), ("logistic", "laplace")})
_LASSO_LOGISTIC = frozenset({("logistic", "laplace")})

SOLVER_PEERS = (
    SolverPeer("liblinear dual", "liblinear", frozenset(_DUAL), _make_liblinear_preparer(_DUAL)),
    SolverPeer("liblinear primal", "liblinear", frozenset(_PRIMAL), _make_liblinear_preparer(_PRIMAL)),
    SolverPeer("liblinear l1", "liblinear", frozenset(_LASSO), _make_liblinear_preparer(_LASSO)),
    SolverPeer("scikit-learn", "sklearn", frozenset(_DUAL | _LASSO), _prepare_scikit_learn),
    SolverPeer("skglm", "skglm", _LASSO_LOGISTIC, _prepare_skglm),
    SolverPeer("celer", "celer", _LASSO_LOGISTIC, _prepare_celer),
    SolverPeer("cyanure", "cyanure", _SMOOTH, _prepare_cyanure),
)


def fit_quietly(fit: CategoryFit, signs: Array, tol: float) -> Array:
    """Fit without showing the peer's warnings: its objective shows whether it converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(signs, tol)
