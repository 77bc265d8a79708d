"""Multinomial naive Bayes with lambda smoothing (zhang_oles_2001, section 4.1).

Naive Bayes 2, `fit_naive_bayes`: each category against its complement, with features of its own.
    Input    X documents x features (counts or 0/1); Y bool; lam > 0; mask features x categories.
    Output   score = sum_j x_j ln(P(j|c) / P(j|not c)) + ln(P(c) / P(not c)), the log odds of the category.
    P(j|c) = (count of j in c + lam) / (counts of the selected features in c + lam * their number):
             a category's probabilities are normalised over the features its mask selects, in c and in its
             complement alike; words outside the mask are as if they had never been read.
    P(c)   = (documents in c + lam) / (documents + 2 lam), finite for an empty category too.

Naive Bayes 1, `fit_multiclass_naive_bayes`: one multinomial a class, all on the same features.
    Output   score = sum_j x_j ln P(j|c) + ln P(c); the predicted class is the one with the largest score.
    P(c)   = (documents in c + lam) / (sum of that over the classes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from textcat.errors import BadDataError
from textcat.learners.checks import Bools, as_documents, as_labels, as_mask, require_positive
from textcat.learners.scorer import Floats, LinearScorer


def fit_naive_bayes(X: Any, Y: ArrayLike, lam: float = 0.01, mask: ArrayLike | None = None) -> LinearScorer:
    """Naive Bayes 2: every category against its complement; scores are log odds."""
    documents, labels = _read_counts(X), as_labels(Y, X.shape[0])
    require_positive("lam", lam)
    selected = as_mask(mask, documents.shape[1], labels.shape[1])
    inside = _count_by_category(documents, labels)
    everywhere = np.asarray(documents.sum(axis=0), dtype=np.float64).reshape(-1, 1)
    coef = _compute_log_probabilities(inside, selected, lam) - _compute_log_probabilities(
        everywhere - inside, selected, lam
    )
    positives = labels.sum(axis=0, dtype=np.float64)
    intercept = np.log(positives + lam) - np.log(labels.shape[0] - positives + lam)
    return LinearScorer(np.where(selected, coef, 0.0), intercept, "naive-bayes-2", {"lam": lam})


def fit_multiclass_naive_bayes(
    X: Any, Y: ArrayLike, lam: float = 0.01, features: ArrayLike | None = None
) -> LinearScorer:
    """Naive Bayes 1: one multinomial a class over shared features (`features`: bool, one a feature)."""
    documents, labels = _read_counts(X), as_labels(Y, X.shape[0])
    require_positive("lam", lam)
    selected = as_mask(features, documents.shape[1], 1)
    coef = _compute_log_probabilities(_count_by_category(documents, labels), selected, lam)
    positives = labels.sum(axis=0, dtype=np.float64)
    intercept = np.log(positives + lam) - np.log(positives.sum() + lam * labels.shape[1])
    return LinearScorer(np.where(selected, coef, 0.0), intercept, "naive-bayes-1", {"lam": lam})


def _read_counts(X: Any) -> sp.csr_matrix:
    documents = as_documents(X)
    negative = np.flatnonzero(documents.data < 0)
    if negative.size:
        row = int(np.searchsorted(documents.indptr, negative[0], side="right")) - 1
        raise BadDataError(
            "naive Bayes counts words and cannot count a negative value",
            where=f"document row {row}",
            hint="Use counts or binary weights for it: `vector: {weighting: raw}`.",
        )
    return documents


def _count_by_category(documents: sp.csr_matrix, labels: Bools) -> Floats:
    return np.asarray(documents.T @ labels.astype(np.float64), dtype=np.float64)


def _compute_log_probabilities(counts: Floats, selected: Bools, lam: float) -> Floats:
    kept = np.where(selected, counts, 0.0)
    totals = kept.sum(axis=0) + lam * selected.sum(axis=0)
    return np.asarray(np.log(kept + lam) - np.log(np.where(totals > 0, totals, 1.0)))
