"""Support vector machine on log-count ratios: naive Bayes scales the features of a linear learner.

Problem:  for each category, with p_j and q_j the numbers of its and of the other documents that contain term j, plus
          alpha, r_j = ln((p_j / sum p) / (q_j / sum q)); minimise the mean loss of the scores w.(r * x) + b plus
          lam times the sum of squared weights.
Outputs:  LinearModel whose weights are those of the terms: scores are X coef + intercept, as for any linear model.
          With beta below 1, w is moved towards naive Bayes: (1 - beta) * mean |w| + beta * w.
Paper:    Wang & Manning, "Baselines and bigrams: simple, good sentiment and topic classification", ACL 2012: equations
          3 (with alpha) and 4 (beta 0.25), for binary x.

The ratios differ by category, so the categories are trained one by one, each on its own features.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from textcat.learners.checks import Bools, Floats, as_documents, as_labels, require_positive
from textcat.linear import LinearModel, fit
from textcat.linear.regularization import lam_from_c

LossName = Literal["squared_hinge", "logistic", "hinge"]


def compute_log_count_ratios(X: Any, Y: Bools, alpha: float) -> Floats:
    """Return the log-count ratio of each term for each category, terms x categories."""
    present = sp.csr_matrix(X, copy=True)
    present.eliminate_zeros()
    present.data = np.ones_like(present.data)
    inside = np.asarray(present.T @ Y.astype(np.float64)) + alpha
    outside = np.asarray(present.sum(axis=0)).reshape(-1, 1) + 2 * alpha - inside
    ratios: Floats = np.log(inside / inside.sum(axis=0)) - np.log(outside / outside.sum(axis=0))
    return ratios


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
    ratios = compute_log_count_ratios(documents, labels, alpha)
    if mask is not None:
        ratios *= mask
    lam = lam_from_c(cost, documents.shape[0])
    coef, intercept, certificates = np.zeros(ratios.shape), np.zeros(labels.shape[1]), []
    for column in range(labels.shape[1]):
        scaled = sp.csr_matrix(
            (documents.data * ratios[documents.indices, column], documents.indices, documents.indptr),
            shape=documents.shape,
        )
        scaled.eliminate_zeros()
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
        weights = (1.0 - beta) * np.abs(weights).mean() + beta * weights
        coef[:, column] = weights * ratios[:, column]
        intercept[column] = found.intercept[0]
        certificates += list(found.certificate)
    settings = {
        "learner": "nb_svm",
        "loss": loss,
        "cost": cost,
        "alpha": alpha,
        "beta": beta,
        "tol": tol,
    }
    return LinearModel(coef, intercept, certificates, settings)
