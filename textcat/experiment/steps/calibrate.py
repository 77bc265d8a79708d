"""Probabilities of categories, from logistic learners or calibrated on held-out scores."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from textcat.errors import UsageError
from textcat.evaluation.measures import Floats, make_dense_labels
from textcat.experiment.context import RunContext, Step, make_recipe_inputs
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.spec.learner_table import LEARNERS
from textcat.experiment.steps.held_out import (
    can_score_held_out_blocks,
    load_held_out_scores,
    map_held_out_blocks,
)
from textcat.experiment.steps.models import Model, is_too_large
from textcat.experiment.steps.vectorize import LearningSteps
from textcat.store import Recipe
from textcat.store.arrays import read_array, write_array
from textcat.thresholds.calibration import (
    CALIBRATIONS,
    Calibration,
    CalibrationSettings,
    fit_calibration,
    join_calibrations,
)
from textcat.thresholds.rules import NO_PROBABILITIES, PROBABILITIES_HINT


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
        {**settings.model_dump(mode="json"), "seed": source.seed},
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


def read_calibration(folder: Path, settings: CalibrationSettings, categories: int) -> Calibration:
    """Read a calibration that `save_calibration` wrote."""
    kind = CALIBRATIONS[settings.method]
    arrays = {entry.name: read_array(folder, f"calibration.{entry.name}") for entry in fields(kind)}
    return kind.from_arrays(arrays, categories)
