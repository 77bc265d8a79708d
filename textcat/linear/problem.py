"""The problem that every algorithm solves: matrix with constant column, labels, mask, weights, penalty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from textcat.errors import UsageError, make_fit_error
from textcat.linear.losses import Loss
from textcat.linear.mapped_arrays import append_constant, assemble_csr, convert_dtype, split_into_pieces
from textcat.linear.products import multiply_transposed, multiply_transposed_by_rows
from textcat.matrices import check_matrix

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A block holds at most this many categories, in groups of LANE_STEP lanes.
BLOCK_LANES = 64
LANE_STEP = 16


@dataclass(frozen=True)
class Penalty:
    """lam_j pen(w_j), lam broadcast to features x categories; pen is |w| for "laplace", and the square for others."""

    prior: str
    strength: Floats

    def values(self, weights: Floats, block: slice) -> Floats:
        """Return the penalty of each category of a block."""
        size = np.abs(weights) if self.prior == "laplace" else weights * weights
        return np.asarray((np.where(weights == 0, 0.0, self.strength[:, block]) * size).sum(axis=0))


@dataclass(frozen=True)
class ProblemMatrix:
    """Documents by rows and, for algorithms that need them, a copy by columns."""

    rows: sp.csr_matrix
    columns: sp.csc_matrix | None

    def pull(self, dense: Floats) -> Floats:
        """Return X' V for V of documents x categories."""
        return (
            multiply_transposed_by_rows(self.rows, dense)
            if self.columns is None
            else multiply_transposed(self.columns, dense)
        )


@dataclass(frozen=True)
class LinearProblem:
    """min over W of (1/n) sum_i c_i f(y_i w.x_i) + penalty, a column of W for each category.

    `mask` says which weights are free; `weights` is None when every document weighs 1.
    """

    matrix: ProblemMatrix
    positive: Bools
    mask: Bools | None
    weights: Floats | None
    loss: Loss
    penalty: Penalty
    bias: float

    @property
    def rows(self) -> sp.csr_matrix:
        """The matrix by rows, the constant feature last when `bias` is not 0."""
        return self.matrix.rows

    @property
    def columns(self) -> sp.csc_matrix:
        """The same matrix by columns, for the algorithms that read them."""
        if self.matrix.columns is None:
            raise ValueError("the problem was posed without columns")
        return self.matrix.columns

    @property
    def documents(self) -> int:
        """n, the number of documents."""
        return int(self.rows.shape[0])

    @property
    def features(self) -> int:
        """The number of columns, the constant included."""
        return int(self.rows.shape[1])

    @property
    def categories(self) -> int:
        """The number of binary problems."""
        return int(self.positive.shape[1])

    def free(self, block: slice) -> Bools:
        """Return which weights of a block may move: features x categories."""
        if self.mask is None:
            return np.ones((self.features, self.positive[:, block].shape[1]), dtype=bool)
        return self.mask[:, block]


