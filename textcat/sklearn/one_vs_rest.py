"""`textcat.linear.fit` as an estimator: one linear function a category, all of them trained at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from textcat.linear import Prior, fit
from textcat.linear.combinations import EXACTEST_FIRST, QUICKEST_FIRST, choose_algorithm
from textcat.linear.regularization import lam_from_c
from textcat.linear.training import FitSettings
from textcat.selection import SelectionSettings, select_features
from textcat.sklearn.validation import (
    Floats,
    TargetLabels,
    check_new_documents,
    check_training_documents,
    compute_class_weights,
    copy_as_canonical,
    count_stored_values,
    drop_zero_weight_documents,
    format_predictions,
    raise_value_errors,
    read_labels,
    validate_settings,
)

# Stored values times categories up to which exactness costs nothing that a person would notice.
SMALL_PROBLEM = 1_000_000


def _has_probabilities(estimator: OneVsRestLinearClassifier) -> bool:
    if estimator.loss == "logistic":
        return True
    raise AttributeError(f"the {estimator.loss} loss gives scores, no probabilities; the logistic loss does")


class OneVsRestLinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any loss x prior x algorithm, one category against the rest, for one label a document or several.

    Minimises for each category C times the sum of the documents' losses + half the sum of squared weights
    (prior gaussian) or the sum of absolute weights (laplace); a sample weight of 2 is a document that stands
    there twice. The numbers are those of `textcat.linear.fit` with the lam of that C, and so are loss, prior,
    bias, penalize_bias, tol, max_passes, options and n_jobs. algorithm "auto" is the first that can do it of
    fast, column, row and conjugate_gradient, the last one first where the data are small. `features` other
    than "all" lets each category use only so many, the best as ranked by a score (`scope` as in
    `textcat.selection.SelectionSettings`). class_weight: "balanced" or weights by class; where a document may
    have several labels, weights of the two sides of a category, True and False.

    Fitted: classes_, coef_ and intercept_ (a row a category), certificate_ (how near each category is to its
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
        """Train every category; y holds one label a document, or is an indicator matrix."""
        X, y, weights = drop_zero_weight_documents(*check_training_documents(self, X, y), sample_weight)
        labels = read_labels(y)
        if labels.kind != "multilabel":
            weights = compute_class_weights(self.class_weight, labels, weights)
        with raise_value_errors():
            self.model_ = fit(X, labels.columns, **self._settings(X, labels, weights))
        self._kind = labels.kind
        self.classes_ = labels.classes
        self.coef_ = np.ascontiguousarray(self.model_.coef.T)
        self.intercept_ = self.model_.intercept
        self.certificate_ = self.model_.certificate
        return self

    def _settings(self, X: Any, labels: TargetLabels, weights: Floats | None) -> dict[str, Any]:
        """The arguments of `textcat.linear.fit`."""
        sides = self.class_weight if labels.kind == "multilabel" else None
        settings: dict[str, Any] = {
            "loss": self.loss,
            "prior": self.prior,
            "lam": self._convert_cost(X.shape[0]),
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
            "algorithm": self._choose_algorithm(sides, count_stored_values(X) * labels.columns.shape[1]),
        }
        return settings

    def _convert_cost(self, documents: int) -> float:
        name = self.prior if isinstance(self.prior, str) else self.prior.name
        if not self.C > 0:
            raise ValueError(f"C must be above 0, not {self.C}")
        return lam_from_c(self.C, documents, "laplace" if name == "laplace" else "gaussian")

    def _choose_algorithm(self, sides: Any, size: int) -> str:
        if self.algorithm != "auto":
            return self.algorithm
        prior = self.prior if isinstance(self.prior, Prior) else Prior(self.prior)
        # The Jeffreys prior is solved in rounds of Gaussian ones with a variance for each weight.
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
        """Scores, documents x categories; of two classes those of the second, one a document."""
        scores = self._scores(X)
        return scores[:, 0] if self._kind == "binary" else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels in the form of the training labels: the highest score, or every score above 0."""
        scores = self._scores(X)
        return format_predictions(self._kind, self.classes_, scores > 0, scores)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the logistic loss; of one label among several each category's, brought to the sum 1."""
        chances = np.asarray(expit(self._scores(X)), dtype=np.float64)
        if self._kind == "multilabel":
            return chances
        if self._kind == "binary":
            return np.hstack([1.0 - chances, chances])
        total = chances.sum(axis=1, keepdims=True)
        return np.where(total > 0, chances / np.where(total > 0, total, 1.0), 1.0 / chances.shape[1])

    def _scores(self, X: Any) -> Floats:
        documents = check_new_documents(self, X)
        return self.model_.scores(documents)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags
