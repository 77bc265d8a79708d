"""What every learner of this room asks of its documents, labels and masks, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from textcat.errors import BadDataError, UsageError

Bools = NDArray[np.bool_]


def as_documents(X: Any) -> sp.csr_matrix:
    """Documents x features as canonical float64 CSR; refuses values that are not finite."""
    matrix = sp.csr_matrix(X, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        row = (
            int(np.searchsorted(matrix.indptr, np.flatnonzero(~np.isfinite(matrix.data))[0], side="right"))
            - 1
        )
        raise BadDataError(
            "a feature value is not finite",
            where=f"document row {row}",
            hint="Replace or leave out what is not a number.",
        )
    return matrix


def as_labels(Y: ArrayLike, documents: int) -> Bools:
    """Labels as bool, documents x categories; one column may come as a vector."""
    labels = np.asarray(Y)
    if labels.ndim == 1:
        labels = labels[:, None]
    if labels.ndim != 2 or labels.shape[0] != documents or documents == 0:
        raise UsageError(
            f"labels of shape {np.shape(Y)} do not fit {documents} documents",
            hint="Give a row of labels for each document.",
        )
    if labels.dtype != np.bool_:
        if not np.isin(labels, (0, 1)).all():
            raise UsageError(
                "labels must be bool (or 0 and 1)", hint="Make them bool: `Y > 0` where they are -1 and 1."
            )
        labels = labels.astype(np.bool_)
    return np.ascontiguousarray(labels)


def as_mask(mask: ArrayLike | None, features: int, categories: int) -> Bools:
    """The mask as bool, features x categories; without one every feature is selected everywhere."""
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


def require_positive(name: str, value: float) -> None:
    """Refuse a setting that is not a positive finite number."""
    if not (np.isfinite(value) and value > 0):
        raise UsageError(f"{name} must be a positive number, got {value}", hint="Give a number above 0.")
