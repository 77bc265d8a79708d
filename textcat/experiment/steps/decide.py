"""Fit the probabilities and the decision rule of a run: thresholds of categories, or how many a document gets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from textcat.errors import UsageError
from textcat.evaluation.measures import Floats, make_dense_labels
from textcat.experiment.context import RunContext, Step, make_recipe_inputs
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.held_out import (
    can_score_held_out_blocks,
    load_held_out_scores,
    map_held_out_blocks,
)
from textcat.experiment.steps.learner import LearningProblem
from textcat.experiment.steps.models import Model, is_too_large, load_model, map_score_blocks
from textcat.experiment.steps.vectorize import LearningSteps, read_vectors
from textcat.learners.parameters import LEARNERS
from textcat.store import Recipe
from textcat.store.arrays import Folder, read_array, write_array
from textcat.thresholds.calibration import (
    CALIBRATIONS,
    Calibration,
    CalibrationSettings,
    Isotonic,
    Platt,
    fit_calibration,
    join_calibrations,
    normalize_probabilities,
    rank_by_both,
)
from textcat.thresholds.rejection import Rejection, fit_rejection
from textcat.thresholds.rules import (
    NO_PROBABILITIES,
    PROBABILITIES_HINT,
    ThresholdSettings,
    accept_highest,
    apply_threshold_rule,
    set_categories_per_document,
    set_thresholds,
)
from textcat.thresholds.tuning import apply_thresholds


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
    loss = run.parameters.get("loss") or LEARNERS[run.learner].settings.get("loss")
    has_probabilities = run.calibration is not None or run.learner == "softmax" or loss == "logistic"
    if run.threshold.rule == "expected-f1" and not has_probabilities:
        raise UsageError(NO_PROBABILITIES, hint=PROBABILITIES_HINT)


def make_calibrate_step(source: LearningSteps, trained: Step) -> Step | None:
    """Return the step that fits a run's calibration, or None without `calibration`."""
    run, settings = source.settings, source.settings.calibration
    if settings is None:
        return None
    recipe = Recipe(
        "calibrate",
        1,
        {**settings.model_dump(mode="json"), "seed": source.seed, **source.describe_folds()},
        make_recipe_inputs(model=trained),
    )

    def make(context: RunContext, target: Path) -> None:
        problem = source.assemble_problem(context)
        together = settings.method == "temperature"
        if is_too_large(*problem.shape) and can_score_held_out_blocks(run) and not together:
            work = partial(_fit_block, settings, problem.own.label_matrix)
            parts = map_held_out_blocks(context, run, problem, trained, settings.folds, work)
            save_calibration(target, join_calibrations(list(parts)))
            return
        scores, _ = load_held_out_scores(context, run, problem, trained, settings.folds)
        save_calibration(target, fit_calibration(settings, scores, problem.own.labels))

    return Step("train", f"calibrate {run.title or run.learner}", recipe, make, (trained,))


def _fit_block(settings: CalibrationSettings, labels: Any, first: int, scores: Floats) -> Calibration:
    """Return the calibration of a block of categories."""
    return fit_calibration(settings, scores, make_dense_labels(labels, first, first + scores.shape[1]))


def save_calibration(folder: Path, calibration: Calibration) -> None:
    """Write a calibration's arrays as files of a folder."""
    for name, values in vars(calibration).items():
        write_array(folder, f"calibration.{name}", values)


def read_calibration(folder: Folder, settings: CalibrationSettings, categories: int) -> Calibration:
    """Read a calibration that `save_calibration` wrote."""
    kind = CALIBRATIONS[settings.method]
    arrays = {entry.name: read_array(folder, f"calibration.{entry.name}") for entry in fields(kind)}
    return kind.from_arrays(arrays, categories)


HeldOutScores = Callable[[int], tuple[Floats, NDArray[np.int64]]]

# Rules that give each document a number of categories.
PER_DOCUMENT_RULES = ("rcut", "pcut")
# Rules by which the threshold of a category depends on its own scores only.
CATEGORY_RULES = ("tuned", "scut", "break-even", "scut-fbr")


