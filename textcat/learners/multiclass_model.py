"""One linear function a category, learned jointly; a document goes to the category of the greatest score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from textcat.errors import BadDataError

Features = npt.NDArray[np.float32] | npt.NDArray[np.float64] | scipy.sparse.csr_matrix
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MulticlassCertificate:
    """What a solver can prove about its answer.

    `violation` is the largest component of the least subgradient; `gap` bounds how far the objective lies
    above the optimum (NaN where the problem gives no such bound); `passes` counts evaluations.
    """

    objective: float
    violation: float
    gap: float
    passes: int
    seconds: float
    reason: str


@dataclass(frozen=True)
class MulticlassModel:
    """Weights (features x categories) and intercepts, with the settings and the certificate of training."""

    coef: Floats
    intercept: Floats
    certificate: MulticlassCertificate | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, X: Features) -> Floats:
        """Documents x categories: w.x + b."""
        if X.shape[1] != self.coef.shape[0]:
            raise BadDataError(
                f"documents of {X.shape[1]} features, a model of {self.coef.shape[0]}",
                where="multiclass",
                hint="Transform new documents as the training documents were.",
            )
        return np.asarray(X @ self.coef + self.intercept, dtype=np.float64)

    def predict(self, X: Features) -> npt.NDArray[np.int64]:
        """The category of the greatest score; between equals, the first in the order of categories."""
        return np.asarray(np.argmax(self.scores(X), axis=1))

    def decisions(self, X: Features) -> Bools:
        """Documents x categories: exactly one category a document."""
        chosen = np.zeros((X.shape[0], self.intercept.size), dtype=np.bool_)
        chosen[np.arange(X.shape[0]), self.predict(X)] = True
        return chosen

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that `from_arrays` needs."""
        return {"coef": self.coef, "intercept": self.intercept}

    def describe(self) -> dict[str, Any]:
        """Kind and settings, JSON-able."""
        return {"kind": "multiclass", "settings": dict(self.settings)}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, npt.NDArray[Any]], description: Mapping[str, Any]
    ) -> MulticlassModel:
        """Rebuild what `to_arrays` and `describe` wrote; the certificate stays with the training run."""
        return cls(arrays["coef"], arrays["intercept"], settings=dict(description["settings"]))


def check_one_category_each(X: Features, Y: Bools) -> None:
    """Refuse labels that do not give each document exactly one category."""
    if Y.ndim != 2 or Y.shape[0] != X.shape[0] or Y.dtype != np.bool_:
        raise BadDataError(
            f"labels of shape {Y.shape} and type {Y.dtype} for {X.shape[0]} documents",
            where="labels",
            hint="Give labels as a bool array, documents x categories.",
        )
    counts = Y.sum(axis=1)
    if Y.shape[0] == 0 or Y.shape[1] < 2 or np.any(counts != 1):
        strays = int(np.sum(counts != 1))
        raise BadDataError(
            f"{strays} of {Y.shape[0]} documents do not have exactly one of {Y.shape[1]} categories",
            where="labels",
            hint="Give each document one category, and two categories at least.",
        )
