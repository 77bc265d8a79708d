"""Latent semantic features: documents as combinations of the leading singular axes of the training matrix.

Problem:  H = U S V' (gao_2003 equation 3.1), H being terms x training documents, cut to the Q largest values.
Inputs:   the weighted documents x terms matrix (H transposed), Q, and how a document is placed on the axes.
Outputs:  U (terms x Q), S, and a mapping of new documents onto the axes.
Paper:    gao_2003 section 3, after Deerwester et al. 1990 and Bellegarda 2000. The paper does not say how
          long its document vectors are, yet the sigmoid and the steps of GPD depend on it: `length` sets it.
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

Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]
Projection = Literal["document", "axis"]
Solver = Literal["auto", "gram", "lanczos"]

LARGE_SIDE = 2_000
"""Up to so many documents or terms the whole decomposition takes a second."""

GRAM_LIMIT = 12_000
"""Sides up to this many are solved exactly: the square matrix of float64 takes 1.2 GB at the limit."""

FEW_AXES = 20
"""Where the sides have so many times more than the axes asked for, Lanczos is the quicker way to the same axes."""

MIN_TOLERANCE = 1e-7
"""A Gram matrix holds squared singular values: those below about 1e-8 of the largest are rounding."""


@dataclass(frozen=True)
class LatentAxes:
    """The leading left singular vectors, their singular values, and how documents are placed on them."""

    axes: npt.NDArray[np.float64]
    singular_values: npt.NDArray[np.float64]
    projection: Projection = "document"
    length: float | None = 1.0

    @property
    def dimensions(self) -> int:
        """The number of axes, Q in the paper."""
        return int(self.singular_values.size)

    def truncate(self, dimensions: int) -> LatentAxes:
        """The first axes only: a smaller feature set of the same decomposition."""
        if not 1 <= dimensions <= self.dimensions:
            raise UsageError(
                f"{dimensions} latent dimensions asked for, {self.dimensions} are there",
                where="lsi.dimensions",
                hint=f"choose from 1 to {self.dimensions}",
            )
        return LatentAxes(
            self.axes[:, :dimensions], self.singular_values[:dimensions], self.projection, self.length
        )

    def transform(self, documents: scipy.sparse.csr_matrix) -> npt.NDArray[np.float32]:
        """Place documents on the axes: U'x ("document") or S^-1 U'x ("axis"), then to `length` if set."""
        if documents.shape[1] != self.axes.shape[0]:
            raise BadDataError(
                f"documents of {documents.shape[1]} terms, axes of {self.axes.shape[0]}",
                where="lsi",
                hint="Count new documents with the lexicon of the training documents.",
            )
        placed = np.asarray(documents @ self.axes)
        if self.projection == "axis":
            placed = placed / self.singular_values
        if self.length is not None:
            placed = self.length * _scale_to_unit_length(placed)
        return np.ascontiguousarray(placed, dtype=np.float32)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that `from_arrays` needs."""
        return {"axes": self.axes, "singular_values": self.singular_values}

    def describe(self) -> dict[str, Any]:
        """Kind and settings, JSON-able."""
        return {
            "kind": "lsi",
            "dimensions": self.dimensions,
            "projection": self.projection,
            "length": self.length,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]], description: dict[str, Any]) -> LatentAxes:
        """Rebuild what `to_arrays` and `describe` wrote."""
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
    """Decompose the training documents; `dimensions=None` keeps all axes above `tolerance` times the largest.

    `gram` solves the smaller Gram matrix exactly, `lanczos` asks ARPACK for the leading axes of a larger one.
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
        raise BadDataError(
            "the training documents hold no term at all", where="lsi", hint="Check the lexicon."
        )
    if dimensions is not None and dimensions < 1:
        raise UsageError(
            f"dimensions is {dimensions}", where="lsi.dimensions", hint="Ask for one axis or more."
        )
    if not 0 <= tolerance < 1:
        raise UsageError(
            f"tolerance is {tolerance}",
            where="lsi.tolerance",
            hint="Give a number of at least 0 and below 1.",
        )
    if length is not None and length <= 0:
        raise UsageError(
            f"length is {length}",
            where="lsi.length",
            hint="Give a number above 0, or none to leave it as is.",
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
    """Eigenvectors of H'H (or HH' when terms are fewer): exact, and hardly dearer for a large Q."""
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
    """ARPACK from a start vector that the seed decides; it needs the number of axes beforehand."""
    smaller = min(documents.shape)
    if dimensions is None or dimensions >= smaller:
        raise UsageError(
            f"the iterative solver finds fewer than {smaller} axes, and must be told how many",
            where="lsi.dimensions",
            hint="State the number of dimensions, or use solver: gram.",
        )
    start = np.random.default_rng(seed).standard_normal(smaller)
    _, values, right = scipy.sparse.linalg.svds(
        documents.astype(np.float64), k=dimensions, v0=start, solver="arpack"
    )
    order = np.argsort(-values, kind="stable")
    return np.asarray(right[order].T, dtype=np.float64), np.asarray(values[order], dtype=np.float64)


def _fix_signs(axes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The term that weighs most on an axis has a positive weight; between equals, the first term decides."""
    strongest = np.argmax(np.abs(axes), axis=0)
    signs = np.sign(axes[strongest, np.arange(axes.shape[1])])
    return np.asarray(axes * signs)


def _scale_to_unit_length(placed: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths = np.linalg.norm(placed, axis=1, keepdims=True)
    return np.asarray(placed / np.where(lengths > 0, lengths, 1.0))
