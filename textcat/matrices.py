"""Check sparse matrices that come from outside: compiled code trusts their indices, which scipy does not check."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from textcat.errors import BadDataError

HINT = "Columns are counted from 0 (in svmlight files often from 1); make the matrix again."


def check_matrix(given: Any, where: str = "X") -> None:
    """Raise BadDataError for a sparse matrix whose parts do not fit, linear in its nonzeros; skip other data."""
    if not sparse.issparse(given):
        return
    matrix: Any = given
    if matrix.ndim != 2:
        raise BadDataError(f"a sparse array of {matrix.ndim} dimensions is no matrix", where=where, hint=HINT)
    kind, (rows, columns) = matrix.format, matrix.shape
    if kind == "coo":
        fault = find_index_fault(matrix.row, matrix.data, rows) or find_index_fault(
            matrix.col, matrix.data, columns
        )
    elif kind in ("csr", "csc", "bsr"):
        lines, width = (columns, rows) if kind == "csc" else (rows, columns)
        if kind == "bsr":
            high, wide = matrix.blocksize
            lines, width = lines // max(high, 1), width // max(wide, 1)
        fault = find_fault(matrix.data, matrix.indices, matrix.indptr, lines, width, blocks=kind == "bsr")
    else:
        check_matrix(matrix.tocsr(), where)
        return
    if fault:
        raise BadDataError(f"not a sound sparse matrix: {fault}", where=where, hint=HINT)


def find_fault(data: Any, indices: Any, indptr: Any, lines: int, width: int, *, blocks: bool = False) -> str:
    """Return what is wrong with a compressed matrix of so many lines (rows or columns) of this width, or ""."""
    if indptr.ndim != 1 or not np.issubdtype(indptr.dtype, np.integer):
        return "the starts of its lines are not whole numbers"
    if len(indptr) != lines + 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        return "the starts of its lines do not fit its values"
    if (indptr[1:] < indptr[:-1]).any():
        return "its lines overlap"
    return find_index_fault(indices, data, width, blocks=blocks)


def find_index_fault(indices: Any, data: Any, width: int, *, blocks: bool = False) -> str:
    """Return what is wrong with values and their positions below `width`, or ""."""
    if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer):
        return "its indices are not whole numbers"
    if len(data) != len(indices) or data.ndim != (3 if blocks else 1):
        return "it has not one value for each index"
    if data.dtype.kind not in "biuf":
        return f"its values are {data.dtype}, not real numbers"
    if len(indices) and not 0 <= (least := indices.min()) <= (most := indices.max()) < width:
        return f"the index {least if least < 0 else most} is out of range, there are {width}"
    return ""