def split_into_blocks(categories: int, lanes: int = BLOCK_LANES) -> list[slice]:
    """Split the categories into blocks of nearly equal width, at most `lanes`, whatever the number of jobs."""
    count = -(-categories // lanes)
    edges = np.linspace(0, categories, count + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def compute_lane_width(width: int) -> int:
    """Return the number of lanes of a block: the next multiple of LANE_STEP (idle lanes are masked)."""
    return -(-width // LANE_STEP) * LANE_STEP


# Bytes of a cache line.
_CACHE_LINE = 64


def allocate_lanes(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of zeros, rows x LANE_STEP, whose rows each start at the beginning of a cache line.

    A row of sixteen float32 values fills one cache line. Without the alignment the processor reads two lines per row.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + _CACHE_LINE, np.uint8)
    first = -memory.ctypes.data % _CACHE_LINE
    lanes: NDArray[Any] = memory[first : first + size].view(dtype).reshape(shape)
    return lanes


def align_lanes(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return a copy of lanes in another element type, as `allocate_lanes` lays them out."""
    lanes = allocate_lanes(values.shape, dtype)
    lanes[...] = values
    return lanes


def split_into_lanes(values: Any, dtype: Any, shape: tuple[int, int] | None = None) -> NDArray[Any]:
    """Return values, broadcast to `shape`, as groups x rows x LANE_STEP; idle lanes are zero."""
    rows, width = np.shape(values) if shape is None else shape
    out = allocate_lanes((compute_lane_width(width) // LANE_STEP, rows, LANE_STEP), dtype)
    given = np.broadcast_to(values, (rows, width))
    for group, first in enumerate(range(0, width, LANE_STEP)):
        part = given[:, first : first + LANE_STEP]
        out[group, :, : part.shape[1]] = part
    return out


def mark_lanes(values: Bools) -> NDArray[np.uint16]:
    """Return a bit for each lane, groups x rows: bit k of a number is lane k."""
    lanes = split_into_lanes(values, np.bool_)
    return np.packbits(lanes, axis=2, bitorder="little").view("<u2")[:, :, 0].astype(np.uint16)


def join_lanes(lanes: NDArray[Any], width: int) -> NDArray[Any]:
    """Return groups x rows x LANE_STEP as rows x width, the opposite of `split_into_lanes`."""
    groups, rows, _ = lanes.shape
    return lanes.transpose(1, 0, 2).reshape(rows, groups * LANE_STEP)[:, :width]


def make_matrix_with_bias(X: Any, bias: float) -> sp.csr_matrix:
    """Convert a matrix to canonical CSR in double precision and append the constant feature.

    A matrix that is canonical already is not copied; one mapped from files stays in files.
    """
    check_matrix(X)
    rows = _make_canonical(X) if sp.issparse(X) else _from_dense(X)
    if rows.shape[0] == 0:
        raise make_fit_error("X has no documents", "Give at least one row.")
    if not all(np.isfinite(rows.data[piece]).all() for piece in split_into_pieces(rows.nnz)):
        raise make_fit_error("X holds values that are not finite", "Remove NaN and infinity first.")
    if not np.isfinite(bias):
        raise make_fit_error(f"bias must be finite, not {bias}", "Give a number such as 1, or 0 for none.")
    return rows if bias == 0.0 else append_constant(rows, float(bias))


def _from_dense(X: Any) -> sp.csr_matrix:
    dense = np.asarray(X, dtype=np.float64)
    if dense.ndim != 2:
        raise make_fit_error(
            f"X must be documents x features, not an array of shape {dense.shape}",
            "Give a matrix; a single document is a matrix of one row.",
        )
    return sp.csr_matrix(dense)


def _make_canonical(X: Any) -> sp.csr_matrix:
    given = X if X.format == "csr" else sp.csr_matrix(X)
    if given.has_canonical_format and all(given.data[piece].all() for piece in split_into_pieces(given.nnz)):
        data = given.data if given.dtype == np.float64 else convert_dtype(given.data, np.float64)
        return assemble_csr(data, given.indices, given.indptr, given.shape)
    rows = sp.csr_matrix(given, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def labels_as_columns(Y: ArrayLike, documents: int) -> Bools:
    """Return labels as a bool array, documents x categories; a single category may be a flat array."""
    labels = np.asarray(Y)
    if labels.ndim == 1:
        labels = labels[:, None]
    if labels.ndim != 2 or labels.shape[0] != documents:
        raise make_fit_error(
            f"Y has shape {np.shape(Y)} and X has {documents} documents",
            "Write `Y.toarray()`." if hasattr(Y, "toarray") else "Give a row of labels for each document.",
        )
    if labels.dtype != np.bool_:
        if not np.isin(labels, (0, 1)).all():
            raise make_fit_error(
                "Y must be boolean: True where a document is in the category",
                "Write `Y.astype(bool)` if it holds 0 and 1.",
            )
        labels = labels.astype(bool)
    return np.ascontiguousarray(labels)


def compute_document_weights(
    positive: Bools, sample_weight: ArrayLike | None, class_weight: str | Mapping[bool, float] | None
) -> Floats | None:
    """Return weights, documents x categories, or None if all are 1; "balanced" gives each class n / 2 in total."""
    if sample_weight is None and class_weight is None:
        return None
    n = positive.shape[0]
    weights = np.ones(positive.shape)
    if sample_weight is not None:
        given = np.asarray(sample_weight, dtype=np.float64)
        fits = given.shape == (n,) or given.shape in ((n, 1), positive.shape)
        if not fits or not np.isfinite(given).all() or (given < 0).any():
            raise make_fit_error(
                "sample_weight must hold one weight of 0 or more per document",
                "Give as many weights as there are documents.",
            )
        weights *= given[:, None] if given.ndim == 1 else given
    if class_weight == "balanced":
        members = positive.sum(axis=0)
        weights *= np.where(positive, n / (2 * np.maximum(members, 1)), n / (2 * np.maximum(n - members, 1)))
    elif isinstance(class_weight, Mapping):
        weights *= np.where(positive, *_read_class_weights(class_weight))
    elif class_weight is not None:
        raise UsageError(
            f"class_weight {class_weight!r} is unknown", hint='Use "balanced" or {True: a, False: b}.'
        )
    return weights


def _read_class_weights(given: Mapping[bool, float]) -> tuple[float, float]:
    """Return the weights of the documents in a category and of the others, 1 where none is given."""
    if not set(given) <= {True, False} or not all(
        np.isfinite(weight) and weight >= 0 for weight in given.values()
    ):
        raise make_fit_error(
            f"class_weight must have weights of 0 or more for True and False, not {dict(given)!r}",
            "True is the side of the documents in a category, False that of the others.",
        )
    return given.get(True, 1.0), given.get(False, 1.0)
