"""A trained linear model: weights, intercepts, what it was trained with, and a certificate for each
category."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.linear.certificate import Certificate

KIND = "linear"


@dataclass(frozen=True)
class LinearModel:
    """Scores are X coef + intercept; `settings` says how it was trained, `dual` is kept when asked for."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    certificate: list[Certificate]
    settings: dict[str, Any] = field(default_factory=dict)
    dual: NDArray[np.float64] | None = None

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Documents x categories; a sparse X stays sparse."""
        if X.shape[1] != self.coef.shape[0]:
            raise UsageError(
                f"the documents have {X.shape[1]} features and the model {self.coef.shape[0]}",
                hint="Count the documents over the terms that the model was trained with.",
            )
        documents: Any = X if sp.issparse(X) else np.asarray(X)
        product = documents @ self.coef
        return np.asarray(product + self.intercept)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All numbers as arrays, for a file without pickle."""
        return {"coef": self.coef, "intercept": self.intercept}

    def describe(self) -> dict[str, Any]:
        """A JSON-able account: kind, settings, certificates."""
        return {
            "kind": KIND,
            "settings": dict(self.settings),
            "certificate": [each.as_dict() for each in self.certificate],
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> LinearModel:
        """Rebuild a model from what `to_arrays` and `describe` gave."""
        return cls(
            np.asarray(arrays["coef"], dtype=np.float64),
            np.asarray(arrays["intercept"], dtype=np.float64),
            [Certificate(**each) for each in description["certificate"]],
            dict(description["settings"]),
        )
