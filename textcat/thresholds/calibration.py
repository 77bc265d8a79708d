"""From scores to probabilities: what can be set about it, and the one door to the ways of doing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from textcat.errors import BadDataError
from textcat.thresholds.apply import Bools, Floats
from textcat.thresholds.isotonic import Isotonic, fit_isotonic
from textcat.thresholds.platt import Platt, fit_platt


class CalibrationSettings(BaseModel):
    """Probabilities from the scores of a learner that has none of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Literal["platt", "isotonic"] = Field(
        default="platt",
        description="platt: a sigmoid of the score; isotonic: the best function that never falls, for categories "
        "with hundreds of documents.",
    )
    folds: int = Field(
        default=5,
        ge=2,
        description="Parts of the training documents, each scored by a model trained on the others.",
    )


class Calibration(Protocol):
    """What turns scores into probabilities."""

    def probabilities(self, scores: Floats) -> Floats:
        """Documents x categories, never falling with the score."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All numbers, for a file without pickle."""
        ...


def fit_calibration(settings: CalibrationSettings, scores: Floats, labels: Bools) -> Calibration:
    """Calibrate every category on scores of documents that its model has not seen."""
    if not np.isfinite(scores).all():
        document, category = np.argwhere(~np.isfinite(scores))[0]
        raise BadDataError(
            f"the score of document {document} for category {category} is not finite",
            hint="Weigh or scale the features so that no weight overflows, or raise the prior's strength.",
        )
    return fit_platt(scores, labels) if settings.method == "platt" else fit_isotonic(scores, labels)


ARRAYS = {"platt": ("slope", "intercept"), "isotonic": ("knots", "levels", "ends")}


def calibration_from(method: str, arrays: Mapping[str, NDArray[Any]], categories: int) -> Calibration:
    """The calibration that `to_arrays` was called on."""
    kind = Platt if method == "platt" else Isotonic
    return kind.from_arrays(arrays, categories)
