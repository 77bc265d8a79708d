"""A categorizer small enough to read, made of numbers that can be checked by hand."""

from __future__ import annotations

import numpy as np

from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.decide import DecisionRule
from textcat.linear.model import LinearModel
from textcat.serving.categorizer import Categorizer
from textcat.text.vectorizer import Vectorizer, VectorSettings
from textcat.thresholds.calibration import Calibration, Platt

TERMS = ["corn", "port", "rate", "vessel", "wheat"]
CATEGORIES = ["grain", 'ships "100%"']
COEF = np.array([[1.0, 0.0], [0.0, 1.5], [-0.5, -0.25], [0.0, 2.0], [2.0, -1.0]])


def small_model(
    loss: str = "hinge", calibration: Calibration | None = None, threshold: dict | None = None
) -> Categorizer:
    """Binary words of title and body; by default with Platt's probabilities."""
    run = {"learner": "linear", "parameters": {"loss": loss}, "threshold": threshold or {}}
    if calibration is not None:
        run["calibration"] = {"method": "platt" if isinstance(calibration, Platt) else "isotonic"}
    vectorizer = Vectorizer(
        VectorSettings(weighting="binary"),
        [*TERMS, "xylophone"],
        np.array([4, 3, 5, 2, 6, 0]),
        np.full(6, 0.5),
        9,
        np.array([True] * 5 + [False]),
    )
    model = LinearModel(COEF.copy(), np.array([-1.0, -0.5]), [], {"loss": loss})
    decider = DecisionRule(
        RunSettings.model_validate(run), False, np.array([0.0, 0.25]), 1.0, np.array([0.4, 0.2]), calibration
    )
    return Categorizer("golden", "small", CATEGORIES, vectorizer, model, decider, {})


def platt() -> Platt:
    return Platt(np.array([2.0, 1.0]), np.array([0.0, -1.0]))
