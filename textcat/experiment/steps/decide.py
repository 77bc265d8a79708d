"""From a trained model to a threshold for each category."""

from __future__ import annotations

from dataclasses import dataclass
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
from textcat.store import Recipe
from textcat.store.arrays import read_array, write_array
from textcat.thresholds.settings import set_thresholds


def decide_step(
    run: RunSettings, seed: int, trained: Step, sources: tuple[Step, Step | None, Step | None]
) -> Step:
    """Set the thresholds of a run by its rule."""
    recipe = Recipe(
        "threshold", 1, {**run.threshold.model_dump(mode="json"), "seed": seed}, inputs_of(model=trained)
    )

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
    number, title = run.threshold.folds, f"folds of {run.title or run.learner}"
    workshop.progress(0, number, title)
    shared = _Folds(run, problem, folds, workshop.jobs_of_a_piece)
    for fold, found in enumerate(workshop.each(_scores_of_fold, shared, range(number))):
        scores[folds == fold] = found
        workshop.progress(fold + 1, number, title)
    return scores


@dataclass(frozen=True)
class _Folds:
    """What all folds share."""

    run: RunSettings
    problem: Problem
    numbers: NDArray[np.int64]
    jobs: int


def _scores_of_fold(folds: _Folds, fold: int) -> NDArray[np.float64]:
    run, problem = folds.run, folds.problem
    inner = problem.rows(np.flatnonzero(folds.numbers != fold))
    model = fit_learner(run.learner, parameters_of(run.learner, run.parameters), inner, folds.jobs)
    return model.scores(problem.X[np.flatnonzero(folds.numbers == fold)])


def read_thresholds(folder: Path) -> NDArray[Any]:
    """The thresholds that the step left, one a category."""
    return read_array(folder, "thresholds")
