"""`textcat.text.weighting` as a transformer: from counts of terms to the papers' weights."""

from __future__ import annotations

from typing import Any, cast, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from textcat.sklearn.inputs import canonical
from textcat.text.weighting import (
    WeightingName,
    concentrations,
    document_frequencies,
    inverse_document_frequencies,
    of_length_one,
    term_weights,
)


class TermWeighting(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """From counts, documents x terms, to weights: binary, tf, log_tf, tf_idf, log_tf_idf or entropy_share.

    log_tf is 1 + ln n, idf is ln((documents + 1) / (documents with the term + 1)), and entropy_share is the
    count's share of its document times 1 less the term's entropy over the training documents. With `cosine`
    documents are brought to length 1. What comes sparse leaves sparse.

    Fitted: n_documents_, document_frequency_, concentration_, n_features_in_, feature_names_in_.
    """

    def __init__(self, weighting: str = "log_tf_idf", *, cosine: bool = True) -> None:
        self.weighting = weighting
        self.cosine = cosine

    def fit(self, X: Any, y: Any = None) -> TermWeighting:
        """Note how many of the training documents hold each term, and how evenly."""
        if self.weighting not in get_args(WeightingName):
            known = ", ".join(get_args(WeightingName))
            raise ValueError(f"there is no weighting {self.weighting!r}; there are {known}")
        counts = self._counts(X, reset=True)
        self.n_documents_ = int(counts.shape[0])
        self.document_frequency_ = document_frequencies(counts)
        self.concentration_ = concentrations(counts)
        return self

    def transform(self, X: Any) -> Any:
        """Weights of documents by what was noted."""
        check_is_fitted(self)
        counts = self._counts(X, reset=False)
        inverse = inverse_document_frequencies(self.document_frequency_, self.n_documents_)
        every = np.ones(counts.shape[1], dtype=np.bool_)
        values = term_weights(
            counts, cast(WeightingName, self.weighting), inverse, self.concentration_, every
        )
        if self.cosine:
            values = of_length_one(values, counts, values)
        kind = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        weights = kind((values, counts.indices, counts.indptr), shape=counts.shape)
        return weights if sp.issparse(X) else weights.toarray()

    def _counts(self, X: Any, *, reset: bool) -> sp.csr_array:
        checked = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        check_non_negative(checked, "TermWeighting")
        counts = canonical(checked)
        counts.eliminate_zeros()
        return counts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