@dataclass(frozen=True)
class DecisionRule:
    """How a run turns scores into decisions: its rule, the fitted thresholds, and its calibration."""

    run: RunSettings
    single_label: bool
    thresholds: Floats
    per_document: float
    priors: Floats
    calibration: Calibration | None
    rejection: Rejection | None = None

    def probabilities(self, model: Model, scores: Floats) -> Floats | None:
        """Return probabilities, documents x categories, calibrated or the learner's own; None if there are none.

        With one category per document, the probabilities of a document sum to 1.
        """
        found = compute_probabilities(model, self.calibration, scores)
        return normalize_probabilities(found) if found is not None and self.single_label else found

    def decide(self, model: Model, scores: Floats) -> NDArray[np.bool_]:
        """Return the accepted categories; with `single_label` the one that is most likely, unless rejected."""
        if self.rejection is not None and (probabilities := self.probabilities(model, scores)) is not None:
            return self.rejection.decide(probabilities, self.rank_categories(model, scores))
        if self.single_label:
            return accept_highest(self.rank_categories(model, scores))
        needs_probabilities = self.run.threshold.rule == "expected-f1"
        return apply_threshold_rule(
            self.run.threshold,
            scores,
            self.thresholds,
            self.priors,
            per_document=self.per_document,
            probabilities=self.probabilities(model, scores) if needs_probabilities else None,
        )

    @property
    def ranks_probabilities(self) -> bool:
        """Whether the order of a document's probabilities may differ from that of its scores."""
        return self.single_label and isinstance(self.calibration, Platt | Isotonic)

    def rank_categories(self, model: Model, scores: Floats) -> Floats:
        """Return values in the order in which categories are likely, for one category per document.

        These are the scores, or where each category is calibrated alone, ranks by probability, of equal ones by score.
        """
        probabilities = self.probabilities(model, scores) if self.ranks_probabilities else None
        return scores if probabilities is None else rank_by_both(probabilities, scores)

    def find_documents_below(self, scores: Floats) -> NDArray[np.bool_]:
        """Return which documents reach no threshold and get their category by `at_least_one`."""
        if self.single_label or not self.run.threshold.at_least_one or not np.isfinite(self.thresholds).any():
            return np.zeros(len(scores), dtype=np.bool_)
        return np.logical_not(apply_thresholds(scores, self.thresholds).any(axis=1))

    def reject_below(self, threshold: float) -> DecisionRule:
        """Return a rule that rejects documents whose best probability is below the threshold."""
        column = self.rejection.column if self.rejection else -1
        return replace(self, rejection=Rejection(threshold, column))

    @property
    def most_categories(self) -> int | None:
        """The number of categories that every document gets, if its highest scores decide; None for other rules."""
        if self.single_label:
            return 1
        if self.run.threshold.rule != "rcut":
            return None
        return min(max(math.floor(self.per_document + 0.5), 1), len(self.thresholds))

    def works_in_blocks(self, model: Model) -> bool:
        """Return whether categories can be decided in blocks: by their highest scores, or each category alone."""
        if self.rejection is not None or (self.single_label and self.calibration is not None):
            return False
        if self.run.threshold.at_least_one and not self.single_label:
            return False
        if self.most_categories is not None or not self.run.threshold.needs_all_documents:
            return True
        is_logistic = model.describe().get("settings", {}).get("loss") == "logistic"
        return self.run.threshold.rule == "expected-f1" and (is_logistic or self.calibration is not None)

    @property
    def compares_scores(self) -> bool:
        """Whether a category is accepted where its score reaches its threshold."""
        return (
            self.rejection is None
            and self.most_categories is None
            and not self.run.threshold.needs_all_documents
            and not self.run.threshold.at_least_one
        )

    def select_categories(self, first: int, stop: int) -> DecisionRule:
        """Return the rule of consecutive categories."""
        calibration = self.calibration
        return replace(
            self,
            thresholds=self.thresholds[first:stop],
            priors=self.priors[first:stop],
            calibration=None if calibration is None else calibration.select_categories(first, stop),
        )

    @property
    def needs_all_documents(self) -> bool:
        """Whether a decision depends on the other documents of the same call."""
        return self.run.threshold.needs_all_documents and not self.single_label


def make_decide_step(source: LearningSteps, trained: Step, calibrated: Step | None) -> Step:
    """Return the step that sets a run's thresholds by its rule."""
    run = source.settings
    needs = {"model": trained}
    if calibrated and (run.threshold.rule == "expected-f1" or run.reject):
        needs["calibration"] = calibrated
    parameters = {**run.threshold.model_dump(mode="json"), "seed": source.seed}
    if run.threshold.cross_validated or run.reject:
        parameters |= source.describe_folds()
    if run.reject:
        parameters["reject"] = run.reject.model_dump(mode="json")
    # Version 2: a category without positive documents accepts none; 3: the shared threshold is that of all categories.
    changed = run.threshold.rule == "scut-fbr" and run.threshold.fallback == 1
    version = 3 if run.threshold.rule == "scut" and run.threshold.shrinkage else 2 if changed else 1
    recipe = Recipe("threshold", version, parameters, make_recipe_inputs(**needs))

    def make(context: RunContext, target: Path) -> None:
        problem = source.assemble_problem(context)
        if rejection := _fit_rejection(context, run, problem, trained, calibrated, source.vectorized):
            write_array(target, "reject", rejection.to_array())
        if is_too_large(*problem.shape) and _can_tune_blocks(run):
            fitted, per_document = _tune_in_blocks(context, run, trained, problem), None
        else:
            fitted, per_document = fit_thresholds(
                run,
                problem,
                lambda: load_model(trained.build_folder(context)),
                lambda folds: load_held_out_scores(context, run, problem, trained, folds),
                lambda: _load_calibration(run, calibrated, context, problem),
            )
        write_array(target, "thresholds", fitted)
        if per_document is not None:
            write_array(target, "per_document", np.array(per_document, dtype=np.float64))

    return Step("train", f"set thresholds of {run.title or run.learner}", recipe, make, tuple(needs.values()))


