"""Checks of the documents, labels, masks and settings that learners are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from textcat.errors import BadDataError, UsageError
from textcat.linear.problem import labels_as_columns
from textcat.matrices import check_matrix

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Features = NDArray[np.float32] | NDArray[np.float64] | sp.csr_matrix


def as_documents(X: Any) -> sp.csr_matrix:
    """Return documents x features as canonical float64 CSR. Refuse values that are not finite."""
    check_matrix(X)
    matrix = sp.csr_matrix(X, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    refuse_values(
        matrix, ~np.isfinite(matrix.data), "a feature value is not finite", "Remove NaN and infinity first."
    )
    return matrix


def refuse_values(matrix: sp.csr_matrix, wrong: Bools, message: str, hint: str) -> None:
    """Raise BadDataError with the document row of the first stored value that is wrong."""
    if wrong.any():
        row = int(np.searchsorted(matrix.indptr, int(np.argmax(wrong)), side="right")) - 1
        raise BadDataError(message, where=f"document row {row}", hint=hint)


def as_labels(Y: ArrayLike, documents: int) -> Bools:
    """Return labels as bool, documents x categories. Refuse a training set without documents."""
    if documents == 0:
        raise UsageError("there are no documents to train on", hint="Give at least one document.")
    return labels_as_columns(Y, documents)


def check_one_category_each(Y: ArrayLike, documents: int) -> None:
    """Refuse labels that do not give each document exactly one of at least two categories."""
    labels = as_labels(Y, documents)
    wrong = int(np.sum(labels.sum(axis=1) != 1))
    if wrong or labels.shape[1] < 2:
        raise BadDataError(
            f"{wrong} of {documents} documents do not have exactly one of {labels.shape[1]} categories",
            where="labels",
            hint="Give each document one category, and at least two categories in all.",
        )


def as_mask(mask: ArrayLike | None, features: int, categories: int) -> Bools:
    """Return the mask as bool, features x categories. None selects every feature for every category."""
    if mask is None:
        return np.ones((features, categories), dtype=np.bool_)
    selected = np.asarray(mask, dtype=np.bool_)
    if selected.ndim == 1:
        selected = np.repeat(selected[:, None], categories, axis=1)
    if selected.shape != (features, categories):
        raise UsageError(
            f"a mask of shape {selected.shape} does not fit {features} features x {categories} categories",
            hint="Give a mask of features x categories.",
        )
    return selected


def require_positive(**values: float) -> None:
    """Refuse settings that are not positive finite numbers."""
    for name, value in values.items():
        if not (np.isfinite(value) and value > 0):
            raise UsageError(f"{name} must be a positive number, got {value}", hint="Give a number above 0.")
