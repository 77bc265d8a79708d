"""Scores of every training document by a model that has not seen it: thresholds and calibrations share them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textcat.experiment.fitting import Model, Problem, fit_learner
from textcat.experiment.learners import parameters_of
from textcat.experiment.resampling import fold_numbers
from textcat.experiment.search import searched
from textcat.experiment.settings import RunSettings
from textcat.experiment.steps.step import Step, Workshop, inputs_of
from textcat.store import Recipe
from textcat.store.arrays import read_array, read_json, write_array


def held_out_scores(
    workshop: Workshop, run: RunSettings, problem: Problem, trained: Step, seed: int, folds: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Documents x categories, and each document's fold; made once for each model and number of folds."""
    numbers = fold_numbers(problem.X.shape[0], folds, seed=seed)
    recipe = Recipe("held_out", 1, {"folds": folds, "seed": seed}, inputs_of(model=trained))

    def make(target: Path) -> None:
        fitted = trained.artifact(workshop).folder
        scores = np.empty(problem.labels.shape, dtype=np.float64)
        for fold in range(folds):
            workshop.progress(fold, folds, f"folds of {run.title or run.learner}")
            model = _fit(workshop, run, problem.rows(np.flatnonzero(numbers != fold)), fitted)
            held_out = np.flatnonzero(numbers == fold)
            scores[held_out] = model.scores(problem.X[held_out])
        write_array(target, "scores", scores)

    return read_array(workshop.store.build(recipe, make).folder, "scores"), numbers


def _fit(workshop: Workshop, run: RunSettings, problem: Problem, fitted: Path) -> Model:
    """Train as the whole model was; a value that was searched for all categories is not searched again."""
    parameters = dict(run.parameters)
    if run.search and run.search.per_category:
        return searched(run, problem, workshop).model
    if run.search:
        parameters[run.search.parameter] = read_json(fitted, "search")["chosen"][0]
    return fit_learner(run.learner, parameters_of(run.learner, parameters), problem, workshop.jobs)