def fit_thresholds(
    run: RunSettings,
    problem: LearningProblem,
    load: Callable[[], Model],
    score_held_out: HeldOutScores,
    load_calibration: Callable[[], Calibration | None],
) -> tuple[Floats, float | None]:
    """Return a threshold for each category, and for rules per document the number of categories.

    Names of labels have no part in them.
    """
    settings, problem = run.threshold, problem.own
    folds = probabilities = None
    # A fixed number of categories per document needs no scores.
    is_fixed = settings.rule == "rcut" and settings.per_document != "tuned"
    if settings.rule == "default" or is_fixed:
        scores = np.zeros((0, problem.shape[1]))
        thresholds = set_thresholds(settings, scores, scores > 0)
    else:
        model, labels = load(), problem.labels
        if settings.cross_validated:
            scores, folds = score_held_out(settings.folds)
        else:
            scores = model.scores(problem.X)
        if settings.rule == "expected-f1":
            probabilities = compute_probabilities(model, load_calibration(), scores)
        thresholds = set_thresholds(settings, scores, labels, folds, probabilities)
    if settings.rule not in PER_DOCUMENT_RULES:
        return thresholds, None
    return thresholds, set_categories_per_document(settings, scores, problem.labels)


def _can_tune_blocks(run: RunSettings) -> bool:
    """Return whether the threshold of a category depends on its own scores only, and they come in blocks."""
    alone = run.threshold.rule in CATEGORY_RULES and not run.threshold.shrinkage
    return alone and (not run.threshold.cross_validated or can_score_held_out_blocks(run))


def _tune_in_blocks(context: RunContext, run: RunSettings, trained: Step, problem: LearningProblem) -> Floats:
    """Return the thresholds of all categories from blocks of their scores."""
    rule, documents = run.threshold, problem.own
    if not rule.cross_validated:
        model = load_model(trained.build_folder(context))
        work = partial(_set_block_thresholds, rule, documents.label_matrix, None)
        return np.concatenate(list(map_score_blocks(context, model, documents.X, work)))
    numbers = problem.assign_folds(rule.folds, problem.seed)
    held_out = partial(_set_block_thresholds, rule, documents.label_matrix, numbers)
    thresholds = map_held_out_blocks(context, run, problem, trained, rule.folds, held_out)
    return np.concatenate(list(thresholds))


def _set_block_thresholds(
    rule: ThresholdSettings, labels: Any, folds: NDArray[np.int64] | None, first: int, scores: Floats
) -> Floats:
    """Return the thresholds of a block of categories."""
    block_labels = make_dense_labels(labels, first, first + scores.shape[1])
    return set_thresholds(rule, scores, block_labels, folds)


def _fit_rejection(
    context: RunContext,
    run: RunSettings,
    problem: LearningProblem,
    trained: Step,
    calibrated: Step | None,
    vectorized: Step,
) -> Rejection | None:
    """Return the rejection of a run, fitted on held-out probabilities; None without `reject`."""
    calibration = _load_calibration(run, calibrated, context, problem)
    if run.reject is None or run.calibration is None or calibration is None:
        return None
    scores, _ = load_held_out_scores(context, run, problem, trained, run.calibration.folds)
    probabilities = normalize_probabilities(calibration.probabilities(scores))
    categories = read_vectors(vectorized.build_folder(context)).categories
    return fit_rejection(run.reject, probabilities, problem.own.labels, categories)


def _load_calibration(
    run: RunSettings, calibrated: Step | None, context: RunContext, problem: LearningProblem
) -> Calibration | None:
    if calibrated is None or run.calibration is None:
        return None
    folder = calibrated.build_folder(context)
    return read_calibration(folder, run.calibration, problem.labels.shape[1])


def build_decision_rule(
    context: RunContext,
    run: RunSettings,
    decided: Step,
    calibrated: Step | None,
    priors: Floats,
    *,
    single_label: bool,
) -> DecisionRule:
    """Return the decision rule of a run from the steps of its thresholds and calibration."""
    calibration = calibrated.build_folder(context) if calibrated else None
    return load_decision_rule(
        run, decided.build_folder(context), calibration, priors, single_label=single_label
    )


def load_decision_rule(
    run: RunSettings, decided: Folder, calibrated: Folder | None, priors: Floats, *, single_label: bool
) -> DecisionRule:
    """Read the decision rule of a run from the folders of its thresholds and calibration."""
    thresholds = read_array(decided, "thresholds")
    calibration = None
    if calibrated is not None and run.calibration is not None:
        calibration = read_calibration(calibrated, run.calibration, len(priors))
    counted = run.threshold.rule in PER_DOCUMENT_RULES
    per_document = float(read_array(decided, "per_document")) if counted else 1.0
    rejection = Rejection.from_array(read_array(decided, "reject"), len(priors)) if run.reject else None
    return DecisionRule(run, single_label, thresholds, per_document, priors, calibration, rejection)
