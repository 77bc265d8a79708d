"""`textcat.linear.fit` and `textcat.learners.softmax` as estimators.

The first trains one linear function per category independently, the second one per class in a joint problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax
from sklearn.utils.metaestimators import available_if

from textcat.learners.softmax import AlgorithmName, PriorName, fit_softmax
from textcat.linear import Prior, fit
from textcat.linear.combinations import EXACTEST_FIRST, QUICKEST_FIRST, choose_algorithm
from textcat.linear.training import FitSettings
from textcat.selection import SelectionSettings, select_features
from textcat.sklearn.validation import (
    Floats,
    LinearClassifier,
    TargetLabels,
    compute_class_weights,
    convert_cost,
    copy_as_canonical,
    format_predictions,
    raise_value_errors,
    validate_settings,
)
from textcat.thresholds.calibration import normalize_probabilities

# Stored values times categories up to which the most exact algorithm takes no noticeable time.
SMALL_PROBLEM = 1_000_000


def _has_probabilities(estimator: OneVsRestLinearClassifier) -> bool:
    if estimator.loss == "logistic":
        return True
    raise AttributeError(f"the {estimator.loss} loss has no probabilities; use the logistic loss")


class OneVsRestLinearClassifier(LinearClassifier):
    """Train any loss x prior x algorithm, each category against the rest, for one or several labels per document.

    Minimises, for each category, C times the sum of the documents' losses plus half the sum of squared weights
    (prior gaussian) or the sum of absolute weights (laplace). A sample weight of 2 counts the document twice.
    The numbers are those of `textcat.linear.fit` with the lam of that C; loss, prior, bias, penalize_bias, tol,
    max_passes, options and n_jobs are its parameters. algorithm "auto" takes the first of fast, column, row and
    conjugate_gradient that can solve the problem, for small data in reverse order. `features`, if not "all",
    gives each category only its best features by the score `rank_by` (`scope` as in
    `textcat.selection.SelectionSettings`). class_weight is "balanced" or weights by class; for indicator
    matrices the keys are True and False, the two sides of a category.

    Fitted: classes_, coef_ and intercept_ (a row per category), certificate_ (how close each category is to its
    optimum), n_features_in_, feature_names_in_, model_.
    """

    def __init__(
        self,
        loss: str = "logistic",
        prior: str | Prior = "gaussian",
        *,
        C: float = 1.0,
        algorithm: str = "auto",
        bias: float = 1.0,
        penalize_bias: bool = True,
        features: int | str = "all",
        rank_by: str = "gini_gain",
        scope: str = "category",
        class_weight: str | Mapping[Any, float] | None = None,
        tol: float = 1e-12,
        max_passes: int = 1000,
        options: Mapping[str, Any] | None = None,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.loss = loss
        self.prior = prior
        self.C = C
        self.algorithm = algorithm
        self.bias = bias
        self.penalize_bias = penalize_bias
        self.features = features
        self.rank_by = rank_by
        self.scope = scope
        self.class_weight = class_weight
        self.tol = tol
        self.max_passes = max_passes
        self.options = options
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneVsRestLinearClassifier:
        """Train every category; y has one label per document, or is an indicator matrix."""
        X, labels, weights = self._read_training_set(X, y, sample_weight)
        if labels.kind != "multilabel":
            weights = compute_class_weights(self.class_weight, labels, weights)
        with raise_value_errors():
            model = fit(X, labels.columns, **self._make_fit_arguments(X, labels, weights))
        self._keep_model(model, labels, model.certificate)
        return self

    def _make_fit_arguments(self, X: Any, labels: TargetLabels, weights: Floats | None) -> dict[str, Any]:
        sides = self.class_weight if labels.kind == "multilabel" else None
        prior = self.prior if isinstance(self.prior, str) else self.prior.name
        stored_values = int(getattr(X, "nnz", X.size))
        return {
            "loss": self.loss,
            "prior": self.prior,
            "lam": convert_cost(self.C, X.shape[0], prior),
            "bias": self.bias,
            "penalize_bias": self.penalize_bias,
            "tol": self.tol,
            "max_passes": self.max_passes,
            "n_jobs": self.n_jobs,
            "seed": self.random_state,
            "options": dict(self.options or {}),
            "sample_weight": weights,
            "class_weight": sides,
            "mask": self._select_features(X, labels),
            "algorithm": self._choose_algorithm(sides, stored_values * labels.columns.shape[1]),
        }

    def _choose_algorithm(self, sides: Any, size: int) -> str:
        if self.algorithm != "auto":
            return self.algorithm
        prior = self.prior if isinstance(self.prior, Prior) else Prior(self.prior)
        # The Jeffreys prior is solved in rounds of Gaussian priors with a variance for each weight.
        rounds = prior.name == "jeffreys"
        settings = FitSettings(
            self.loss, Prior("gaussian") if rounds else prior, bias=self.bias, class_weight=sides,
            penalize_bias=self.penalize_bias, options=dict(self.options or {}),
        )  # fmt: skip
        request = settings.request()
        return choose_algorithm(
            replace(request, one_strength=False) if rounds else request,
            EXACTEST_FIRST if size <= SMALL_PROBLEM else QUICKEST_FIRST,
        )

    def _select_features(self, X: Any, labels: TargetLabels) -> NDArray[np.bool_] | None:
        if self.features == "all":
            return None
        settings = validate_settings(
            SelectionSettings, score=self.rank_by, features=self.features, scope=self.scope
        )
        return select_features(copy_as_canonical(X), labels.columns, settings)

    def decision_function(self, X: Any) -> Floats:
        """Return scores, documents x categories; for two classes, one score per document for the second."""
        scores = self._scores(X)
        return scores[:, 0] if self._kind == "binary" else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels in the form of the training labels: the highest score, or every score above 0."""
        scores = self._scores(X)
        return format_predictions(self._kind, self.classes_, scores > 0, scores)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities under the logistic loss; for one label among several, scaled to the sum 1."""
        probabilities = np.asarray(expit(self._scores(X)), dtype=np.float64)
        if self._kind == "multilabel":
            return probabilities
        if self._kind == "binary":
            return np.hstack([1.0 - probabilities, probabilities])
        return normalize_probabilities(probabilities)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


class PolytomousLinearClassifier(LinearClassifier):
    """Train polytomous logistic regression: one label per document, probabilities by the softmax of scores.

    Minimises C times the sum of -ln probability of the documents' classes plus half the sum of squared weights
    of all classes (prior gaussian) or the sum of absolute weights (laplace). A sample weight of 2 counts the
    document twice. The numbers are those of `textcat.learners.softmax.fit_softmax` with the lam of that C; bias,
    penalize_bias, tol, max_passes and algorithm (lbfgs or dual) are its parameters. class_weight is "balanced" or
    weights by class.

    Fitted: classes_, coef_ and intercept_ (a row per class, also for two), certificate_, n_features_in_,
    feature_names_in_, model_.
    """

    def __init__(
        self,
        prior: str = "gaussian",
        *,
        C: float = 1.0,
        bias: float = 1.0,
        penalize_bias: bool = True,
        class_weight: str | Mapping[Any, float] | None = None,
        tol: float = 1e-12,
        max_passes: int = 5000,
        algorithm: str = "lbfgs",
    ) -> None:
        self.prior = prior
        self.C = C
        self.bias = bias
        self.penalize_bias = penalize_bias
        self.class_weight = class_weight
        self.tol = tol
        self.max_passes = max_passes
        self.algorithm = algorithm

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PolytomousLinearClassifier:
        """Train on documents with one label each."""
        X, labels, weights = self._read_training_set(X, y, sample_weight)
        if labels.kind == "multilabel":
            raise ValueError("a polytomous classifier needs one label per document, not an indicator matrix")
        if self.prior not in ("gaussian", "laplace"):
            raise ValueError(f"unknown prior {self.prior!r}; use gaussian or laplace")
        if self.algorithm not in ("lbfgs", "dual"):
            raise ValueError(f"unknown algorithm {self.algorithm!r}; use lbfgs or dual")
        weights = compute_class_weights(self.class_weight, labels, weights)
        total = X.shape[0] if weights is None else float(weights.sum())
        with raise_value_errors():
            model = fit_softmax(
                X, labels.members(), prior=cast(PriorName, self.prior), bias=self.bias,
                lam=convert_cost(self.C, total, self.prior), penalize_bias=self.penalize_bias, tol=self.tol,
                max_passes=self.max_passes, sample_weight=weights, algorithm=cast(AlgorithmName, self.algorithm),
            )  # fmt: skip
        self._keep_model(model, labels, model.joint_certificate)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return scores, documents x classes; for two classes, the second's minus the first's."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if self._kind == "binary" else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the highest score; of equal scores the first."""
        scores = self._scores(X)
        return format_predictions("multiclass", self.classes_, scores > 0, scores)

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities, documents x classes."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the natural logarithms of the probabilities."""
        return np.asarray(log_softmax(self._scores(X), axis=1))
