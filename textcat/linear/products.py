"""Sparse times dense with categories in lanes: a nonzero of X is one vector instruction over a row of
categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.linear.compile import compiled

Array = Any


@compiled
def row_dot(columns: Array, values: Array, start: int, stop: int, weight: Array, total: Array) -> None:
    """One sparse row times a dense matrix, four nonzeros a turn."""
    for k in range(total.shape[0]):
        total[k] = 0
    t = start
    while t + 4 <= stop:
        a, b, c, d = columns[t], columns[t + 1], columns[t + 2], columns[t + 3]
        p, q, r, s = values[t], values[t + 1], values[t + 2], values[t + 3]
        for k in range(total.shape[0]):
            total[k] += (p * weight[a, k] + q * weight[b, k]) + (r * weight[c, k] + s * weight[d, k])
        t += 4
    while t < stop:
        a, p = columns[t], values[t]
        for k in range(total.shape[0]):
            total[k] += p * weight[a, k]
        t += 1


@compiled
def _multiply(starts: Array, columns: Array, values: Array, dense: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        row_dot(columns, values, starts[i], starts[i + 1], dense, out[i])


@compiled
def _add_rows(starts: Array, columns: Array, values: Array, dense: Array, out: Array) -> None:
    for i in range(dense.shape[0]):
        for t in range(starts[i], starts[i + 1]):
            j, x = columns[t], values[t]
            for k in range(out.shape[1]):
                out[j, k] += x * dense[i, k]


def _unsigned(positions: NDArray[Any]) -> NDArray[np.uint32]:
    """Positions as the kernels take them, not copied where their bits are the same."""
    return positions.view(np.uint32) if positions.dtype == np.int32 else positions.astype(np.uint32)


def times(matrix: sp.csr_matrix, dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """X W for CSR X."""
    out = np.empty((matrix.shape[0], dense.shape[1]))
    starts, columns = matrix.indptr.astype(np.int64), _unsigned(matrix.indices)
    _multiply(starts, columns, matrix.data, np.ascontiguousarray(dense), out)
    return out


def transposed_times(matrix: sp.csc_matrix, dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """X' V for CSC X."""
    out = np.empty((matrix.shape[1], dense.shape[1]))
    starts, rows = matrix.indptr.astype(np.int64), _unsigned(matrix.indices)
    _multiply(starts, rows, matrix.data, np.ascontiguousarray(dense), out)
    return out


def added_rows(matrix: sp.csr_matrix, dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """X' V for CSR X, row after row; sums are rounded in another order than by columns."""
    out = np.zeros((matrix.shape[1], dense.shape[1]))
    starts, columns = matrix.indptr.astype(np.int64), _unsigned(matrix.indices)
    _add_rows(starts, columns, matrix.data, np.ascontiguousarray(dense), out)
    return out
