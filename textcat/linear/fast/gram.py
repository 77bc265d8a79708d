"""Gram matrix of a growing working set of documents, kept between the rounds of a category.

The most frequent features are multiplied as a dense matrix, the others by lists of the documents that contain
them, since most pairs of documents share few of these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from textcat.compile import compile_kernel
from textcat.linear.fast.layout import PackedRows
from textcat.linear.simd import entry

# The number of features treated as dense; `PackedRows` has the most frequent ones first.
_COMMON_FEATURES = 64
_ROWS_PER_TILE = 64


@compile_kernel
def _fill_common_part(spans: Any, indices: Any, data: Any, chosen: Any, signs: Any, dense: Any) -> None:
    """Fill in the chosen documents, signed, over the first features."""
    dense[:] = 0.0
    for k in range(len(chosen)):
        for t in range(spans[chosen[k], 0], spans[chosen[k], 1]):
            j = entry(indices, t)
            if j < dense.shape[1]:
                dense[k, j] = signs[k] * entry(data, t)


@compile_kernel
def _add_rare_part(
    spans: Any,
    indices: Any,
    data: Any,
    chosen: Any,
    signs: Any,
    known: int,
    common: int,
    features: int,
    Q: Any,
) -> None:
    """Add the products over the other features to the lower triangle, from row `known` on.

    Each document is multiplied with the earlier documents in the lists of its features, then added to them.
    """
    starts = np.zeros(features + 1, np.int64)
    for i in chosen:
        for t in range(spans[i, 0], spans[i, 1]):
            starts[entry(indices, t) + 1] += 1
    for j in range(features):
        starts[j + 1] += starts[j]
    ends = starts[:-1].copy()
    members = np.empty(starts[features], np.uint32)
    values = np.empty(starts[features], Q.dtype)
    for k in range(len(chosen)):
        row = Q[k]
        for t in range(spans[chosen[k], 0], spans[chosen[k], 1]):
            j = entry(indices, t)
            if j >= common:
                value = signs[k] * entry(data, t)
                members[ends[j]] = k
                values[ends[j]] = value
                ends[j] += 1
                if k >= known:
                    for s in range(starts[j], ends[j]):
                        row[entry(members, s)] += value * entry(values, s)


@compile_kernel
def _mirror_triangle(Q: Any, known: int, size: int) -> None:
    """Copy the lower triangle's rows from `known` on to the upper one, tile by tile."""
    for top in range(known, size, _ROWS_PER_TILE):
        for left in range(0, size, _ROWS_PER_TILE):
            for k in range(top, min(top + _ROWS_PER_TILE, size)):
                for j in range(left, min(left + _ROWS_PER_TILE, k)):
                    Q[j, k] = Q[k, j]


@dataclass
class GramMatrix:
    """Documents of a working set in order of arrival, with Q_ij = y_i y_j x_i'x_j + ridge_i [i = j]."""

    rows: PackedRows
    signs: NDArray[np.float64]
    ridges: NDArray[np.float64]
    dtype: type[np.floating]
    chosen: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    Q: NDArray[np.floating] = field(init=False)

    def __post_init__(self) -> None:
        self.Q = np.empty((0, 0), self.dtype)

    def grow(self, wanted: NDArray[np.bool_]) -> int:
        """Add the wanted documents that are missing; return how many were added."""
        known = len(self.chosen)
        new = wanted.copy()
        new[self.chosen] = False
        self.chosen = np.concatenate((self.chosen, np.flatnonzero(new)))
        if len(self.chosen) > known:
            self._multiply(known)
        return len(self.chosen) - known

    def _multiply(self, known: int) -> None:
        rows, size = self.rows, len(self.chosen)
        matrix = (rows.spans, rows.indices, rows.values(self.dtype)[0], self.chosen)
        signs = self.signs[self.chosen].astype(self.dtype)
        common = min(_COMMON_FEATURES, rows.features)
        dense = np.empty((size, common), self.dtype)
        _fill_common_part(*matrix, signs, dense)
        before, self.Q = self.Q, _multiply_common_part(dense, known)
        self.Q[:known, :known] = before
        _add_rare_part(*matrix, signs, known, common, rows.features, self.Q)
        new = np.arange(known, size)
        self.Q[new, new] += self.ridges[self.chosen[known:]].astype(self.dtype)
        _mirror_triangle(self.Q, known, size)


def _multiply_common_part(dense: NDArray[np.floating], known: int) -> NDArray[np.floating]:
    """Return the products of the documents' common features in the lower triangle, from row `known` on."""
    size = len(dense)
    Q = np.empty((size, size), dense.dtype)
    if known:
        np.matmul(dense[known:], dense.T, out=Q[known:])
        return Q
    multiply: Any = get_blas_funcs("syrk", (dense,))
    multiply(1.0, dense.T, trans=1, lower=0, c=Q.T, overwrite_c=1)
    return Q
