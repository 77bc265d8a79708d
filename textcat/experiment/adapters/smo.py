"""The support vector machine with an explicit threshold."""

from __future__ import annotations

from textcat.experiment.fitting import Model, Problem
from textcat.experiment.learners import SmoParameters
from textcat.learners.smo import fit_svm


def fit_smo(name: str, problem: Problem, parameters: SmoParameters, jobs: int) -> Model:
    """Sequential minimal optimization, category by category."""
    documents = problem.X.shape[0]
    lam = parameters.lam if parameters.lam is not None else 1.0 / (2.0 * documents * (parameters.cost or 1.0))
    return fit_svm(problem.X, problem.labels, lam, problem.mask, tol=parameters.tolerance, n_jobs=jobs)
