"""`textcat.learners.softmax` as an estimator: one linear function a class, learned together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from textcat.learners.softmax import PriorName, fit_softmax
from textcat.linear.regularization import lam_from_c
from textcat.sklearn.validation import (
    Floats,
    check_new_documents,
    check_training_documents,
    compute_class_weights,
    drop_zero_weight_documents,
    format_predictions,
    raise_value_errors,
    read_labels,
)


class PolytomousLinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Polytomous logistic regression: one label a document, probabilities by the softmax of linear scores.

    Minimises C times the sum of -ln probability of the documents' classes + half the sum of squared weights of
    all classes (prior gaussian) or the sum of absolute weights (laplace); a sample weight of 2 is a document
    that stands there twice. The numbers are those of `textcat.learners.softmax.fit_softmax` with the lam of
    that C, and so are bias, penalize_bias, tol and max_passes. class_weight: "balanced" or weights by class.

    Fitted: classes_, coef_ and intercept_ (a row a class, also of two), certificate_, n_features_in_,
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
    ) -> None:
        self.prior = prior
        self.C = C
        self.bias = bias
        self.penalize_bias = penalize_bias
        self.class_weight = class_weight
        self.tol = tol
        self.max_passes = max_passes

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PolytomousLinearClassifier:
        """Train on documents with one label each."""
        X, y, weights = drop_zero_weight_documents(*check_training_documents(self, X, y), sample_weight)
        labels = read_labels(y)
        if labels.kind == "multilabel":
            raise ValueError("a polytomous classifier needs one label a document, not an indicator matrix")
        if self.prior not in ("gaussian", "laplace"):
            raise ValueError(f"there is no prior {self.prior!r} for it; there are gaussian and laplace")
        if not self.C > 0:
            raise ValueError(f"C must be above 0, not {self.C}")
        weights = compute_class_weights(self.class_weight, labels, weights)
        total = X.shape[0] if weights is None else float(weights.sum())
        with raise_value_errors():
            self.model_ = fit_softmax(
                X, labels.members(), prior=cast(PriorName, self.prior), bias=self.bias,
                lam=lam_from_c(self.C, total, self.prior), penalize_bias=self.penalize_bias, tol=self.tol,
                max_passes=self.max_passes, sample_weight=weights,
            )  # fmt: skip
        self._kind = labels.kind
        self.classes_ = labels.classes
        self.coef_ = np.ascontiguousarray(self.model_.coef.T)
        self.intercept_ = self.model_.intercept
        self.certificate_ = self.model_.joint_certificate
        return self

    def decision_function(self, X: Any) -> Floats:
        """Linear scores, documents x classes; of two classes the second's less the first's, one a document."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if self._kind == "binary" else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score; between equals, the first."""
        scores = self._scores(X)
        return format_predictions("multiclass", self.classes_, scores > 0, scores)

    def predict_proba(self, X: Any) -> Floats:
        """Documents x classes."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict_log_proba(self, X: Any) -> Floats:
        """Natural logarithms of the probabilities."""
        return np.asarray(log_softmax(self._scores(X), axis=1))

    def _scores(self, X: Any) -> Floats:
        documents = check_new_documents(self, X)
        return self.model_.scores(documents)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
