"""Latent semantic features: documents as combinations of the leading singular axes of the training matrix.

Problem:  H = U S V' (gao_2003 equation 3.1), H being terms x training documents, truncated to the Q largest
          singular values.
Inputs:   the weighted documents x terms matrix (H transposed), Q, and how documents are projected.
Outputs:  U (terms x Q), S, and a projection of new documents onto the axes.
Paper:    gao_2003 section 3, after Deerwester et al. 1990 and Bellegarda 2000. The paper does not state the
          length of its document vectors, on which the sigmoid and the steps of GPD depend: `length` sets it.
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

Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Projection = Literal["document", "axis"]
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
    """The leading left singular vectors, their singular values, and how documents are projected on them."""

    axes: npt.NDArray[np.float64]
    singular_values: npt.NDArray[np.float64]
    projection: Projection = "document"
    length: float | None = 1.0

    @property
    def dimensions(self) -> int:
        """The number of axes, Q in the paper."""
        return int(self.singular_values.size)

    def transform(self, documents: scipy.sparse.csr_matrix) -> npt.NDArray[np.float32]:
        """Project documents: U'x ("document") or S^-1 U'x ("axis"), scaled to `length` if it is set."""
        if documents.shape[1] != self.axes.shape[0]:
            raise BadDataError(
                f"the documents have {documents.shape[1]} terms, the axes {self.axes.shape[0]}",
                where="lsi",
                hint="Count new documents with the lexicon of the training documents.",
            )
        projected = np.asarray(documents @ self.axes)
        if self.projection == "axis":
            projected = projected / self.singular_values
        if self.length is not None:
            lengths = np.linalg.norm(projected, axis=1, keepdims=True)
            projected = self.length * (projected / np.where(lengths > 0, lengths, 1.0))
        return np.ascontiguousarray(projected, dtype=np.float32)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that `from_arrays` needs."""
        return {"axes": self.axes, "singular_values": self.singular_values}

    def describe(self) -> dict[str, Any]:
        """Return kind and settings as JSON-able data."""
        return {
            "kind": "lsi",
            "dimensions": self.dimensions,
            "projection": self.projection,
            "length": self.length,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]], description: dict[str, Any]) -> LatentAxes:
        """Rebuild the axes from their arrays and description."""
        return cls(
            arrays["axes"],
            arrays["singular_values"],
            projection=description["projection"],
            length=description["length"],
        )


def learn_axes(
    documents: scipy.sparse.csr_matrix,
    dimensions: int | None = None,
    *,
    projection: Projection = "document",
    length: float | None = 1.0,
    tolerance: float = 1e-6,
    solver: Solver = "auto",
    seed: int = 0,
) -> LatentAxes:
    """Decompose the training documents and keep the axes above `tolerance` times the largest singular value.

    `dimensions` limits their number. Solver `gram` solves the smaller Gram matrix exactly, `lanczos` computes
    only the leading axes by ARPACK, `auto` takes the faster one.
    """
    _check_settings(documents, dimensions, tolerance, length)
    chosen = _choose_solver(documents, dimensions, solver)
    if chosen == "gram":
        axes, values = _solve_by_gram_matrix(documents, dimensions)
    else:
        axes, values = _solve_by_lanczos(documents, dimensions, seed)
    kept = values > max(tolerance, MIN_TOLERANCE) * values[0]
    return LatentAxes(_fix_signs(axes[:, kept]), values[kept], projection, length)


def _check_settings(
    documents: scipy.sparse.csr_matrix, dimensions: int | None, tolerance: float, length: float | None
) -> None:
    if documents.nnz == 0 or not np.any(documents.data):
        raise BadDataError("the training documents contain no term", where="lsi", hint="Check the lexicon.")
    require_positive(
        dimensions=1 if dimensions is None else dimensions, length=1.0 if length is None else length
    )
    if not 0 <= tolerance < 1:
        raise UsageError(
            f"tolerance is {tolerance}",
            where="lsi.tolerance",
            hint="Give a number of at least 0 and below 1.",
        )


def _choose_solver(
    documents: scipy.sparse.csr_matrix, dimensions: int | None, solver: Solver
) -> Literal["gram", "lanczos"]:
    if solver != "auto":
        return solver
    smaller = min(documents.shape)
    few = dimensions is not None and smaller > LARGE_SIDE and dimensions * FEW_AXES <= smaller
    return "lanczos" if few or smaller > GRAM_LIMIT else "gram"


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


def _fix_signs(axes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Make the weight of the strongest term of each axis positive; of equal terms the first decides."""
    strongest = np.argmax(np.abs(axes), axis=0)
    signs = np.sign(axes[strongest, np.arange(axes.shape[1])])
    return np.asarray(axes * signs)
