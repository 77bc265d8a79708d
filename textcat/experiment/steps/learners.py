"""The learners by name: naive Bayes, SMO, online, tree and multiclass learners, and the linear ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from textcat.errors import UsageError
from textcat.experiment.steps.learner import FunctionLearner, Learner, LearningProblem
from textcat.experiment.steps.linear_learner import LinearLearner
from textcat.experiment.steps.models import MODEL_CLASSES, Model, join_models
from textcat.extensions import claim_name, guard_function
from textcat.learners.gpd import GpdSettings, descend
from textcat.learners.label_tree_training import fit_label_tree
from textcat.learners.mfom import fit_mfom, fit_mfom_at
from textcat.learners.mmlr_cg import fit_mmlr_cg
from textcat.learners.naive_bayes import fit_multiclass_naive_bayes, fit_naive_bayes
from textcat.learners.parameters import (
    LEARNERS,
    LabelTreeParameters,
    LearnerEntry,
    LearnerParameters,
    LinearParameters,
    MeritParameters,
    MulticlassParameters,
    NaiveBayesParameters,
    OnlineParameters,
    SmoParameters,
    SoftmaxParameters,
    TreeParameters,
)
from textcat.learners.perceptron_tree import PerceptronSettings, fit_perceptron_trees
from textcat.learners.smo import fit_svm
from textcat.learners.softmax import fit_softmax
from textcat.learners.softmax_dual import can_ascend_dual
from textcat.learners.winnow import fit_dual_svm, fit_large_margin_winnow, fit_perceptron, fit_winnow
from textcat.linear.regularization import lam_from_c
from textcat.parallel import Executor
from textcat.parallel.executors import limit_to_one_thread

DEFAULT_SOFTMAX_COST = 10.0
SOFTMAX_TOLERANCES = {"dual": 1e-4, "lbfgs": 1e-6}


def fit_binary_bayes(problem: LearningProblem, parameters: NaiveBayesParameters, jobs: int) -> Model:
    """Train naive Bayes 2: each category against the rest."""
    return fit_naive_bayes(problem.X, problem.labels, parameters.lam, problem.mask)


def fit_multiclass_bayes(problem: LearningProblem, parameters: NaiveBayesParameters, jobs: int) -> Model:
    """Train naive Bayes 1 over all classes, on the terms selected for any of them."""
    features = None if problem.mask is None else problem.mask.any(axis=1)
    return fit_multiclass_naive_bayes(problem.X, problem.labels, parameters.lam, features)


def fit_polytomous(problem: LearningProblem, parameters: SoftmaxParameters, jobs: int) -> Model:
    """Train polytomous logistic regression on the features selected for any class."""
    algorithm = parameters.algorithm
    if algorithm is None:
        size = problem.shape[0] * problem.shape[1]
        algorithm = "dual" if can_ascend_dual(parameters.prior, parameters.penalize_bias, size) else "lbfgs"
    lam = parameters.lam
    if lam is None:
        cost = DEFAULT_SOFTMAX_COST if parameters.cost is None else parameters.cost
        lam = float(lam_from_c(cost, problem.shape[0], parameters.prior))
    return fit_softmax(
        _clear_unused_columns(problem),
        problem.labels,
        prior=parameters.prior,
        lam=lam,
        penalize_bias=parameters.penalize_bias,
        tol=parameters.tolerance or SOFTMAX_TOLERANCES[algorithm],
        max_passes=parameters.passes,
        algorithm=algorithm,
    )


def fit_multiclass_regression(problem: LearningProblem, parameters: MulticlassParameters, jobs: int) -> Model:
    """Train MMLR-CG on the features selected for any class."""
    return fit_mmlr_cg(_clear_unused_columns(problem), problem.labels, parameters)


class LabelTreeLearner(Learner[LabelTreeParameters]):
    """Label trees on the features selected for any category."""

    def fit(self, problem: LearningProblem, parameters: LabelTreeParameters, jobs: int) -> Model:
        """Train the nodes in threads."""
        return self.fit_on_workers(problem, parameters, None, jobs)

    def fit_on_workers(
        self,
        problem: LearningProblem,
        parameters: LabelTreeParameters,
        executor: Executor | None,
        jobs: int = 1,
    ) -> Model:
        """Train each node on a worker, or without workers in threads."""
        return fit_label_tree(
            _clear_unused_columns(problem),
            problem.label_matrix,
            parameters,
            seed=problem.seed,
            jobs=jobs,
            executor=executor,
        )


def _clear_unused_columns(problem: LearningProblem) -> Any:
    """Return the matrix with zeros in the columns that no class uses."""
    X: Any = problem.X
    kept = True if problem.mask is None else np.asarray(problem.mask.any(axis=1)).reshape(1, -1)
    return X * kept if isinstance(X, np.ndarray) else sparse.csr_matrix(X.multiply(kept))


@dataclass(frozen=True)
class OnlineLearner(Learner[OnlineParameters]):
    """The Perceptron, Winnow or large-margin learner of that name."""

    def fit(self, problem: LearningProblem, parameters: OnlineParameters, jobs: int) -> Model:
        """Train on documents in corpus order, or in the order of a seed if `shuffle` gives one."""
        shared: dict[str, Any] = {
            "mask": problem.mask,
            "rate": parameters.rate,
            "passes": parameters.passes,
            "seed": parameters.shuffle,
            "n_jobs": jobs,
        }
        if self.name == "perceptron":
            return fit_perceptron(problem.X, problem.labels, **shared)
        if self.name == "dual_svm":
            return fit_dual_svm(problem.X, problem.labels, C=_require_cost(parameters), **shared)
        shared |= {
            "prior": parameters.initial,
            "norm": parameters.norm,
            "normalized": self.name.startswith("normalized"),
        }
        if self.name.endswith("large_margin_winnow"):
            return fit_large_margin_winnow(problem.X, problem.labels, C=_require_cost(parameters), **shared)
        return fit_winnow(problem.X, problem.labels, **shared)


def _require_cost(parameters: OnlineParameters) -> float:
    if parameters.cost is None:
        raise UsageError(
            "a large-margin learner needs `cost`, the bound of a document's multiplier",
            hint="Write, say, `parameters: {cost: 1}`.",
        )
    return parameters.cost


def fit_smo(problem: LearningProblem, parameters: SmoParameters, jobs: int) -> Model:
    """Train support vector machines by sequential minimal optimization."""
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
    """Train each category with its own C: its selected features determine the lengths of documents."""
    models: list[Model] = []
    for column in range(problem.shape[1]):
        alone = problem.restrict(np.array([column]))
        features = np.asarray(alone.mask)[:, 0]
        lam = lam_from_c(1.0 / max(_compute_mean_square(problem.X[:, features]), 1e-12), problem.X.shape[0])
        models.append(_fit_svm(alone, lam, parameters, jobs))
    return join_models(models)


def _compute_mean_square(X: Any) -> float:
    """Return the mean squared Euclidean norm of the documents."""
    squares = X.multiply(X) if hasattr(X, "multiply") else np.square(X)
    return float(squares.sum()) / int(X.shape[0])


def fit_perceptron_tree(problem: LearningProblem, parameters: TreeParameters, jobs: int) -> Model:
    """Train binary trees whose splits are batch perceptrons."""
    settings = PerceptronSettings(parameters.iterations, parameters.rate)
    return fit_perceptron_trees(
        _as_float32(problem), problem.labels, settings, max_depth=parameters.depth, jobs=jobs
    )


@dataclass(frozen=True)
class MeritTreeLearner(Learner[MeritParameters]):
    """Binary trees whose splits maximise F1 or minimise the error of both classes."""

    def fit(self, problem: LearningProblem, parameters: MeritParameters, jobs: int) -> Model:
        """Train trees; with `trace` the model also holds the training F1 of every iteration of the first split."""
        X, labels, settings = _as_float32(problem), problem.labels, _make_descent_settings(parameters)
        model = fit_mfom(X, labels, settings, max_depth=parameters.depth, jobs=jobs)
        if not parameters.trace:
            return model
        with limit_to_one_thread():
            course = descend(X, labels, np.ones_like(labels), settings).f1
        return replace(model, settings={**model.settings, "course_f1": np.round(course, 6).tolist()})

    def fit_course(
        self, problem: LearningProblem, parameters: MeritParameters, jobs: int
    ) -> dict[int, Model]:
        """Return the trees at all checkpoints; their first splits are one descent."""
        X, wanted, depth = _as_float32(problem), parameters.checkpoints, parameters.depth
        settings = _make_descent_settings(parameters.model_copy(update={"iterations": max(wanted)}))
        return dict(fit_mfom_at(X, problem.labels, settings, wanted, max_depth=depth, jobs=jobs))


def _make_descent_settings(parameters: MeritParameters) -> GpdSettings:
    chosen = parameters.model_dump(exclude={"depth", "checkpoints", "trace"}, exclude_none=True)
    return GpdSettings(**chosen)


def _as_float32(problem: LearningProblem) -> Any:
    X = problem.X
    return np.asarray(X, dtype=np.float32) if isinstance(X, np.ndarray) else X


_ONLINE = ("perceptron", "dual_svm", "winnow", "normalized_winnow", "large_margin_winnow",
           "normalized_large_margin_winnow")  # fmt: skip
_OTHERS: dict[str, Learner[Any]] = {
    **{name: OnlineLearner(name) for name in _ONLINE},
    "naive_bayes": FunctionLearner("naive_bayes", fit_binary_bayes),
    "naive_bayes_multiclass": FunctionLearner("naive_bayes_multiclass", fit_multiclass_bayes),
    "smo": FunctionLearner("smo", fit_smo),
    "perceptron_tree": FunctionLearner("perceptron_tree", fit_perceptron_tree),
    "mfom": MeritTreeLearner("mfom"),
    "softmax": FunctionLearner("softmax", fit_polytomous),
    "label_tree": LabelTreeLearner("label_tree"),
    "mmlr_cg": FunctionLearner("mmlr_cg", fit_multiclass_regression),
}


def register_learner(
    name: str,
    train: Callable[[LearningProblem, Any, int], Model],
    *,
    title: str = "",
    parameters: type[LearnerParameters] = LearnerParameters,
    model: type[Model] | None = None,
) -> None:
    """Add a learner: `train(problem, parameters, jobs)` returns a model.

    `parameters` are the fields that `parameters:` of a run may have. A model of a class of its own needs this class,
    with `from_arrays(arrays, description)`, as `model`.
    """
    claim_name("learner", name, LEARNERS)
    LEARNERS[name] = LearnerEntry(title, parameters)
    _OTHERS[name] = FunctionLearner(name, guard_function("learner", name, train))
    if model is not None:
        claim_name("model", model.__name__, MODEL_CLASSES)
        MODEL_CLASSES[model.__name__] = model


def find_learner(name: str) -> Learner[Any]:
    """Return the learner of a name in `textcat.learners.parameters`."""
    if LEARNERS[name].parameters is LinearParameters:
        return LinearLearner(name)
    return _OTHERS[name]
