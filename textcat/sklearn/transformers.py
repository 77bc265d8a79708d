"""textcat's feature selection and term weighting as scikit-learn transformers."""

from __future__ import annotations

from typing import Any, cast, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from textcat.selection import SelectionSettings, select_features
from textcat.sklearn.validation import (
    check_training_documents,
    copy_as_canonical,
    read_labels,
    refuse_unsound,
    validate_settings,
)
from textcat.text.weighting import (
    WeightingName,
    compute_concentrations,
    compute_term_weights,
    document_frequencies,
    scale_documents,
)


class FeatureSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the best features by a score: gini_gain, information_gain, bi_normal_separation, chi_square, ...

    `rank_by` is the name of the score; `features` (a number or "all"), `scope` and `minimum_documents` are those
    of `textcat.selection.SelectionSettings`. Scopes max, mean, weighted_mean and sum pool the scores of the
    categories and keep one set of features. With scope "category" or "common" each category chooses its own, and
    the union is kept; to give each category only its own features, use `features` of
    `OneVsRestLinearClassifier`.

    Fitted: mask_ (features x categories; one column for two classes), n_features_in_, feature_names_in_.
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
        """Score the features of X by the labels y, one per document or an indicator matrix."""
        X, y = check_training_documents(self, X, y)
        labels = read_labels(y)
        self.mask_ = select_features(copy_as_canonical(X), labels.columns, self._settings())
        return self

    def transform(self, X: Any) -> Any:
        """Return the kept features of documents."""
        refuse_unsound(X=X)
        return super().transform(X)

    def _settings(self) -> SelectionSettings:
        return validate_settings(
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


class TermWeighting(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn counts, documents x terms, into weights: binary, tf, log_tf, tf_idf, log_tf_idf, entropy_share or bm25.

    log_tf is 1 + ln n. idf is ln((documents + 1) / (documents with the term + 1)). entropy_share is the count's
    share of its document times 1 minus the term's entropy over the training documents. With `cosine` documents
    are scaled to length 1. Sparse input gives sparse output.

    Fitted: n_documents_, document_frequency_, concentration_, average_length_, n_features_in_, feature_names_in_.
    """

    def __init__(self, weighting: str = "log_tf_idf", *, cosine: bool = True) -> None:
        self.weighting = weighting
        self.cosine = cosine

    def fit(self, X: Any, y: Any = None) -> TermWeighting:
        """Learn how many of the training documents contain each term, and how evenly."""
        if self.weighting not in get_args(WeightingName):
            known = ", ".join(get_args(WeightingName))
            raise ValueError(f"unknown weighting {self.weighting!r}; known: {known}")
        counts = self._counts(X, reset=True)
        self.n_documents_ = int(counts.shape[0])
        self.document_frequency_ = document_frequencies(counts)
        self.concentration_ = compute_concentrations(counts)
        self.average_length_ = float(counts.data.sum()) / max(self.n_documents_, 1)
        return self

    def transform(self, X: Any) -> Any:
        """Return the weights of documents."""
        check_is_fitted(self)
        counts = self._counts(X, reset=False)
        every = np.ones(counts.shape[1], dtype=np.bool_)
        values = compute_term_weights(
            counts, cast(WeightingName, self.weighting), self.document_frequency_, self.n_documents_,
            self.concentration_, every, self.average_length_,
        )  # fmt: skip
        if self.cosine:
            values = scale_documents(values, counts, values, "l2")
        kind = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        weights = kind((values, counts.indices, counts.indptr), shape=counts.shape)
        return weights if sp.issparse(X) else weights.toarray()

    def _counts(self, X: Any, *, reset: bool) -> sp.csr_array:
        refuse_unsound(X=X)
        checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        check_non_negative(checked, "TermWeighting")
        counts = copy_as_canonical(checked)
        counts.eliminate_zeros()
        return counts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
