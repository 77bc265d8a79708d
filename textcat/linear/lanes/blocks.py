"""The problem as the kernels want it: rows shuffled, features renamed by frequency, categories in blocks of
sixteen lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.linear.vector import WIDTH

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Rows:
    """Documents of positive weight. Feature j of the caller is row `place[j]` of a block's weights: frequent
    ones lie together.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray[np.float64]
    norms: NDArray[np.float64]
    importance: NDArray[np.float64]
    place: NDArray[np.int32]

    @property
    def documents(self) -> int:
        """How many documents count."""
        return len(self.indptr) - 1

    @property
    def features(self) -> int:
        """How many features there are, occurring or not."""
        return len(self.place)

    @cached_property
    def single(self) -> tuple[Floats, Floats, Floats]:
        """Data, squared norms and document weights in float32."""
        return self.data.astype(np.float32), self.norms.astype(np.float32), self.importance.astype(np.float32)

    def values(self, dtype: type[np.floating]) -> tuple[Floats, Floats, Floats]:
        """Data, squared norms and document weights in an element type."""
        return self.single if dtype is np.float32 else (self.data, self.norms, self.importance)


@dataclass(frozen=True)
class Block:
    """At most sixteen categories: their numbers, signs (documents x 16, float32) and C by lane; spare lanes
    repeat the last category.
    """

    categories: NDArray[np.int64]
    signs: NDArray[np.float32]
    limits: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many of the lanes count."""
        return len(self.categories)


def pack_rows(X: sp.csr_matrix, importance: NDArray[np.float64]) -> Rows:
    """Keep the documents of positive weight and rename the features by falling document frequency."""
    if not importance.all():
        X, importance = X[np.flatnonzero(importance)], importance[importance > 0]
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    place = np.empty(X.shape[1], np.int32)
    place[np.argsort(-frequency, kind="stable")] = np.arange(X.shape[1], dtype=np.int32)
    data = np.ascontiguousarray(X.data, np.float64)
    norms = _row_sums(data * data, X.indptr)
    return Rows(X.indptr.astype(np.int64), place[X.indices], data, norms, importance, place)


def _row_sums(values: NDArray[np.float64], indptr: NDArray[np.integer]) -> NDArray[np.float64]:
    """Sums over rows; `reduceat` alone would be wrong for empty rows."""
    filled = np.flatnonzero(np.diff(indptr))
    sums = np.zeros(len(indptr) - 1)
    if len(filled):
        sums[filled] = np.add.reduceat(values, indptr[filled])
    return sums


def pack_categories(Y: NDArray[np.bool_], C: NDArray[np.float64]) -> list[Block]:
    """Blocks of categories of like size, so that the documents that matter to one lane matter to its
    neighbours.
    """
    order = np.argsort(-Y.sum(axis=0), kind="stable")
    return [_block(Y, C, order[start : start + WIDTH]) for start in range(0, len(order), WIDTH)]


def _block(Y: NDArray[np.bool_], C: NDArray[np.float64], categories: NDArray[np.int64]) -> Block:
    lanes = np.concatenate((categories, np.repeat(categories[-1:], WIDTH - len(categories))))
    signs = np.where(Y[:, lanes], np.float32(1), np.float32(-1))
    return Block(categories, np.ascontiguousarray(signs), C[lanes])
