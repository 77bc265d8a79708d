"""From the parameters of an experiment to the arguments of naive Bayes, SMO, online, tree and multiclass learners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from textcat.errors import UsageError
from textcat.experiment.spec.learner_table import (
    MeritParameters,
    MulticategoryMeritParameters,
    MulticlassParameters,
    NaiveBayesParameters,
    OnlineParameters,
    SmoParameters,
    SoftmaxParameters,
    TreeParameters,
)
from textcat.experiment.steps.fitting import LearningProblem, Model, join_models
from textcat.learners.mfom import GpdSettings, descend, fit_mfom, fit_mfom_at
from textcat.learners.mfom_multicategory import fit_multicategory_mfom
from textcat.learners.mmlr_cg import Continuation, fit_mmlr_cg
from textcat.learners.naive_bayes import fit_multiclass_naive_bayes, fit_naive_bayes
from textcat.learners.perceptron_tree import PerceptronSettings, fit_perceptron_trees
from textcat.learners.smo import fit_svm
from textcat.learners.softmax import fit_softmax
from textcat.learners.winnow import fit_dual_svm, fit_large_margin_winnow, fit_perceptron, fit_winnow
from textcat.linear.regularization import lam_from_c


def fit_binary_bayes(
    name: str, problem: LearningProblem, parameters: NaiveBayesParameters, jobs: int
) -> Model:
    """Naive Bayes 2."""
    return fit_naive_bayes(problem.X, problem.labels, parameters.lam, problem.mask)


def fit_multiclass_bayes(
    name: str, problem: LearningProblem, parameters: NaiveBayesParameters, jobs: int
) -> Model:
    """Naive Bayes 1; a term counts for all classes when it is selected for any."""
    features = None if problem.mask is None else problem.mask.any(axis=1)
    return fit_multiclass_naive_bayes(problem.X, problem.labels, parameters.lam, features)


def fit_polytomous(name: str, problem: LearningProblem, parameters: SoftmaxParameters, jobs: int) -> Model:
    """Polytomous logistic regression over the features selected for any class."""
    model = fit_softmax(
        _clear_unused_columns(problem),
        problem.labels,
        prior=parameters.prior,
        lam=parameters.lam,
        penalize_bias=parameters.penalize_bias,
        tol=parameters.tolerance,
        max_passes=parameters.passes,
    )
    return model


def fit_multiclass_regression(
    name: str, problem: LearningProblem, parameters: MulticlassParameters, jobs: int
) -> Model:
    """MMLR-CG over the features selected for any class."""
    settings = Continuation(**parameters.model_dump())
    return fit_mmlr_cg(_clear_unused_columns(problem), problem.labels, settings)


def fit_multicategory_merit(
    name: str, problem: LearningProblem, parameters: MulticategoryMeritParameters, jobs: int
) -> Model:
    """Maximal figure of merit over all categories, over the features selected for any of them."""
    return fit_multicategory_mfom(
        _clear_unused_columns(problem),
        problem.labels,
        GpdSettings(**parameters.model_dump(exclude={"eta", "score"}, exclude_none=True)),
        eta=parameters.eta,
        score=parameters.score,
    )


def _clear_unused_columns(problem: LearningProblem) -> Any:
    """The matrix with the columns that no class uses emptied, so that weights keep their places."""
    X: Any = problem.X
    kept = True if problem.mask is None else np.asarray(problem.mask.any(axis=1)).reshape(1, -1)
    return X * kept if isinstance(X, np.ndarray) else sparse.csr_matrix(X.multiply(kept))


def fit_online(name: str, problem: LearningProblem, parameters: OnlineParameters, jobs: int) -> Model:
    """The learner of that name; documents come in the order of the corpus unless a seed shuffles them."""
    shared: dict[str, Any] = {
        "mask": problem.mask,
        "rate": parameters.rate,
        "passes": parameters.passes,
        "seed": parameters.shuffle,
        "n_jobs": jobs,
    }
    winnow: dict[str, Any] = {
        "prior": parameters.initial,
        "norm": parameters.norm,
        "normalized": name.startswith("normalized"),
    }
    if name == "perceptron":
        return fit_perceptron(problem.X, problem.labels, **shared)
    if name == "dual_svm":
        return fit_dual_svm(problem.X, problem.labels, C=_require_cost(parameters), **shared)
    if name.endswith("large_margin_winnow"):
        return fit_large_margin_winnow(
            problem.X, problem.labels, C=_require_cost(parameters), **shared, **winnow
        )
    return fit_winnow(problem.X, problem.labels, **shared, **winnow)


def _require_cost(parameters: OnlineParameters) -> float:
    if parameters.cost is None:
        raise UsageError(
            "a large-margin learner needs `cost`, the bound of a document's multiplier",
            hint="Write, say, `parameters: {cost: 1}`.",
        )
    return parameters.cost


def fit_smo(name: str, problem: LearningProblem, parameters: SmoParameters, jobs: int) -> Model:
    """Sequential minimal optimization, category by category."""
    if parameters.cost == "norm" and problem.mask is not None:
        return _fit_with_category_norms(problem, problem.mask, parameters, jobs)
    return _fit_svm(problem, _resolve_lam(problem, parameters), parameters, jobs)


def _fit_svm(problem: LearningProblem, lam: float, parameters: SmoParameters, jobs: int) -> Model:
    return fit_svm(
        problem.X,
        problem.labels,
        lam,
        problem.mask,
        tol=parameters.tolerance,
        max_rounds=parameters.most_passes,
        n_jobs=jobs,
    )


def _resolve_lam(problem: LearningProblem, parameters: SmoParameters) -> float:
    if parameters.lam is not None:
        return parameters.lam
    cost = parameters.cost or 1.0
    if cost == "norm":
        cost = 1.0 / _compute_mean_square(problem.X)
    return lam_from_c(float(cost), problem.X.shape[0])


def _fit_with_category_norms(
    problem: LearningProblem, mask: object, parameters: SmoParameters, jobs: int
) -> Model:
    """With features of their own, categories see documents of different lengths, and C differs."""
    models: list[Model] = []
    for column in range(problem.labels.shape[1]):
        alone = problem.restricted(np.array([column]))
        features = np.asarray(alone.mask)[:, 0]
        lam = lam_from_c(1.0 / max(_compute_mean_square(problem.X[:, features]), 1e-12), problem.X.shape[0])
        models.append(_fit_svm(alone, lam, parameters, jobs))
    return join_models(models)


def _compute_mean_square(X: Any) -> float:
    """Mean squared Euclidean norm of the documents."""
    squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X)
    return float(squares.sum()) / int(X.shape[0])


def fit_perceptron_tree(name: str, problem: LearningProblem, parameters: TreeParameters, jobs: int) -> Model:
    """The baseline tree."""
    settings = PerceptronSettings(parameters.iterations, parameters.rate)
    return fit_perceptron_trees(_as_float32(problem), problem.labels, settings, max_depth=parameters.depth)


def fit_merit_tree(name: str, problem: LearningProblem, parameters: MeritParameters, jobs: int) -> Model:
    """The tree whose splits maximise F1, or minimise the error of both classes."""
    X, settings = _as_float32(problem), make_descent_settings(parameters)
    model = fit_mfom(X, problem.labels, settings, max_depth=parameters.depth)
    if not parameters.trace:
        return model
    course = descend(X, problem.labels, np.ones_like(problem.labels), settings).f1
    return replace(model, settings={**model.settings, "course_f1": np.round(course, 6).tolist()})


def fit_merit_checkpoints(problem: LearningProblem, parameters: MeritParameters) -> dict[int, Model]:
    """Single-split models at all checkpoints, from one descent."""
    wanted = parameters.checkpoints
    settings = make_descent_settings(parameters.model_copy(update={"iterations": max(wanted)}))
    return dict(fit_mfom_at(_as_float32(problem), problem.labels, settings, wanted))


def make_descent_settings(parameters: MeritParameters) -> GpdSettings:
    """The settings of the descent."""
    chosen = parameters.model_dump(exclude={"depth", "checkpoints", "trace"}, exclude_none=True)
    return GpdSettings(**chosen)


def _as_float32(problem: LearningProblem) -> Any:
    X = problem.X
    return np.asarray(X, dtype=np.float32) if isinstance(X, np.ndarray) else X
