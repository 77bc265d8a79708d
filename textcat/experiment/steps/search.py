"""One parameter of a learner chosen by cross-validation on the training documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation.contingency import count_contingency
from textcat.evaluation.curves import find_break_even
from textcat.evaluation.measures import argmax_accuracy, micro_f1
from textcat.experiment.spec.experiment import RunSettings, SearchSettings
from textcat.experiment.spec.learner_table import validate_parameters
from textcat.experiment.steps.divide import RowNumbers, make_folds
from textcat.experiment.steps.fitting import (
    LearningProblem,
    Model,
    fit_grid,
    fit_learner,
    has_path,
    search_each_category,
)
from textcat.experiment.steps.step import StepContext
from textcat.thresholds.rules import set_thresholds


@dataclass(frozen=True)
class SearchResult:
    """The model trained with what was chosen, and the criterion at each value of the grid.

    chosen: one value, or one a category; criterion: values of the grid x folds, or x categories.
    """

    model: Model
    parameter: str
    chosen: list[float]
    grid: list[float]
    criterion: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        """JSON-able, for the model's folder."""
        return {
            "parameter": self.parameter,
            "chosen": self.chosen,
            "grid": self.grid,
            "criterion": self.criterion,
        }


def search_parameter(run: RunSettings, problem: LearningProblem, workshop: StepContext) -> SearchResult:
    """The model of the best value of the grid, by category or one for all."""
    if run.search is None:
        raise ValueError("this run searches nothing")
    if run.search.per_category:
        return _search_per_category(run, run.search, problem, workshop)
    return _search_shared_value(run, run.search, problem, workshop)


def _search_shared_value(
    run: RunSettings, search: SearchSettings, problem: LearningProblem, workshop: StepContext
) -> SearchResult:
    """Ties go to the first value in the grid."""
    criterion = _evaluate_grid(run, search, problem, workshop)
    best = search.grid[int(np.argmax(criterion.sum(axis=1)))]
    parameters = validate_parameters(run.learner, {**run.parameters, search.parameter: best})
    model = fit_learner(run.learner, parameters, problem, workshop.jobs)
    return SearchResult(model, search.parameter, [best], list(search.grid), criterion.tolist())


def _search_per_category(
    run: RunSettings, search: SearchSettings, problem: LearningProblem, workshop: StepContext
) -> SearchResult:
    parameters = validate_parameters(run.learner, run.parameters)
    model, choice = search_each_category(
        run.learner, parameters, search, problem, workshop.jobs, workshop.executor
    )
    # The choice is ordered from the strongest prior to the weakest: large rates, small variances.
    grid = sorted(search.grid, reverse=search.parameter == "rate")
    chosen = [grid[best] for best in choice.best]
    return SearchResult(model, search.parameter, chosen, grid, choice.likelihood.tolist())


@dataclass(frozen=True)
class _TrialInputs:
    """What all values and folds share."""

    run: RunSettings
    search: SearchSettings
    problem: LearningProblem
    parts: list[tuple[RowNumbers, RowNumbers]]
    jobs: int


def _evaluate_grid(
    run: RunSettings, search: SearchSettings, problem: LearningProblem, workshop: StepContext
) -> NDArray[np.float64]:
    """The criterion, values of the grid x folds.

    Where the learner has a path, the values of a fold follow one another along it; else each may be tried alone.
    """
    parts = make_folds(problem.X.shape[0], search.folds, seed=search.seed)[: search.use]
    values = [search.grid] if has_path(run.learner, search.parameter) else [[value] for value in search.grid]
    pieces = [(some, fold) for some in values for fold in range(len(parts))]
    shared = _TrialInputs(run, search, problem, parts, workshop.jobs_per_task)
    found = []
    for goodness in workshop.map_items(_evaluate_trial, shared, pieces):
        found.append(goodness)
        workshop.progress(len(found), len(pieces), f"{search.parameter} of {run.title or run.learner}")
    return np.concatenate(
        [np.array(found[at : at + len(parts)]).T for at in range(0, len(pieces), len(parts))]
    )


def _evaluate_trial(trials: _TrialInputs, piece: tuple[list[float], int]) -> list[float]:
    """The criterion of some values of the grid on one fold, whose documents are taken once for all of them."""
    run, search = trials.run, trials.search
    values, fold = piece
    inner, outer = (trials.problem.rows(rows) for rows in trials.parts[fold])
    found = []
    for model in fit_grid(run.learner, run.parameters, search.parameter, values, inner, trials.jobs):
        thresholds = set_thresholds(run.threshold, model.scores(inner.X), inner.labels)
        found.append(_compute_criterion(search.criterion, model.scores(outer.X), thresholds, outer.labels))
    return found


def _compute_criterion(
    criterion: str, scores: NDArray[Any], thresholds: NDArray[Any], labels: NDArray[np.bool_]
) -> float:
    if criterion == "micro.bep":
        return find_break_even(scores, labels).micro()
    if criterion == "accuracy":
        return float(argmax_accuracy(scores, labels))
    if criterion == "log-likelihood":
        signs = np.where(labels, 1.0, -1.0)
        return float(-np.logaddexp(0.0, -signs * scores).sum())
    table = count_contingency(scores >= thresholds, labels)
    return -float(table.errors.sum()) if criterion == "errors" else float(micro_f1(table))
