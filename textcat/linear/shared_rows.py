"""Weights of a trained model in a few bytes: terms of the same training documents share a row.

With a quadratic penalty the weights of a term are a sum over the documents that contain it: its value in a document
times the document's dual variables. Terms of the same documents, as most n-grams of rare words are, have proportional
weights. Their row is stored once, relative to its largest weight; a term has the number of its row and its own largest
weight. Numbers are rounded to float16, and weights below 1 / LEAST_PART of the largest of their row are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import BadDataError

# Rows are the same if all their weights, relative to the largest, agree to this many steps.
STEPS = 1 << 14
LEAST_PART = 1 << 10
# Weights that are compared at a time.
_CHUNK = 4_000_000
_NAMES = ("rows", "scales", "factor", "lengths", "indices", "data", "shape")


@dataclass(frozen=True)
class SharedRows:
    """Weights, terms x categories: those of term t are factor x scales[t] x row rows[t] of `distinct`."""

    rows: NDArray[Any]
    scales: NDArray[np.float16]
    factor: float
    starts: NDArray[np.int64]
    indices: NDArray[Any]
    data: NDArray[np.float16]
    shape: tuple[int, int]

    @classmethod
    def pack(cls, weights: Any) -> SharedRows:
        """Return dense or sparse weights with shared rows."""
        largest, codes = (np.concatenate(parts) for parts in zip(*_describe_rows(weights), strict=True))
        _, first, own = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), np.uint32)
        rank[order] = np.arange(len(order))
        chosen = first[order]
        factor = float(np.abs(largest).max(initial=0.0)) or 1.0
        lengths, indices, data = [], [], []
        for _, relative in _list_relative(weights, chosen):
            kept = np.abs(relative) >= 1 / LEAST_PART
            lengths.append(np.count_nonzero(kept, axis=1))
            indices.append(np.nonzero(kept)[1])
            data.append(relative[kept].astype(np.float16))
        columns = np.concatenate(indices).astype(np.min_scalar_type(max(weights.shape[1] - 1, 0)))
        starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
        scales = (largest / factor).astype(np.float16)
        return cls(rank[own], scales, factor, starts, columns, np.concatenate(data), weights.shape)

    def multiply(self, matrix: Any) -> NDArray[np.float64]:
        """Return X W for a matrix X, with the same result for any number of documents."""
        X = sp.csr_array(matrix)
        used, places = np.unique(self.rows[X.indices], return_inverse=True)
        values = X.data * self.scales[X.indices].astype(np.float64)
        combined = sp.csr_array(
            (values, places.astype(X.indptr.dtype), X.indptr), shape=(X.shape[0], len(used))
        )
        return np.asarray((combined @ self._take(used)).toarray() * self.factor, dtype=np.float64)

    def __getitem__(self, place: tuple[slice, Any]) -> NDArray[np.float64]:
        """Return the weights of all terms in some categories."""
        chosen = sp.csr_array(self._take(np.arange(len(self.starts) - 1)))[:, place[1]].toarray()
        scales = self.factor * self.scales.astype(np.float64)
        return np.asarray(chosen[self.rows] * scales[:, None], dtype=np.float64)

    def toarray(self) -> NDArray[np.float64]:
        """Return the weights as a dense array."""
        return self[:, np.arange(self.shape[1])]

    def _take(self, chosen: NDArray[Any]) -> sp.csr_array[Any]:
        """Return some of the distinct rows."""
        first, lengths = self.starts[chosen], self.starts[chosen + 1] - self.starts[chosen]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(ends[-1]) + np.repeat(first - ends[:-1], lengths)
        parts = self.data[places].astype(np.float64), self.indices[places].astype(np.int32), ends
        return sp.csr_array(parts, shape=(len(chosen), self.shape[1]))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all data as arrays."""
        lengths = np.diff(self.starts)
        return {
            "rows": self.rows,
            "scales": self.scales,
            "factor": np.array(self.factor),
            "lengths": lengths.astype(np.min_scalar_type(self.shape[1])),
            "indices": self.indices,
            "data": self.data,
            "shape": np.array(self.shape, dtype=np.int64),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> SharedRows:
        """Return the weights of `to_arrays`; refuse arrays that do not fit together."""
        try:
            rows, scales, factor, lengths, indices, data, shape = (arrays[name] for name in _NAMES)
            terms, categories = (int(length) for length in shape)
            starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
            unsigned = all(part.dtype.kind == "u" and part.ndim == 1 for part in (rows, lengths, indices))
            halves = all(part.dtype == np.float16 and part.ndim == 1 for part in (scales, data))
            sizes = len(rows) == len(scales) == terms and len(indices) == len(data) == starts[-1]
            if not (unsigned and halves and sizes and factor.dtype == np.float64 and factor.shape == ()):
                raise ValueError("parts do not fit together")
            if rows.max(initial=0) >= max(len(lengths), 1) or indices.max(initial=0) >= max(categories, 1):
                raise ValueError("a number is out of range")
            if terms and not len(lengths):
                raise ValueError("there are no rows")
        except (KeyError, ValueError, TypeError, OverflowError) as error:
            raise BadDataError(
                f"weights that are no shared rows: {error}",
                where="model arrays",
                hint="Train the model again.",
            ) from error
        return cls(rows, scales, float(factor), starts, indices, data, (terms, categories))


def _list_relative(weights: Any, chosen: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield the largest weight of some rows, and the rows divided by it, part after part."""
    is_sparse = bool(sp.issparse(weights))
    rows: Any = sp.csr_array(weights) if is_sparse else weights
    height = max(_CHUNK // max(weights.shape[1], 1), 1)
    for start in range(0, max(len(chosen), 1), height):
        part: Any = rows[chosen[start : start + height]]
        dense = np.asarray(part.toarray() if is_sparse else part, dtype=np.float64)
        places = np.abs(dense).argmax(axis=1)
        largest = dense[np.arange(len(dense)), places]
        yield largest, dense / np.where(largest == 0.0, 1.0, largest)[:, None]


def _describe_rows(weights: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Yield the largest weight of each row, and a number that equal rows share."""
    factors = np.random.default_rng(0).integers(1, 1 << 63, weights.shape[1], dtype=np.uint64) | np.uint64(1)
    for largest, relative in _list_relative(weights, np.arange(weights.shape[0])):
        steps = np.rint(relative * STEPS).astype(np.int64).view(np.uint64)
        yield largest, steps @ factors
