"""Scores of every training document by a model that has not seen it: thresholds and calibrations share them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.spec.learner_table import LEARNERS, validate_parameters
from textcat.experiment.steps.divide import assign_folds
from textcat.experiment.steps.fitting import Fold, LearningProblem, Model, load_model, score_folds
from textcat.experiment.steps.search import search_parameter
from textcat.experiment.steps.step import Step, StepContext, make_recipe_inputs
from textcat.store import Recipe
from textcat.store.arrays import read_array, read_json, write_array

Floats = NDArray[np.float64]


def load_held_out_scores(
    workshop: StepContext, run: RunSettings, problem: LearningProblem, trained: Step, seed: int, folds: int
) -> tuple[Floats, NDArray[np.int64]]:
    """Documents x categories, and each document's fold; made once for each model and number of folds."""
    numbers = assign_folds(problem.X.shape[0], folds, seed=seed)
    parts = [(np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in range(folds)]
    recipe = Recipe("held_out", 2, {"folds": folds, "seed": seed}, make_recipe_inputs(model=trained))

    def make(target: Path) -> None:
        run_of_folds = _fix_searched_value(run, trained, workshop)
        scores = np.empty(problem.labels.shape, dtype=np.float64)
        title = f"folds of {run.title or run.learner}"
        workshop.progress(0, folds, title)
        done = 0
        for some in _score_parts(workshop, run_of_folds, problem, trained, parts):
            for held_out in some:
                scores[parts[done][1]] = held_out
                done += 1
            workshop.progress(done, folds, title)
        write_array(target, "scores", scores)

    return read_array(workshop.store.build(recipe, make).folder, "scores"), numbers


def _fix_searched_value(run: RunSettings, trained: Step, workshop: StepContext) -> RunSettings:
    """A value that was searched for all categories together is not searched again in each fold."""
    if run.search is None or run.search.per_category:
        return run
    found = read_json(trained.build_artifact(workshop).folder, "search")["chosen"][0]
    return run.model_copy(
        update={"parameters": run.parameters | {run.search.parameter: found}, "search": None}
    )


def _score_parts(
    workshop: StepContext, run: RunSettings, problem: LearningProblem, trained: Step, parts: Sequence[Fold]
) -> Iterator[list[Floats]]:
    """The scores of each fold's documents, in the order of the folds, some folds at a time."""
    if run.search:
        yield from ([_search_and_score(workshop, run, problem, part)] for part in parts)
        return
    model = load_model(trained.build_artifact(workshop).folder)
    shared = _FoldInputs(run, problem, model, workshop.jobs_per_task)
    together = workshop.executor is None and LEARNERS[run.learner].folds is not None
    yield from workshop.map_items(
        _score_fold_batch, shared, [parts] if together else [[part] for part in parts]
    )


def _search_and_score(
    workshop: StepContext, run: RunSettings, problem: LearningProblem, part: Fold
) -> Floats:
    """Scores of a fold's documents by a model whose value for each category was found without them."""
    kept, held = part
    return search_parameter(run, problem.rows(kept), workshop).model.scores(problem.rows(held).X)


@dataclass(frozen=True)
class _FoldInputs:
    """What all folds share."""

    run: RunSettings
    problem: LearningProblem
    model: Model
    jobs: int


def _score_fold_batch(shared: _FoldInputs, parts: Sequence[Fold]) -> list[Floats]:
    """Scores of the documents of some folds by models trained as the whole one was, without them."""
    run = shared.run
    parameters = validate_parameters(run.learner, run.parameters)
    return score_folds(run.learner, parameters, shared.problem, shared.model, parts, shared.jobs)
