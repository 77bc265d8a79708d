"""The support vector machine with an explicit threshold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from textcat.experiment.fitting import Model, Problem
from textcat.experiment.learners import SmoParameters
from textcat.learners.scorer import LinearScorer
from textcat.learners.smo import fit_svm
from textcat.linear.regularization import lam_from_c


def fit_smo(name: str, problem: Problem, parameters: SmoParameters, jobs: int) -> Model:
    """Sequential minimal optimization, category by category."""
    if parameters.cost == "norm" and problem.mask is not None:
        return _each_by_its_norm(problem, problem.mask, parameters, jobs)
    lam = _lam(problem, parameters)
    return fit_svm(problem.X, problem.labels, lam, problem.mask, tol=parameters.tolerance, n_jobs=jobs)


def _lam(problem: Problem, parameters: SmoParameters) -> float:
    if parameters.lam is not None:
        return parameters.lam
    cost = parameters.cost or 1.0
    if cost == "norm":
        cost = 1.0 / _mean_square(problem.X)
    return lam_from_c(float(cost), problem.X.shape[0])


def _each_by_its_norm(problem: Problem, mask: object, parameters: SmoParameters, jobs: int) -> Model:
    """With features of their own, categories see documents of different lengths, and C differs."""
    models: list[LinearScorer] = []
    for column in range(problem.labels.shape[1]):
        alone = problem.restricted(np.array([column]))
        features = np.asarray(alone.mask)[:, 0]
        lam = lam_from_c(1.0 / max(_mean_square(problem.X[:, features]), 1e-12), problem.X.shape[0])
        models.append(fit_svm(alone.X, alone.labels, lam, alone.mask, tol=parameters.tolerance, n_jobs=jobs))
    return replace(
        models[0],
        coef=np.hstack([model.coef for model in models]),
        intercept=np.concatenate([model.intercept for model in models]),
        certificate=[entry for model in models for entry in model.certificate],
    )


def _mean_square(X: Any) -> float:
    """Mean squared Euclidean norm of the documents."""
    squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X)
    return float(squares.sum()) / int(X.shape[0])
