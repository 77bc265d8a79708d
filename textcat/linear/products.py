"""Products of sparse and dense matrices: one vector instruction over a row of categories per nonzero of X."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.compile import compile_kernel, compile_part
from textcat.parallel.executors import run_in_threads

Array = Any


@compile_part
def accumulate_row_product(
    columns: Array, values: Array, start: int, stop: int, weight: Array, total: Array
) -> None:
    """Compute one sparse row times a dense matrix, four nonzeros at a time."""
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


@compile_kernel
def _multiply(starts: Array, columns: Array, values: Array, dense: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        accumulate_row_product(columns, values, starts[i], starts[i + 1], dense, out[i])


@compile_kernel
def _multiply_four(starts: Array, columns: Array, values: Array, dense: Array, out: Array) -> None:
    """Compute the same sums in the same order for four categories in registers, three times as fast."""
    for i in range(out.shape[0]):
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        t, stop = starts[i], starts[i + 1]
        while t + 4 <= stop:
            a, b, c, d = (
                dense[columns[t]],
                dense[columns[t + 1]],
                dense[columns[t + 2]],
                dense[columns[t + 3]],
            )
            p, q, r, s = values[t], values[t + 1], values[t + 2], values[t + 3]
            one += (p * a[0] + q * b[0]) + (r * c[0] + s * d[0])
            two += (p * a[1] + q * b[1]) + (r * c[1] + s * d[1])
            three += (p * a[2] + q * b[2]) + (r * c[2] + s * d[2])
            four += (p * a[3] + q * b[3]) + (r * c[3] + s * d[3])
            t += 4
        while t < stop:
            a, p = dense[columns[t]], values[t]
            one, two = one + p * a[0], two + p * a[1]
            three, four = three + p * a[2], four + p * a[3]
            t += 1
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = one, two, three, four


def _divide_rows(starts: NDArray[np.int64], jobs: int) -> Iterator[tuple[int, int]]:
    """Return the first and last row of `jobs` shares with about the same number of nonzeros."""
    ends = np.searchsorted(starts, np.linspace(0, starts[-1], jobs + 1)[1:-1])
    return pairwise([0, *ends.tolist(), len(starts) - 1])


def _multiply_in_threads(matrix: Any, dense: NDArray[np.float64], jobs: int) -> NDArray[np.float64]:
    """Multiply the compressed rows (or columns) of a matrix by a dense one, in `jobs` threads."""
    width = dense.shape[1]
    lanes, kernel = (4, _multiply_four) if width <= 4 else (width, _multiply)
    starts, positions = matrix.indptr.astype(np.int64), _view_as_unsigned(matrix.indices)
    padded, out = np.zeros((dense.shape[0], lanes)), np.empty((len(starts) - 1, lanes))
    padded[:, :width] = dense
    run_in_threads(
        jobs,
        [
            partial(kernel, starts[first : last + 1], positions, matrix.data, padded, out[first:last])
            for first, last in _divide_rows(starts, jobs)
        ],
    )
    return out if lanes == width else np.ascontiguousarray(out[:, :width])


@compile_kernel
def _add_rows(starts: Array, columns: Array, values: Array, dense: Array, out: Array) -> None:
    for i in range(dense.shape[0]):
        for t in range(starts[i], starts[i + 1]):
            j, x = columns[t], values[t]
            for k in range(out.shape[1]):
                out[j, k] += x * dense[i, k]


def _view_as_unsigned(positions: NDArray[Any]) -> NDArray[np.uint32]:
    """Return positions as uint32, without a copy where their bits are the same."""
    return positions.view(np.uint32) if positions.dtype == np.int32 else positions.astype(np.uint32)


def multiply_matrix(matrix: sp.csr_matrix, dense: NDArray[np.float64], jobs: int = 1) -> NDArray[np.float64]:
    """Return X W for CSR X, with the same result for any number of jobs."""
    return _multiply_in_threads(matrix, dense, jobs)


def multiply_transposed(
    matrix: sp.csc_matrix, dense: NDArray[np.float64], jobs: int = 1
) -> NDArray[np.float64]:
    """Return X' V for CSC X, with the same result for any number of jobs."""
    return _multiply_in_threads(matrix, dense, jobs)


def multiply_transposed_by_rows(matrix: sp.csr_matrix, dense: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return X' V for CSR X; sums are in another order than in `multiply_transposed`."""
    out = np.zeros((matrix.shape[1], dense.shape[1]))
    starts, columns = matrix.indptr.astype(np.int64), _view_as_unsigned(matrix.indices)
    _add_rows(starts, columns, matrix.data, np.ascontiguousarray(dense), out)
    return out


# Features with weights for more than this share of the categories are multiplied as dense rows.
DENSE_SHARE = 0.15


@compile_kernel
def _multiply_sparse(
    starts: Array, columns: Array, values: Array, index: Array, dense: Array, out: Array
) -> None:
    heads, labels, weights, places = index
    for i in range(out.shape[0]):
        total = out[i]
        for t in range(starts[i], starts[i + 1]):
            j, x = columns[t], np.float64(values[t])
            place = places[j]
            if place >= 0:
                row = dense[place]
                for k in range(total.shape[0]):
                    total[k] += x * np.float64(row[k])
            else:
                for s in range(heads[j], heads[j + 1]):
                    total[labels[s]] += x * weights[s]


class SparseWeights:
    """Weights, features x categories, for products: an inverted index, with rows that are nearly full as dense."""

    def __init__(self, weights: Any) -> None:
        """`weights` is any sparse matrix."""
        rows = sp.csr_matrix(weights)
        self.shape: tuple[int, int] = rows.shape
        full = np.flatnonzero(np.diff(rows.indptr) > DENSE_SHARE * rows.shape[1])
        places = np.full(rows.shape[0], -1, dtype=np.int32)
        places[full] = np.arange(len(full))
        self._dense = rows[full].toarray()
        self._index = (rows.indptr.astype(np.int64), rows.indices, rows.data, places)

    def multiply(self, matrix: Any, jobs: int = 1) -> NDArray[np.float64]:
        """Return X W as a dense matrix for sparse X, summed in double precision, for any number of jobs the same."""
        rows = matrix if matrix.format == "csr" else sp.csr_matrix(matrix)
        out = np.zeros((rows.shape[0], self.shape[1]))
        starts = rows.indptr.astype(np.int64)
        run_in_threads(
            jobs,
            [
                partial(
                    _multiply_sparse, starts[first : last + 1], rows.indices, rows.data,
                    self._index, self._dense, out[first:last],
                )
                for first, last in _divide_rows(starts, jobs)
            ],
        )  # fmt: skip
        return out
