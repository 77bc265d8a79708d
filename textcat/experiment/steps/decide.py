"""From a trained model to a threshold for each category."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.experiment.fitting import Problem, fit_learner, load_model
from textcat.experiment.learners import parameters_of
from textcat.experiment.resampling import fold_numbers
from textcat.experiment.settings import RunSettings
from textcat.experiment.steps.problem import assemble
from textcat.experiment.steps.step import Step, Workshop, inputs_of
from textcat.plugins import identities
from textcat.store import Recipe
from textcat.store.arrays import read_array, write_array
from textcat.thresholds.settings import set_thresholds


def decide_step(
    run: RunSettings, seed: int, trained: Step, sources: tuple[Step, Step | None, Step | None]
) -> Step:
    """Set the thresholds of a run by its rule."""
    parameters = {**run.threshold.model_dump(mode="json"), "seed": seed}
    parameters |= identities(("thresholds", run.threshold.rule))
    recipe = Recipe("threshold", 1, parameters, inputs_of(model=trained))

    def make(workshop: Workshop, target: Path) -> None:
        problem = assemble(workshop, run, seed, *sources)
        model = load_model(trained.artifact(workshop).folder)
        if run.threshold.cross_validated:
            folds = fold_numbers(problem.X.shape[0], run.threshold.folds, seed=seed)
            scores = _out_of_fold_scores(run, problem, folds, workshop)
            thresholds = set_thresholds(run.threshold, scores, problem.labels, folds)
        else:
            thresholds = set_thresholds(run.threshold, model.scores(problem.X), problem.labels)
        write_array(target, "thresholds", thresholds)

    return Step("train", f"set thresholds of {run.title or run.learner}", recipe, make, (trained,))


def _out_of_fold_scores(
    run: RunSettings, problem: Problem, folds: NDArray[np.int64], workshop: Workshop
) -> NDArray[np.float64]:
    """Scores of each training document by a model that has not seen it."""
    scores = np.empty(problem.labels.shape, dtype=np.float64)
    parameters = parameters_of(run.learner, run.parameters)
    for fold in range(run.threshold.folds):
        workshop.progress(fold, run.threshold.folds, f"folds of {run.title or run.learner}")
        held_out = np.flatnonzero(folds == fold)
        inner = problem.rows(np.flatnonzero(folds != fold))
        model = fit_learner(run.learner, parameters, inner, workshop.jobs)
        scores[held_out] = model.scores(problem.X[held_out])
    return scores


def read_thresholds(folder: Path) -> NDArray[Any]:
    """The thresholds that the step left, one a category."""
    return read_array(folder, "thresholds")
