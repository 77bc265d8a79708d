"""Multinomial naive Bayes with lambda smoothing (zhang_oles_2001, section 4.1).

Naive Bayes 2, `fit_naive_bayes`: each category against its complement, with its own features.
    Input    X documents x features (counts or 0/1); Y bool; lam > 0; mask features x categories.
    Output   score = sum_j x_j ln(P(j|c) / P(j|not c)) + ln(P(c) / P(not c)), the log odds of the category.
    P(j|c) = (count of j in c + lam) / (counts of the selected features in c + lam * their number).
             Probabilities are normalised over the features that the mask selects for the category, in the
             category and in its complement alike; other words are ignored.
    P(c)   = (documents in c + lam) / (documents + 2 lam), finite for an empty category too.

Naive Bayes 1, `fit_multiclass_naive_bayes`: one multinomial per class, all on the same features.
    Output   score = sum_j x_j ln P(j|c) + ln P(c); the predicted class is the one with the largest score.
    P(c)   = (documents in c + lam) / (sum of that over the classes).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from textcat.learners.checks import (
    Bools,
    Floats,
    as_documents,
    as_labels,
    as_mask,
    refuse_values,
    require_positive,
)
from textcat.linear import LinearModel


def fit_naive_bayes(X: Any, Y: ArrayLike, lam: float = 0.01, mask: ArrayLike | None = None) -> LinearModel:
    """Train naive Bayes 2, every category against its complement; scores are log odds."""
    documents, labels = _read_counts(X), as_labels(Y, X.shape[0])
    require_positive(lam=lam)
    selected = as_mask(mask, documents.shape[1], labels.shape[1])
    inside = _count_by_category(documents, labels)
    outside = np.asarray(documents.sum(axis=0), dtype=np.float64).reshape(-1, 1) - inside
    coef = _compute_log_probabilities(inside, selected, lam) - _compute_log_probabilities(
        outside, selected, lam
    )
    positives = labels.sum(axis=0, dtype=np.float64)
    intercept = np.log(positives + lam) - np.log(labels.shape[0] - positives + lam)
    return _make_model("naive-bayes-2", coef, intercept, selected, lam)


def fit_multiclass_naive_bayes(
    X: Any, Y: ArrayLike, lam: float = 0.01, features: ArrayLike | None = None
) -> LinearModel:
    """Train naive Bayes 1, one multinomial per class over shared features (bool, one per feature)."""
    documents, labels = _read_counts(X), as_labels(Y, X.shape[0])
    require_positive(lam=lam)
    selected = as_mask(features, documents.shape[1], 1)
    coef = _compute_log_probabilities(_count_by_category(documents, labels), selected, lam)
    positives = labels.sum(axis=0, dtype=np.float64)
    intercept = np.log(positives + lam) - np.log(positives.sum() + lam * labels.shape[1])
    return _make_model("naive-bayes-1", coef, intercept, selected, lam)


def _make_model(kind: str, coef: Floats, intercept: Floats, selected: Bools, lam: float) -> LinearModel:
    return LinearModel(np.where(selected, coef, 0.0), intercept, settings={"lam": lam}, kind=kind)


def _read_counts(X: Any) -> sp.csr_matrix:
    documents = as_documents(X)
    refuse_values(
        documents,
        documents.data < 0,
        "naive Bayes counts words; it cannot count a negative value",
        "Use counts or binary weights: `vector: {weighting: raw}`.",
    )
    return documents


def _count_by_category(documents: sp.csr_matrix, labels: Bools) -> Floats:
    return np.asarray(documents.T @ labels.astype(np.float64), dtype=np.float64)


def _compute_log_probabilities(counts: Floats, selected: Bools, lam: float) -> Floats:
    kept = np.where(selected, counts, 0.0)
    totals = kept.sum(axis=0) + lam * selected.sum(axis=0)
    return np.asarray(np.log(kept + lam) - np.log(np.where(totals > 0, totals, 1.0)))
