"""Learners that see all classes of a single-label problem at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from textcat.experiment.fitting import Model, Problem
from textcat.experiment.learners import MulticlassParameters, SoftmaxParameters
from textcat.learners.multiclass import Continuation, fit_mmlr_cg
from textcat.learners.softmax import fit_softmax


def fit_polytomous(name: str, problem: Problem, parameters: SoftmaxParameters, jobs: int) -> Model:
    """Polytomous logistic regression over the features selected for any class."""
    model = fit_softmax(
        _selected(problem),
        problem.labels,
        prior=parameters.prior,
        lam=parameters.lam,
        penalize_bias=parameters.penalize_bias,
        tol=parameters.tolerance,
        max_passes=parameters.passes,
    )
    return model


def fit_multiclass_margin(name: str, problem: Problem, parameters: MulticlassParameters, jobs: int) -> Model:
    """MMLR-CG over the features selected for any class."""
    return fit_mmlr_cg(_selected(problem), problem.labels, Continuation(**parameters.model_dump())).model


def _selected(problem: Problem) -> Any:
    """The matrix with the columns that no class uses emptied, so that weights keep their places."""
    X: Any = problem.X
    kept = True if problem.mask is None else np.asarray(problem.mask.any(axis=1)).reshape(1, -1)
    return X * kept if isinstance(X, np.ndarray) else sparse.csr_matrix(X.multiply(kept))
