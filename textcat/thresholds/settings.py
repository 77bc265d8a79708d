"""What can be set about thresholds, and the one door from settings to decisions."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from textcat.errors import StageFailedError
from textcat.plugins import Named, Plugin, find, guarded, loaded
from textcat.thresholds.apply import NEVER, Bools, Floats, Ints, accept, default_thresholds
from textcat.thresholds.break_even import break_even_thresholds
from textcat.thresholds.cross_validated import Combination, cross_validated_thresholds
from textcat.thresholds.cuts import Criterion
from textcat.thresholds.expected_f1 import expected_f1_thresholds
from textcat.thresholds.tuned import AmongEqual, Point, TuningRule
from textcat.thresholds.yang import pcut, rcut, scut_fbr

RULES = ("default", "tuned", "break-even", "scut-fbr", "rcut", "pcut", "expected-f1")


class ThresholdSettings(BaseModel):
    """From scores to decisions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: Annotated[str, Named("thresholds", lambda: RULES)] = Field(
        default="default",
        description="default: the learner's own threshold; tuned: the best on training scores; break-even; scut-fbr: "
        "tuned, with a fallback where it would be poor; rcut: so many categories a document; pcut: in proportion "
        "to the training documents; expected-f1: from probabilities.",
    )
    value: float = Field(default=0.0, description="The learner's own threshold (rule default).")
    cross_validated: bool = Field(
        default=False, description="Tune on scores of documents held out of training, not on training scores."
    )
    folds: int = Field(default=5, ge=2, description="Parts of the training documents when cross-validated.")
    combination: Combination = Field(default="pooled", description="How held-out parts decide together.")
    criterion: Criterion = Field(default="errors", description="What tuning minimises: errors, or 1 - F1.")
    point: Point | float = Field(
        default="midpoint",
        description="Where in an interval of equally good thresholds: lowest, midpoint, highest, or a fraction "
        "from its lower end.",
    )
    among_equal: AmongEqual = Field(default="lowest", description="Which of several equally good intervals.")
    accept_nothing: float | None = Field(
        default=1.0,
        ge=0,
        description="Where accepting nothing is best: how far above the highest score; null does not consider it.",
    )
    accept_everything: float | None = Field(
        default=None,
        ge=0,
        description="Where accepting everything is best: how far below the lowest score; null is any score at all.",
    )
    least_f1: float = Field(
        default=30.0, description="Validation F1 in percent under which scut-fbr falls back."
    )
    fallback: Literal[0, 1] = Field(
        default=1, description="scut-fbr: 0 accepts nothing, 1 the highest score."
    )
    per_document: float = Field(default=1.0, gt=0, description="Categories a document (rcut, pcut).")

    @property
    def tuning(self) -> TuningRule:
        """The rule of tuning that these settings describe."""
        below = float("inf") if self.accept_everything is None else self.accept_everything
        return TuningRule(self.criterion, self.point, self.among_equal, self.accept_nothing, below, NEVER)


def set_thresholds(
    settings: ThresholdSettings, scores: Floats, labels: Bools, fold_of_document: Ints | None = None
) -> Floats:
    """A threshold for each category, from scores of training documents."""
    plugin = find("thresholds", settings.rule, RULES)
    if plugin is not None:
        return _set_by(plugin, settings, scores, labels)
    if settings.rule == "tuned":
        folds = np.zeros(len(labels), dtype=np.int64) if fold_of_document is None else fold_of_document
        return cross_validated_thresholds(scores, labels, folds, settings.tuning, settings.combination)
    if settings.rule == "break-even":
        return break_even_thresholds(scores, labels, settings.tuning)
    if settings.rule == "scut-fbr":
        return scut_fbr(scores, labels, settings.least_f1, settings.fallback, settings.tuning)
    return default_thresholds(scores.shape[1], settings.value)


def _set_by(plugin: Plugin, settings: ThresholdSettings, scores: Floats, labels: Bools) -> Floats:
    """Thresholds by a plugin's function of scores, labels and settings."""
    thresholds = np.asarray(guarded(plugin, loaded(plugin))(scores, labels, settings), dtype=np.float64)
    if thresholds.shape != (scores.shape[1],) or np.isnan(thresholds).any():
        raise StageFailedError(
            f"{plugin.title} gave thresholds of shape {thresholds.shape} or not numbers",
            hint=f"It has to give one number for each of {scores.shape[1]} categories.",
        )
    return thresholds


def decisions(settings: ThresholdSettings, scores: Floats, thresholds: Floats, priors: Floats) -> Bools:
    """What is accepted, documents x categories; `priors` are the categories' shares of the training documents."""
    if settings.rule == "rcut":
        return rcut(scores, round(settings.per_document))
    if settings.rule == "pcut":
        return pcut(scores, priors, settings.per_document)
    if settings.rule == "expected-f1":
        probabilities = 1.0 / (1.0 + np.exp(-np.clip(scores, -500.0, 500.0)))
        return accept(probabilities, expected_f1_thresholds(probabilities))
    return accept(scores, thresholds)
