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

Support vector machine on log-count ratios, `fit_nb_svm`: naive Bayes scales the features of a linear learner.
    Problem  for each category, with p_j and q_j the numbers of its and of the other documents that contain term j,
             plus alpha, r_j = ln((p_j / sum p) / (q_j / sum q)); minimise the mean loss of the scores w.(r * x) + b
             plus lam times the sum of squared weights. Each category has its own features, over which its sums and
             means are taken, and is trained alone.
    Output   LinearModel whose weights are those of the terms: scores are X coef + intercept, as for any linear model.
             With beta below 1, w is moved towards naive Bayes: (1 - beta) * mean |w| + beta * w.
    Paper    Wang & Manning, "Baselines and bigrams: simple, good sentiment and topic classification", ACL 2012:
             equations 3 (with alpha) and 4 (beta 0.25), for binary x.
"""

from __future__ import annotations

from typing import Any, Literal

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
from textcat.linear import LinearModel, fit
from textcat.linear.regularization import lam_from_c


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


LossName = Literal["squared_hinge", "logistic", "hinge"]


def compute_log_count_ratios(X: Any, Y: Bools, alpha: float, selected: Bools | None = None) -> Floats:
    """Return the log-count ratio of each term for each category, terms x categories; 0 for terms not selected."""
    present = sp.csr_matrix(X, copy=True)
    present.eliminate_zeros()
    present.data = np.ones_like(present.data)
    inside = np.asarray(present.T @ Y.astype(np.float64)) + alpha
    outside = np.asarray(present.sum(axis=0)).reshape(-1, 1) + 2 * alpha - inside
    kept = as_mask(selected, *inside.shape)
    ratios = _compute_log_shares(inside, kept) - _compute_log_shares(outside, kept)
    return np.where(kept, ratios, 0.0)


def _compute_log_shares(counts: Floats, kept: Bools) -> Floats:
    totals = np.where(kept, counts, 0.0).sum(axis=0)
    return np.asarray(np.log(counts / np.where(totals > 0, totals, 1.0)))


def fit_nb_svm(
    X: Any,
    Y: Any,
    *,
    loss: LossName = "squared_hinge",
    cost: float = 1.0,
    alpha: float = 1.0,
    beta: float = 1.0,
    tol: float = 1e-4,
    mask: Bools | None = None,
    n_jobs: int = 1,
) -> LinearModel:
    """Train every category on its own ratios times the features; `mask` leaves features out by category."""
    documents = as_documents(X)
    labels = as_labels(Y, documents.shape[0])
    require_positive(cost=cost, alpha=alpha, tol=tol)
    selected = as_mask(mask, documents.shape[1], labels.shape[1])
    ratios = compute_log_count_ratios(documents, labels, alpha, selected)
    lam = lam_from_c(cost, documents.shape[0])
    coef, intercept, certificates = np.zeros(ratios.shape), np.zeros(labels.shape[1]), []
    for column in range(labels.shape[1]):
        scaled = sp.csr_matrix(
            (documents.data * ratios[documents.indices, column], documents.indices, documents.indptr),
            shape=documents.shape,
        )
        found = fit(
            scaled,
            labels[:, [column]],
            loss=loss,
            prior="gaussian",
            lam=lam,
            algorithm="fast",
            tol=tol,
            n_jobs=n_jobs,
        )
        weights = np.asarray(found.coef)[:, 0]
        mean = np.abs(weights).sum() / max(np.count_nonzero(selected[:, column]), 1)
        weights = (1.0 - beta) * mean + beta * weights
        coef[:, column] = weights * ratios[:, column]
        intercept[column] = found.intercept[0]
        certificates += list(found.certificate)
    settings = {"learner": "nb_svm", "loss": loss, "cost": cost, "alpha": alpha, "beta": beta, "tol": tol}
    return LinearModel(coef, intercept, certificates, settings)
