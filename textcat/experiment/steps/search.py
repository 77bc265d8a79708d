"""One parameter of a learner chosen by cross-validation on the training documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.evaluation.break_even import break_even
from textcat.evaluation.contingency import contingency
from textcat.evaluation.measures import argmax_accuracy, micro_f1
from textcat.experiment.spec.experiment import RunSettings, SearchSettings
from textcat.experiment.spec.learners import parameters_of
from textcat.experiment.steps.divide import Rows, folds_of
from textcat.experiment.steps.fitting import (
    Model,
    Problem,
    fit_grid,
    fit_learner,
    has_path,
    search_each_category,
)
from textcat.experiment.steps.step import Workshop
from textcat.thresholds.rules import set_thresholds


@dataclass(frozen=True)
class Found:
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


def searched(run: RunSettings, problem: Problem, workshop: Workshop) -> Found:
    """The model of the best value of the grid, by category or one for all."""
    if run.search is None:
        raise ValueError("this run searches nothing")
    if run.search.per_category:
        return _for_each_category(run, run.search, problem, workshop)
    return _for_all(run, run.search, problem, workshop)


def _for_all(run: RunSettings, search: SearchSettings, problem: Problem, workshop: Workshop) -> Found:
    """Ties go to the first value in the grid."""
    criterion = _criterion(run, search, problem, workshop)
    best = search.grid[int(np.argmax(criterion.sum(axis=1)))]
    parameters = parameters_of(run.learner, {**run.parameters, search.parameter: best})
    model = fit_learner(run.learner, parameters, problem, workshop.jobs)
    return Found(model, search.parameter, [best], list(search.grid), criterion.tolist())


def _for_each_category(
    run: RunSettings, search: SearchSettings, problem: Problem, workshop: Workshop
) -> Found:
    parameters = parameters_of(run.learner, run.parameters)
    model, choice = search_each_category(
        run.learner, parameters, search, problem, workshop.jobs, workshop.crew
    )
    # The choice is ordered from the strongest prior to the weakest: large rates, small variances.
    grid = sorted(search.grid, reverse=search.parameter == "rate")
    chosen = [grid[best] for best in choice.best]
    return Found(model, search.parameter, chosen, grid, choice.likelihood.tolist())


@dataclass(frozen=True)
class _Trials:
    """What all values and folds share."""

    run: RunSettings
    search: SearchSettings
    problem: Problem
    parts: list[tuple[Rows, Rows]]
    jobs: int


def _criterion(
    run: RunSettings, search: SearchSettings, problem: Problem, workshop: Workshop
) -> NDArray[np.float64]:
    """The criterion, values of the grid x folds.

    Where the learner has a path, the values of a fold follow one another along it; else each may be tried alone.
    """
    parts = folds_of(problem.X.shape[0], search.folds, seed=search.seed)[: search.use]
    values = [search.grid] if has_path(run.learner, search.parameter) else [[value] for value in search.grid]
    pieces = [(some, fold) for some in values for fold in range(len(parts))]
    shared = _Trials(run, search, problem, parts, workshop.jobs_of_a_piece)
    found = []
    for goodness in workshop.each(_try, shared, pieces):
        found.append(goodness)
        workshop.progress(len(found), len(pieces), f"{search.parameter} of {run.title or run.learner}")
    return np.concatenate(
        [np.array(found[at : at + len(parts)]).T for at in range(0, len(pieces), len(parts))]
    )


def _try(trials: _Trials, piece: tuple[list[float], int]) -> list[float]:
    """The criterion of some values of the grid on one fold, whose documents are taken once for all of them."""
    run, search = trials.run, trials.search
    values, fold = piece
    inner, outer = (trials.problem.rows(rows) for rows in trials.parts[fold])
    found = []
    for model in fit_grid(run.learner, run.parameters, search.parameter, values, inner, trials.jobs):
        thresholds = set_thresholds(run.threshold, model.scores(inner.X), inner.labels)
        found.append(_goodness(search.criterion, model.scores(outer.X), thresholds, outer.labels))
    return found


def _goodness(
    criterion: str, scores: NDArray[Any], thresholds: NDArray[Any], labels: NDArray[np.bool_]
) -> float:
    if criterion == "micro.bep":
        return break_even(scores, labels).micro()
    if criterion == "accuracy":
        return float(argmax_accuracy(scores, labels))
    if criterion == "log-likelihood":
        signs = np.where(labels, 1.0, -1.0)
        return float(-np.logaddexp(0.0, -signs * scores).sum())
    table = contingency(scores >= thresholds, labels)
    return -float(table.errors.sum()) if criterion == "errors" else float(micro_f1(table))
