"""Probabilities of categories: those of logistic learners, or calibrated ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from textcat.errors import UsageError
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.models import Model
from textcat.linear.combinations import load_named_learners
from textcat.thresholds.calibration import Calibration
from textcat.thresholds.rules import NO_PROBABILITIES, PROBABILITIES_HINT

Floats = NDArray[np.float64]


def compute_probabilities(model: Model, calibration: Calibration | None, scores: Floats) -> Floats | None:
    """Return probabilities, documents x categories; None if neither the learner nor a calibration has any.

    The probabilities of one-vs-rest learners do not sum to 1 over categories.
    """
    if calibration is not None:
        return calibration.probabilities(scores)
    settings = model.describe().get("settings", {})
    if settings.get("loss") == "logistic":
        return np.asarray(expit(scores))
    if settings.get("learner") == "softmax":
        return np.asarray(softmax(scores, axis=1))
    return None


def check_probabilities(run: RunSettings) -> None:
    """Raise UsageError for a threshold rule that needs probabilities if the run will have none."""
    if run.threshold.rule == "expected-f1" and run.calibration is None and not _has_own_probabilities(run):
        raise UsageError(NO_PROBABILITIES, hint=PROBABILITIES_HINT)


def _has_own_probabilities(run: RunSettings) -> bool:
    named = load_named_learners()
    settings: dict[str, Any] = dict(named[run.learner].settings) if run.learner in named else {}
    loss = run.parameters.get("loss") or settings.get("loss")
    return run.learner == "softmax" or loss == "logistic"
