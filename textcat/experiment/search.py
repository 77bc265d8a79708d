"""One parameter of a learner chosen by cross-validation on the training documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from textcat.evaluation.break_even import break_even
from textcat.evaluation.contingency import contingency
from textcat.evaluation.measures import micro_f1
from textcat.experiment.fitting import Problem, fit_learner
from textcat.experiment.learners import parameters_of
from textcat.experiment.resampling import folds_of
from textcat.experiment.settings import RunSettings, SearchSettings
from textcat.experiment.steps.step import Workshop
from textcat.thresholds.settings import set_thresholds


@dataclass(frozen=True)
class Found:
    """The criterion at each value of the grid, and what was chosen."""

    parameters: BaseModel
    chosen: list[float]
    grid: list[float]
    criterion: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        """JSON-able, for the model's folder."""
        return {"chosen": self.chosen, "grid": self.grid, "criterion": self.criterion}


def searched_parameters(run: RunSettings, problem: Problem, workshop: Workshop) -> Found:
    """The value that is best on the parts held out, one for all categories; ties go to the first in the grid."""
    search = run.search
    if search is None:
        raise ValueError("this run searches nothing")
    criterion = np.vstack([_criterion(run, search, value, problem, workshop) for value in search.grid])
    best = search.grid[int(np.argmax(criterion.sum(axis=1)))]
    parameters = parameters_of(run.learner, {**run.parameters, search.parameter: best})
    return Found(parameters, [best], list(search.grid), criterion.tolist())


def _criterion(
    run: RunSettings, search: SearchSettings, value: float, problem: Problem, workshop: Workshop
) -> NDArray[np.float64]:
    """The criterion of one value, one number a fold."""
    parameters = parameters_of(run.learner, {**run.parameters, search.parameter: value})
    parts = folds_of(problem.X.shape[0], search.folds, seed=search.seed)[: search.use]
    results = []
    for train, held_out in parts:
        inner = problem.rows(train)
        model = fit_learner(run.learner, parameters, inner, workshop.jobs)
        thresholds = set_thresholds(run.threshold, model.scores(inner.X), inner.labels)
        results.append(
            _goodness(
                search.criterion, model.scores(problem.X[held_out]), thresholds, problem.labels[held_out]
            )
        )
    return np.array(results)


def _goodness(
    criterion: str, scores: NDArray[Any], thresholds: NDArray[Any], labels: NDArray[np.bool_]
) -> float:
    if criterion == "micro.bep":
        return break_even(scores, labels).micro()
    if criterion == "log-likelihood":
        signs = np.where(labels, 1.0, -1.0)
        return float(-np.logaddexp(0.0, -signs * scores).sum())
    table = contingency(scores >= thresholds, labels)
    return -float(table.errors.sum()) if criterion == "errors" else float(micro_f1(table))
