"""`textcat.selection` as a transformer: the features that the training labels speak for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from textcat.selection import SelectionSettings, select
from textcat.sklearn.inputs import canonical, checked_settings, training_documents
from textcat.sklearn.labels import read_labels


class FeatureSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps the best features by a score: gini_gain, information_gain, bi_normal_separation, chi_square, ...

    `rank_by` is the score's name; `features` (a number or "all"), `scope` and `minimum_documents` are those of
    `textcat.selection.SelectionSettings`: the scores of the categories are pooled by `scope` (max, mean,
    weighted_mean or sum) into one set for all. With scope "category" or "common", categories choose for
    themselves and the features that any of them chose are kept; to give each category only its own, see the
    `features` of `OneVsRestLinearClassifier`.

    Fitted: mask_ (features x categories; of two classes one column), n_features_in_, feature_names_in_.
    """

    def __init__(
        self,
        rank_by: str = "gini_gain",
        features: int | str = 1000,
        *,
        scope: str = "max",
        minimum_documents: int = 1,
    ) -> None:
        self.rank_by = rank_by
        self.features = features
        self.scope = scope
        self.minimum_documents = minimum_documents

    def fit(self, X: Any, y: Any) -> FeatureSelector:
        """Score the features of X by labels y: one a document, or an indicator matrix."""
        X, y = training_documents(self, X, y)
        labels = read_labels(y)
        self.mask_ = select(canonical(X), labels.columns, self._settings())
        return self

    def _settings(self) -> SelectionSettings:
        return checked_settings(
            SelectionSettings, score=self.rank_by, features=self.features, scope=self.scope,
            minimum_documents=self.minimum_documents,
        )  # fmt: skip

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.asarray(self.mask_.any(axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags
