"""Set thresholds by the rule of an experiment or a plugin, and decide by them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from textcat.errors import UsageError
from textcat.plugins import KnownName, Plugin, find_plugin, load_plugin, wrap_numeric_function
from textcat.settings import StrictSettings
from textcat.thresholds.cuts import (
    NEVER,
    Bools,
    Criterion,
    Floats,
    Ints,
    apply_thresholds,
)
from textcat.thresholds.expected_f1 import find_expected_f1_thresholds, tune_expected_f1_thresholds
from textcat.thresholds.proportional import (
    accept_top_documents,
    compute_label_cardinality,
    compute_pcut_sizes,
    find_proportional_thresholds,
    rcut,
    scut_fbr,
    tune_pcut,
    tune_rcut,
)
from textcat.thresholds.tuning import (
    AmongEqual,
    FoldCombination,
    IntervalPoint,
    TuningRule,
    cross_validate_thresholds,
    find_break_even_thresholds,
)

THRESHOLD_RULES = ("default", "tuned", "scut", "break-even", "scut-fbr", "rcut", "pcut", "expected-f1")
CategoriesPerDocument = Annotated[float, Field(gt=0)] | Literal["training", "tuned"]

NO_PROBABILITIES = "expected-f1 needs probabilities, and this learner has none of its own"
PROBABILITIES_HINT = "Set `calibration: {method: platt}`, or use a learner with the logistic loss."


class ThresholdSettings(StrictSettings):
    """How scores become decisions."""

    rule: Annotated[str, KnownName("thresholds", lambda: THRESHOLD_RULES)] = Field(
        default="default",
        description="default: the learner's own threshold; tuned: fewest errors on training scores; scut: best F1; "
        "scut-fbr: best F1, with a fallback if that is poor; break-even: precision equals recall; rcut: the same "
        "number of categories for every document; pcut: in proportion to the training documents; expected-f1: best "
        "expected F1, from probabilities. Cross-validated pcut and expected-f1 are fixed thresholds; otherwise they "
        "depend on all documents that are decided on.",
    )
    value: float = Field(default=0.0, description="The learner's own threshold (rule default).")
    cross_validated: bool = Field(
        default=False, description="Tune on scores of held-out documents instead of training scores."
    )
    folds: int = Field(
        default=5, ge=2, description="Number of folds of the training documents when cross-validated."
    )
    combination: FoldCombination = Field(default="pooled", description="How the folds are combined.")
    criterion: Criterion = Field(
        default="errors", description="What tuning optimizes: the number of errors, or F1."
    )
    point: IntervalPoint | float = Field(
        default="midpoint",
        description="The point of an interval of equally good thresholds: lowest, midpoint, highest, or the fraction "
        "from its lower end.",
    )
    among_equal: AmongEqual = Field(default="lowest", description="Which of several equally good intervals.")
    accept_nothing: float | None = Field(
        default=1.0,
        ge=0,
        description="If accepting nothing is best: the distance above the highest score; null excludes this case.",
    )
    accept_everything: float | None = Field(
        default=None,
        ge=0,
        description="If accepting everything is best: the distance below the lowest score; null accepts every score.",
    )
    least_f1: float = Field(
        default=30.0, description="Validation F1 in percent below which scut-fbr falls back."
    )
    fallback: Literal[0, 1] = Field(
        default=1,
        description="Threshold of scut-fbr for poor categories: 0 accepts nothing, 1 is the highest score.",
    )
    per_document: CategoriesPerDocument = Field(
        default=1.0,
        description="Categories per document (rcut, pcut): a number, training for the mean of the training documents, "
        "or tuned for the number with the best micro F1.",
    )

    @model_validator(mode="before")
    @classmethod
    def _use_f1_for_scut(cls, data: Any) -> Any:
        """Make F1 the default criterion of Yang's rules."""
        if isinstance(data, dict) and data.get("rule") in ("scut", "scut-fbr"):
            return {"criterion": "f1", **data}
        return data

    @property
    def tuning(self) -> TuningRule:
        """The tuning rule of these settings."""
        below = float("inf") if self.accept_everything is None else self.accept_everything
        return TuningRule(self.criterion, self.point, self.among_equal, self.accept_nothing, below, NEVER)

    @property
    def needs_all_documents(self) -> bool:
        """Whether a decision depends on all documents that are decided on."""
        return self.rule in ("pcut", "expected-f1") and not self.cross_validated


def set_thresholds(
    settings: ThresholdSettings,
    scores: Floats,
    labels: Bools,
    fold_of_document: Ints | None = None,
    probabilities: Floats | None = None,
) -> Floats:
    """Return a threshold for each category, from scores of training documents.

    Rules that need no thresholds get the learner's own.
    """
    plugin = find_plugin("thresholds", settings.rule, THRESHOLD_RULES)
    if plugin is not None:
        return _set_by_plugin(plugin, settings, scores, labels)
    if settings.rule == "expected-f1" and settings.cross_validated and probabilities is not None:
        return tune_expected_f1_thresholds(scores, probabilities, labels, settings.tuning)
    return _set_by_scores(settings, scores, labels, fold_of_document)


def _set_by_scores(
    settings: ThresholdSettings, scores: Floats, labels: Bools, fold_of_document: Ints | None
) -> Floats:
    if settings.rule in ("tuned", "scut"):
        folds = np.zeros(len(labels), dtype=np.int64) if fold_of_document is None else fold_of_document
        return cross_validate_thresholds(scores, labels, folds, settings.tuning, settings.combination)
    if settings.rule == "break-even":
        return find_break_even_thresholds(scores, labels, settings.tuning)
    if settings.rule == "scut-fbr":
        return scut_fbr(scores, labels, settings.least_f1, settings.fallback, settings.tuning)
    if settings.rule == "pcut" and settings.cross_validated:
        return find_proportional_thresholds(
            scores, labels, set_categories_per_document(settings, scores, labels), settings.tuning
        )
    return np.full(scores.shape[1], settings.value, dtype=np.float64)


def _set_by_plugin(plugin: Plugin, settings: ThresholdSettings, scores: Floats, labels: Bools) -> Floats:
    """Return the thresholds of a plugin, checked: one for each category."""
    rule = wrap_numeric_function(plugin, load_plugin(plugin), lambda *_: (scores.shape[1],))
    return rule(scores, labels, settings)


def set_categories_per_document(settings: ThresholdSettings, scores: Floats, labels: Bools) -> float:
    """Return the number of categories per document for rcut and pcut, from training documents."""
    if settings.per_document == "training":
        return compute_label_cardinality(labels)
    if settings.per_document == "tuned":
        return tune_rcut(scores, labels) if settings.rule == "rcut" else tune_pcut(scores, labels)
    return settings.per_document


def apply_threshold_rule(
    settings: ThresholdSettings,
    scores: Floats,
    thresholds: Floats,
    priors: Floats,
    *,
    per_document: float = 1.0,
    probabilities: Floats | None = None,
) -> Bools:
    """Return the decisions, documents x categories.

    `priors` are the categories' shares of the training documents, `per_document` is the result of
    `set_categories_per_document`, and only expected-f1 needs `probabilities`.
    """
    if settings.rule == "rcut":
        return rcut(scores, min(max(math.floor(per_document + 0.5), 1), scores.shape[1]))
    if settings.rule == "pcut" and settings.needs_all_documents:
        return accept_top_documents(scores, compute_pcut_sizes(priors, per_document, len(scores)))
    if settings.rule == "expected-f1" and settings.needs_all_documents:
        if probabilities is None:
            raise UsageError(NO_PROBABILITIES, hint=PROBABILITIES_HINT)
        return apply_thresholds(probabilities, find_expected_f1_thresholds(probabilities))
    return apply_thresholds(scores, thresholds)
