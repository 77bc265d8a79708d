"""Binary trees of gao_2003, and their learning by the batch perceptron or by maximal figure of merit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from textcat.experiment.fitting import Model, Problem
from textcat.experiment.learners import MeritParameters, TreeParameters
from textcat.learners.mfom import GpdSettings, descend, fit_mfom, fit_mfom_at
from textcat.learners.perceptron_tree import PerceptronSettings, fit_perceptron_trees


def fit_perceptron_tree(name: str, problem: Problem, parameters: TreeParameters, jobs: int) -> Model:
    """The baseline tree."""
    settings = PerceptronSettings(parameters.iterations, parameters.rate)
    return fit_perceptron_trees(_features(problem), problem.labels, settings, max_depth=parameters.depth)


def fit_merit_tree(name: str, problem: Problem, parameters: MeritParameters, jobs: int) -> Model:
    """The tree whose splits maximise F1, or minimise the error of both classes."""
    X, settings = _features(problem), settings_of(parameters)
    model = fit_mfom(X, problem.labels, settings, max_depth=parameters.depth)
    if not parameters.trace:
        return model
    course = descend(X, problem.labels, np.ones_like(problem.labels), settings).f1
    return replace(model, settings={**model.settings, "course_f1": np.round(course, 6).tolist()})


def fit_merit_course(problem: Problem, parameters: MeritParameters) -> dict[int, Model]:
    """Single-split models at all checkpoints, from one descent."""
    wanted = parameters.checkpoints
    settings = settings_of(parameters.model_copy(update={"iterations": max(wanted)}))
    return dict(fit_mfom_at(_features(problem), problem.labels, settings, wanted))


def settings_of(parameters: MeritParameters) -> GpdSettings:
    """The settings of the descent."""
    chosen = parameters.model_dump(exclude={"depth", "checkpoints", "trace"}, exclude_none=True)
    return GpdSettings(**chosen)


def _features(problem: Problem) -> Any:
    X = problem.X
    return np.asarray(X, dtype=np.float32) if isinstance(X, np.ndarray) else X
