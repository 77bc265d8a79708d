"""Scores of every training document by a model that has not seen it: thresholds and calibrations share them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textcat.experiment.fitting import Problem, fit_learner
from textcat.experiment.learners import parameters_of
from textcat.experiment.resampling import fold_numbers
from textcat.experiment.search import searched
from textcat.experiment.settings import RunSettings
from textcat.experiment.steps.step import Step, Workshop, inputs_of
from textcat.store import Recipe
from textcat.store.arrays import read_array, read_json, write_array

Floats = NDArray[np.float64]


def held_out_scores(
    workshop: Workshop, run: RunSettings, problem: Problem, trained: Step, seed: int, folds: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Documents x categories, and each document's fold; made once for each model and number of folds."""
    numbers = fold_numbers(problem.X.shape[0], folds, seed=seed)
    recipe = Recipe("held_out", 1, {"folds": folds, "seed": seed}, inputs_of(model=trained))

    def make(target: Path) -> None:
        run_of_folds = _with_what_was_found(run, trained, workshop)
        scores = np.empty(problem.labels.shape, dtype=np.float64)
        title = f"folds of {run.title or run.learner}"
        workshop.progress(0, folds, title)
        if run_of_folds.search:
            found: Iterator[Floats] = (
                _searched(workshop, run, problem, numbers, fold) for fold in range(folds)
            )
        else:
            shared = _Folds(run_of_folds, problem, numbers, workshop.jobs_of_a_piece)
            found = workshop.each(_scores_of_fold, shared, range(folds))
        for fold, held_out in enumerate(found):
            scores[numbers == fold] = held_out
            workshop.progress(fold + 1, folds, title)
        write_array(target, "scores", scores)

    return read_array(workshop.store.build(recipe, make).folder, "scores"), numbers


def _with_what_was_found(run: RunSettings, trained: Step, workshop: Workshop) -> RunSettings:
    """A value that was searched for all categories together is not searched again in each fold."""
    if run.search is None or run.search.per_category:
        return run
    found = read_json(trained.artifact(workshop).folder, "search")["chosen"][0]
    return run.model_copy(
        update={"parameters": run.parameters | {run.search.parameter: found}, "search": None}
    )


def _searched(
    workshop: Workshop, run: RunSettings, problem: Problem, numbers: NDArray[np.int64], fold: int
) -> Floats:
    """Scores of a fold's documents by a model whose value for each category was found without them."""
    model = searched(run, problem.rows(np.flatnonzero(numbers != fold)), workshop).model
    return model.scores(problem.X[np.flatnonzero(numbers == fold)])


@dataclass(frozen=True)
class _Folds:
    """What all folds share."""

    run: RunSettings
    problem: Problem
    numbers: NDArray[np.int64]
    jobs: int


def _scores_of_fold(folds: _Folds, fold: int) -> Floats:
    """Scores of a fold's documents by a model trained as the whole one was, without them."""
    run, problem = folds.run, folds.problem
    inner = problem.rows(np.flatnonzero(folds.numbers != fold))
    model = fit_learner(run.learner, parameters_of(run.learner, run.parameters), inner, folds.jobs)
    return model.scores(problem.X[np.flatnonzero(folds.numbers == fold)])
