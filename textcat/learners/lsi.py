"""Latent semantic features: documents as combinations of the leading singular axes of the training matrix.

Problem:  H = U S V' (gao_2003 equation 3.1), H being terms x training documents, truncated to the Q largest
          singular values.
Inputs:   the weighted documents x terms matrix (H transposed), and Q.
Outputs:  U (terms x Q), S, and a projection of new documents onto the axes.
Paper:    gao_2003 section 3, after Deerwester et al. 1990 and Bellegarda 2000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg

from textcat.errors import BadDataError, UsageError
from textcat.learners.checks import require_positive
from textcat.matrices import check_matrix

Solver = Literal["auto", "gram", "lanczos"]

LARGE_SIDE = 2_000
"""Up to this many documents or terms the full decomposition takes at most a second."""

GRAM_LIMIT = 12_000
"""Up to this side the Gram matrix is solved exactly: it takes 1.2 GB of float64 at the limit."""

FEW_AXES = 20
"""Lanczos is faster when the sides are at least this many times the number of axes."""

MIN_TOLERANCE = 1e-7
"""A Gram matrix has squared singular values: those below about 1e-8 of the largest are rounding."""


@dataclass(frozen=True)
class LatentAxes:
    """The leading left singular vectors and their singular values."""

    axes: npt.NDArray[np.float64]
    singular_values: npt.NDArray[np.float64]

    def transform(self, documents: scipy.sparse.csr_matrix) -> npt.NDArray[np.float32]:
        """Project documents: U'x."""
        check_matrix(documents)
        if documents.shape[1] != self.axes.shape[0]:
            raise BadDataError(
                f"the documents have {documents.shape[1]} terms, the axes {self.axes.shape[0]}",
                where="lsi",
                hint="Count new documents with the lexicon of the training documents.",
            )
        return np.ascontiguousarray(documents @ self.axes, dtype=np.float32)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the axes and singular values by name."""
        return dict(vars(self))


def learn_axes(
    documents: scipy.sparse.csr_matrix,
    dimensions: int | None = None,
    *,
    tolerance: float = 1e-6,
    solver: Solver = "auto",
    seed: int = 0,
) -> LatentAxes:
    """Decompose the training documents and keep the axes above `tolerance` times the largest singular value.

    `dimensions` limits their number. Solver `gram` solves the smaller Gram matrix exactly, `lanczos` computes
    only the leading axes by ARPACK, `auto` takes the faster one.
    """
    check_matrix(documents)
    if documents.nnz == 0 or not np.any(documents.data):
        raise BadDataError("the training documents contain no term", where="lsi", hint="Check the lexicon.")
    require_positive(dimensions=1 if dimensions is None else dimensions)
    if not 0 <= tolerance < 1:
        raise UsageError(
            f"tolerance is {tolerance}",
            where="lsi.tolerance",
            hint="Give a number of at least 0 and below 1.",
        )
    smaller = min(documents.shape)
    few = dimensions is not None and smaller > LARGE_SIDE and dimensions * FEW_AXES <= smaller
    if solver == "gram" or (solver == "auto" and not few and smaller <= GRAM_LIMIT):
        axes, values = _solve_by_gram_matrix(documents, dimensions)
    else:
        axes, values = _solve_by_lanczos(documents, dimensions, seed)
    kept = values > max(tolerance, MIN_TOLERANCE) * values[0]
    axes = axes[:, kept]
    # The weight of the strongest term of each axis is positive; of equal terms the first decides.
    strongest = np.argmax(np.abs(axes), axis=0)
    return LatentAxes(axes * np.sign(axes[strongest, np.arange(axes.shape[1])]), values[kept])


def _solve_by_gram_matrix(
    documents: scipy.sparse.csr_matrix, dimensions: int | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return axes and singular values from the eigenvectors of H'H (or HH' when terms are fewer)."""
    matrix = documents.astype(np.float64)
    by_terms = matrix.shape[1] <= matrix.shape[0]
    gram = (matrix.T @ matrix if by_terms else matrix @ matrix.T).toarray()
    side = gram.shape[0]
    leading = (side - min(dimensions or side, side), side - 1)
    squares, vectors = scipy.linalg.eigh(
        gram, subset_by_index=leading, driver="evr", overwrite_a=True, check_finite=False
    )
    order = np.argsort(-squares, kind="stable")
    values = np.sqrt(np.maximum(squares[order], 0.0))
    vectors = vectors[:, order]
    if by_terms:
        return vectors, values
    safe = np.where(values > MIN_TOLERANCE * values[0], values, np.inf)
    return np.asarray(matrix.T @ vectors) / safe, values


def _solve_by_lanczos(
    documents: scipy.sparse.csr_matrix, dimensions: int | None, seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return axes and singular values by ARPACK, from a start vector determined by the seed."""
    smaller = min(documents.shape)
    if dimensions is None or dimensions >= smaller:
        raise UsageError(
            f"the Lanczos solver needs `dimensions`, at least 1 and below {smaller}",
            where="lsi.dimensions",
            hint="Set `dimensions`, or use `solver: gram`.",
        )
    start = np.random.default_rng(seed).standard_normal(smaller)
    _, values, right = scipy.sparse.linalg.svds(
        documents.astype(np.float64), k=dimensions, v0=start, solver="arpack"
    )
    order = np.argsort(-values, kind="stable")
    return np.asarray(right[order].T, dtype=np.float64), np.asarray(values[order], dtype=np.float64)
