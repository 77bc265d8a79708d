"""Choose one parameter of a learner by cross-validation on the training documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation.curves import find_break_even
from textcat.evaluation.measures import argmax_accuracy, count_contingency, micro_f1
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import RunSettings, SearchSettings
from textcat.experiment.spec.learner_table import validate_parameters
from textcat.experiment.steps.learner import LearningProblem, find_learner
from textcat.experiment.steps.models import Model
from textcat.splits import RowNumbers, make_folds
from textcat.thresholds.rules import set_thresholds


@dataclass(frozen=True)
class SearchResult:
    """The model trained with the chosen values, and the criterion at each value of the grid.

    chosen: one value, or one for each category; criterion: values of the grid x folds, or x categories.
    """

    model: Model
    parameter: str
    chosen: list[float]
    grid: list[float]
    criterion: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        """Return all but the model, as JSON-able data."""
        return {
            "parameter": self.parameter,
            "chosen": self.chosen,
            "grid": self.grid,
            "criterion": self.criterion,
        }


def search_parameter(run: RunSettings, problem: LearningProblem, context: RunContext) -> SearchResult:
    """Return the model with the best value of the grid, one for all categories or one for each."""
    if run.search is None:
        raise ValueError("the run has no `search`")
    if run.search.per_category:
        return _search_per_category(run, run.search, problem, context)
    return _search_shared_value(run, run.search, problem, context)


def _search_shared_value(
    run: RunSettings, search: SearchSettings, problem: LearningProblem, context: RunContext
) -> SearchResult:
    """Search one value for all categories; ties go to the first in the grid."""
    criterion = _evaluate_grid(run, search, problem, context)
    best = search.grid[int(np.argmax(criterion.sum(axis=1)))]
    parameters = validate_parameters(run.learner, {**run.parameters, search.parameter: best})
    model = find_learner(run.learner).fit(problem, parameters, context.jobs)
    return SearchResult(model, search.parameter, [best], list(search.grid), criterion.tolist())


def _search_per_category(
    run: RunSettings, search: SearchSettings, problem: LearningProblem, context: RunContext
) -> SearchResult:
    parameters = validate_parameters(run.learner, run.parameters)
    model, choice = find_learner(run.learner).search_each_category(
        problem, parameters, search, context.jobs, context.executor
    )
    # The choice is ordered from the strongest prior to the weakest: large rates or small variances first.
    grid = sorted(search.grid, reverse=search.parameter == "rate")
    chosen = [grid[best] for best in choice.best]
    return SearchResult(model, search.parameter, chosen, grid, choice.likelihood.tolist())


@dataclass(frozen=True)
class _TrialInputs:
    """Inputs that all values and folds share."""

    run: RunSettings
    search: SearchSettings
    problem: LearningProblem
    parts: list[tuple[RowNumbers, RowNumbers]]
    jobs: int


def _evaluate_grid(
    run: RunSettings, search: SearchSettings, problem: LearningProblem, context: RunContext
) -> NDArray[np.float64]:
    """Return the criterion, values of the grid x folds.

    A learner with a path trains all values of a fold in one task; for others each value is a task.
    """
    parts = make_folds(problem.X.shape[0], search.folds, seed=search.seed)[: search.use]
    together = find_learner(run.learner).has_path(search.parameter)
    values = [search.grid] if together else [[value] for value in search.grid]
    tasks = [(some, fold) for some in values for fold in range(len(parts))]
    shared = _TrialInputs(run, search, problem, parts, context.jobs_per_task)
    found = []
    for criteria in context.map_items(_evaluate_trial, shared, tasks):
        found.append(criteria)
        context.progress(len(found), len(tasks), f"{search.parameter} of {run.title or run.learner}")
    return np.concatenate(
        [np.array(found[at : at + len(parts)]).T for at in range(0, len(tasks), len(parts))]
    )


def _evaluate_trial(trials: _TrialInputs, task: tuple[list[float], int]) -> list[float]:
    """Return the criterion of some values of the grid on one fold."""
    run, search = trials.run, trials.search
    values, fold = task
    inner, outer = (trials.problem.rows(rows) for rows in trials.parts[fold])
    grid = [validate_parameters(run.learner, {**run.parameters, search.parameter: each}) for each in values]
    found = []
    for model in find_learner(run.learner).fit_grid(inner, grid, search.parameter, trials.jobs):
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
