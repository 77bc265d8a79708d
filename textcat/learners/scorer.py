"""The model that every learner of this room returns: one hyperplane a category, with how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import BadDataError, UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScorerCertificate:
    """How one category was solved; objective and gap are None for learners that minimise nothing.

    `gap` is the objective less the value of a feasible dual point: no solution is better by more than that.
    `passes` counts what the learner repeats: passes over the documents, or pair steps of the SMO.
    """

    objective: float | None
    gap: float | None
    passes: int
    seconds: float
    reason: str


@dataclass(frozen=True)
class LinearScorer:
    """Scores documents by `X @ coef + intercept`: coef is features x categories, intercept one a category."""

    coef: Floats
    intercept: Floats
    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    certificate: Sequence[ScorerCertificate] = ()

    def scores(self, X: Any) -> Floats:
        """Documents x categories; a document is accepted where its score reaches the category's threshold."""
        if X.shape[1] != self.coef.shape[0]:
            raise UsageError(
                f"the documents have {X.shape[1]} features, the model was trained on {self.coef.shape[0]}",
                hint="Count the new documents with the terms of the training set.",
            )
        matrix: Any = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        return np.asarray(matrix @ self.coef + self.intercept, dtype=np.float64)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What must be stored to score again."""
        return {"coef": self.coef, "intercept": self.intercept}

    def describe(self) -> dict[str, Any]:
        """Kind, parameters and certificate, fit for JSON."""
        return {
            "kind": self.kind,
            "parameters": dict(self.parameters),
            "certificate": [asdict(entry) for entry in self.certificate],
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> LinearScorer:
        """The model that `to_arrays` and `describe` wrote."""
        missing = [name for name in ("coef", "intercept") if name not in arrays]
        if missing:
            raise BadDataError(
                f"a linear model without {', '.join(missing)}",
                where="model arrays",
                hint="Train the model again.",
            )
        return cls(
            coef=np.asarray(arrays["coef"], dtype=np.float64),
            intercept=np.asarray(arrays["intercept"], dtype=np.float64),
            kind=str(description["kind"]),
            parameters=dict(description.get("parameters", {})),
            certificate=tuple(ScorerCertificate(**entry) for entry in description.get("certificate", ())),
        )
