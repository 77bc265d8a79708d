"""A trained linear model: weights, intercepts, the settings of training and a certificate per category.

Every linear learner returns one. Weights are dense, or sparse where almost all of them are zero. A problem
that is solved for all categories jointly (softmax regression, for example) has one `joint_certificate`
instead; it is not stored with the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import BadDataError, UsageError
from textcat.linear.certificate import Certificate
from textcat.linear.products import SparseWeights
from textcat.matrices import check_matrix, find_fault

KIND = "linear"
_SPARSE_PARTS = ("data", "indices", "indptr")


@dataclass(frozen=True)
class LinearModel:
    """Scores are X coef + intercept: coef is features x categories, with one intercept per category.

    coef is a dense array or a scipy.sparse CSC matrix. `settings` says how the model was trained, `kind` by
    which family of learners. `dual` holds the dual variables where the caller asked to keep them.
    """

    coef: Any
    intercept: NDArray[np.float64]
    certificate: Sequence[Certificate] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    dual: NDArray[np.float64] | None = None
    kind: str = KIND
    joint_certificate: Certificate | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: what is computed from them is not sent to workers."""
        return {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return the scores, documents x categories, of a sparse or dense matrix."""
        return self.scores_in_threads(X, 1)

    def scores_in_threads(self, X: Any, jobs: int) -> NDArray[np.float64]:
        """Return the same scores; sparse documents and weights are multiplied in that many threads."""
        check_matrix(X)
        if X.shape[1] != self.coef.shape[0]:
            raise UsageError(
                f"the documents have {X.shape[1]} features, the model was trained on {self.coef.shape[0]}",
                hint="Count the documents over the terms that the model was trained with.",
            )
        documents: Any = X if sp.issparse(X) else np.asarray(X)
        if sp.issparse(X) and sp.issparse(self.coef):
            product = self._labels_by_feature.multiply(X, jobs)
            product += self.intercept
            return np.asarray(product)
        return np.asarray(documents @ self.coef + self.intercept, dtype=np.float64)

    @cached_property
    def _labels_by_feature(self) -> SparseWeights:
        """Sparse weights as an inverted index: for each feature its labels and their weights."""
        return SparseWeights(self.coef)

    def select_categories(self, first: int, stop: int) -> LinearModel:
        """Return the model of consecutive categories."""
        return replace(
            self,
            coef=self.coef[:, first:stop],
            intercept=self.intercept[first:stop],
            certificate=self.certificate[first:stop],
            dual=None if self.dual is None else self.dual[:, first:stop],
        )

    def category_weights(self, column: int) -> NDArray[np.float64]:
        """Return the weights of one category as a dense vector."""
        return make_dense(self.coef[:, [column]])[:, 0]

    def replace_categories(self, other: LinearModel, taken: NDArray[np.bool_]) -> LinearModel:
        """Return this model with the weights and certificates of `other` for the categories `taken`."""
        return replace(
            self,
            coef=np.where(taken, other.coef, self.coef),
            intercept=np.where(taken, other.intercept, self.intercept),
            certificate=[
                new if take else old
                for old, new, take in zip(self.certificate, other.certificate, taken, strict=True)
            ],
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all numbers as arrays, for a file without pickle."""
        if isinstance(self.coef, np.ndarray):
            return {"coef": self.coef, "intercept": self.intercept}
        return {**sparse_to_arrays("coef", self.coef), "intercept": self.intercept}

    def describe(self) -> dict[str, Any]:
        """Return kind, settings and certificates as JSON-able data."""
        described = {"kind": self.kind, "settings": dict(self.settings)}
        if self.joint_certificate is not None:
            return described
        return {**described, "certificate": [entry.as_dict() for entry in self.certificate]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> LinearModel:
        """Rebuild a model from its arrays and description."""
        coef, intercept = _read_weights(arrays), _find_array(arrays, "intercept")
        real = all(part.dtype.kind in "biuf" for part in (coef, intercept))
        if not real or coef.ndim != 2 or intercept.shape != coef.shape[1:]:
            hint = "Train the model again."
            raise BadDataError(
                "weights that are no real numbers, or do not fit", where="model arrays", hint=hint
            )
        return cls(
            coef if sp.issparse(coef) else coef.astype(np.float64, copy=False),
            intercept.astype(np.float64, copy=False),
            [Certificate(**entry) for entry in description.get("certificate", ())],
            dict(description.get("settings", {})),
            kind=str(description.get("kind", KIND)),
        )


def make_dense(weights: Any) -> NDArray[np.float64]:
    """Return dense or sparse weights as a dense array."""
    dense: Any = weights.toarray() if hasattr(weights, "toarray") else weights
    return np.asarray(dense, dtype=np.float64)


def sparse_to_arrays(name: str, matrix: Any) -> dict[str, NDArray[Any]]:
    """Return a sparse matrix as arrays that are named after it."""
    columns = sp.csc_matrix(matrix)
    parts = {f"{name}.{part}": np.asarray(getattr(columns, part)) for part in _SPARSE_PARTS}
    return {**parts, f"{name}.shape": np.array(columns.shape)}


def sparse_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> sp.csc_matrix:
    """Return the matrix of `sparse_to_arrays`; refuse parts that are none, since compiled kernels do not check them."""
    parts: Any = tuple(_find_array(arrays, f"{name}.{part}") for part in _SPARSE_PARTS)
    try:
        rows, columns = (int(length) for length in _find_array(arrays, f"{name}.shape"))
        data, indices, indptr = parts
        if fault := find_fault(data, indices, indptr, columns, rows):
            raise ValueError(fault)
        matrix = sp.csc_matrix(parts, shape=(rows, columns))
    except (ValueError, TypeError, OverflowError) as error:
        raise BadDataError(
            f"weights that are no sparse matrix: {error}", where="model arrays", hint="Train the model again."
        ) from error
    return matrix


def _read_weights(arrays: Mapping[str, NDArray[Any]]) -> Any:
    return sparse_from_arrays("coef", arrays) if "coef.shape" in arrays else _find_array(arrays, "coef")


def _find_array(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    if name not in arrays:
        raise BadDataError(
            f"a linear model without {name}", where="model arrays", hint="Train the model again."
        )
    return arrays[name]
