"""Sparse matrices on disk: arrays derived from memory-mapped arrays are memory-mapped too.

A corpus larger than memory is given as arrays mapped from files. Derived arrays (with a constant column, in
another precision, by columns) are as large, so they are written to unnamed temporary files, which disappear
with the process; the operating system drops their pages when it needs memory. The folder for temporary files
(TMPDIR) must be on a disk.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from textcat.compile import compile_kernel

# Entries that are processed at a time.
ENTRIES_PER_PIECE = 1_000_000


def is_mapped(values: Any) -> bool:
    """Return whether an array is mapped from a file."""
    while values is not None:
        if isinstance(values, np.memmap | mmap.mmap):
            return True
        values = values.base if isinstance(values, np.ndarray) else None
    return False


def allocate_like(source: NDArray[Any], length: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an empty array: in memory, or in a file if `source` is in one."""
    if not length or not is_mapped(source):
        return np.empty(length, dtype)
    with tempfile.TemporaryFile(prefix="textcat-") as file:
        mapped: NDArray[Any] = np.memmap(file, dtype, "w+", shape=(length,))
        return mapped


def split_into_pieces(length: int) -> Iterator[slice]:
    """Yield slices that divide an array of this many entries into pieces that fit into memory."""
    for start in range(0, length, ENTRIES_PER_PIECE):
        yield slice(start, min(start + ENTRIES_PER_PIECE, length))


def convert_dtype(source: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return the same numbers in another element type."""
    converted = allocate_like(source, len(source), dtype)
    for piece in split_into_pieces(len(source)):
        converted[piece] = source[piece]
    return converted


def split_rows(indptr: NDArray[Any]) -> Iterator[slice]:
    """Yield slices of rows with about `ENTRIES_PER_PIECE` entries, at least one row each."""
    start, rows = 0, len(indptr) - 1
    while start < rows:
        stop = int(np.searchsorted(indptr, indptr[start] + ENTRIES_PER_PIECE, side="right")) - 1
        stop = min(max(stop, start + 1), rows)
        yield slice(start, stop)
        start = stop


def append_constant(rows: sp.csr_matrix, value: float) -> sp.csr_matrix:
    """Return the matrix with a last column that holds `value` in every row."""
    documents, features = rows.shape
    total = rows.nnz + documents
    width = _choose_position_type(max(total, features))
    indptr = (rows.indptr + np.arange(documents + 1, dtype=np.int64)).astype(width)
    data, indices = allocate_like(rows.data, total, np.float64), allocate_like(rows.indices, total, width)
    for part in split_rows(rows.indptr):
        old = slice(rows.indptr[part.start], rows.indptr[part.stop])
        new = slice(indptr[part.start], indptr[part.stop])
        ends = rows.indptr[part.start + 1 : part.stop + 1] - rows.indptr[part.start]
        data[new] = np.insert(rows.data[old], ends, value)
        indices[new] = np.insert(rows.indices[old], ends, features)
    return assemble_csr(data, indices, indptr, (documents, features + 1))


def select_rows(X: Any, documents: NDArray[np.int64]) -> Any:
    """Return some rows of a sparse or dense matrix; rows of a CSR matrix on disk are written to disk too."""
    if not is_mapped(getattr(X, "data", None)) or getattr(X, "format", None) != "csr":
        return X[documents]
    lengths = np.diff(X.indptr)[documents]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(X.indptr.dtype)
    data, indices = (allocate_like(each, int(indptr[-1]), each.dtype) for each in (X.data, X.indices))
    for part in split_rows(indptr):
        piece, place = X[documents[part]], slice(indptr[part.start], indptr[part.stop])
        data[place], indices[place] = piece.data, piece.indices
    rows = type(X)((len(documents), X.shape[1]), dtype=X.dtype)
    rows.data, rows.indices, rows.indptr = data, indices, indptr
    rows.has_canonical_format = X.has_canonical_format
    return rows


def _choose_position_type(most: int) -> type[np.signedinteger[Any]]:
    """Return int32 where it is enough; scipy copies positions whose type differs from that of indptr."""
    return np.int32 if most < np.iinfo(np.int32).max else np.int64


@compile_kernel
def _sort_into_columns(indptr: Any, indices: Any, data: Any, free: Any, positions: Any, values: Any) -> None:
    for i in range(len(indptr) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            place = free[indices[t]]
            free[indices[t]] = place + 1
            positions[place] = i
            values[place] = data[t]


def convert_to_columns(
    indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], features: int
) -> sp.csc_matrix:
    """Return a CSR matrix as CSC, with documents in ascending order."""
    lengths = np.zeros(features, np.int64)
    for piece in split_into_pieces(len(indices)):
        lengths += np.bincount(indices[piece], minlength=features)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    positions, values = (
        allocate_like(indices, len(indices), np.int32),
        allocate_like(data, len(data), np.float64),
    )
    _sort_into_columns(indptr, indices, data, ends[:-1].copy(), positions, values)
    matrix = sp.csc_matrix((len(indptr) - 1, features), dtype=np.float64)
    matrix.data, matrix.indices, matrix.indptr = (
        values,
        positions,
        ends.astype(_choose_position_type(len(data))),
    )
    return matrix


def assemble_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> sp.csr_matrix:
    """Return a CSR matrix of canonical arrays without the checks and copies of scipy's constructor."""
    matrix = sp.csr_matrix(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    matrix.has_canonical_format = True
    return matrix
