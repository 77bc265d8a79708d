"""`textcat.learners.softmax` as an estimator: one linear function per class, all in one problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from textcat.learners.softmax import AlgorithmName, PriorName, fit_softmax
from textcat.sklearn.validation import (
    Floats,
    LinearClassifier,
    compute_class_weights,
    convert_cost,
    format_predictions,
    raise_value_errors,
)


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
