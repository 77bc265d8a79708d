"""Balanced clusters of labels, by repeated bisection of their centroids (Prabhu et al., WWW 2018: Parabel).

The centroid of a label is the normalized sum of its documents, of which the largest entries are kept. A bisection is
2-means on the sphere with two halves of equal size: labels are ordered by the difference of their similarities to both
means. Start and ties depend on the seed only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Ints = NDArray[np.int64]

MAX_CENTROID_FEATURES = 400
MAX_ROUNDS = 20
_LABELS_AT_ONCE = 1000


def compute_centroids(X: sp.csr_matrix, Y: Any) -> sp.csr_matrix:
    """Return the centroid of each label, labels x features, of length 1; empty for labels without documents."""
    parts = []
    labels = sp.csc_matrix(Y)
    for first in range(0, Y.shape[1], _LABELS_AT_ONCE):
        block = sp.csr_matrix(labels[:, first : first + _LABELS_AT_ONCE].T, dtype=np.float32)
        parts.append(_keep_largest(sp.csr_matrix(block @ X.astype(np.float32))))
    centroids = sp.csr_matrix(sp.vstack(parts, format="csr"))
    lengths = np.sqrt(np.asarray(centroids.multiply(centroids).sum(axis=1))).ravel()
    return sp.csr_matrix(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ centroids)


def _keep_largest(rows: sp.csr_matrix) -> sp.csr_matrix:
    """Keep the largest entries of each row."""
    rows.sort_indices()
    kept = np.ones(rows.nnz, dtype=np.bool_)
    for row in np.flatnonzero(np.diff(rows.indptr) > MAX_CENTROID_FEATURES):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        order = np.argsort(-rows.data[part], kind="stable")
        kept[rows.indptr[row] + order[MAX_CENTROID_FEATURES:]] = False
    rows.data[~kept] = 0.0
    rows.eliminate_zeros()
    return rows


def divide_labels(
    centroids: sp.csr_matrix, labels: Ints, parts: int, random: np.random.Generator
) -> list[Ints]:
    """Return `parts` clusters (a power of two) of labels; their sizes differ by at most one."""
    if parts <= 1 or len(labels) < 2:
        return [np.sort(labels)]
    halves = _bisect(centroids[labels], random)
    return [
        cluster for half in halves for cluster in divide_labels(centroids, labels[half], parts // 2, random)
    ]


def _bisect(rows: Any, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the row numbers of two halves."""
    number = rows.shape[0]
    first, second = random.choice(number, 2, replace=False)
    direction = _as_vector(rows[[first]] - rows[[second]])
    half = (number + 1) // 2
    before = np.zeros(0, dtype=np.int64)
    for _ in range(MAX_ROUNDS):
        order = np.argsort(-(rows @ direction), kind="stable")
        chosen = np.sort(order[:half])
        if np.array_equal(chosen, before):
            break
        before = chosen
        means = [_normalize(_as_vector(rows[part].sum(axis=0))) for part in (order[:half], order[half:])]
        direction = means[0] - means[1]
    return before, np.setdiff1d(np.arange(number), before)


def _as_vector(row: Any) -> NDArray[np.float64]:
    dense = row.toarray() if hasattr(row, "toarray") else row
    return np.asarray(dense, dtype=np.float64).ravel()


def _normalize(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
