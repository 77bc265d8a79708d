"""Binary trees of gao_2003, and their learning by the batch perceptron or by maximal figure of merit."""

from __future__ import annotations

from typing import Any

import numpy as np

from textcat.experiment.fitting import Model, Problem
from textcat.experiment.learners import MeritParameters, TreeParameters
from textcat.learners.mfom import GpdSettings, fit_mfom, fit_mfom_at
from textcat.learners.perceptron_tree import PerceptronSettings, fit_perceptron_trees


def fit_perceptron_tree(name: str, problem: Problem, parameters: TreeParameters, jobs: int) -> Model:
    """The baseline tree."""
    settings = PerceptronSettings(parameters.iterations, parameters.rate)
    return fit_perceptron_trees(_features(problem), problem.labels, settings, max_depth=parameters.depth)


def fit_merit_tree(name: str, problem: Problem, parameters: MeritParameters, jobs: int) -> Model:
    """The tree whose splits maximise F1, or minimise the error of both classes."""
    return fit_mfom(_features(problem), problem.labels, settings_of(parameters), max_depth=parameters.depth)


def fit_merit_course(problem: Problem, parameters: MeritParameters) -> dict[int, Model]:
    """Single-split models at all checkpoints, from one descent."""
    found = fit_mfom_at(_features(problem), problem.labels, settings_of(parameters), parameters.checkpoints)
    return dict(found)


def settings_of(parameters: MeritParameters) -> GpdSettings:
    """The settings of the descent."""
    chosen = parameters.model_dump(exclude={"depth", "checkpoints"}, exclude_none=True)
    return GpdSettings(**chosen)


def _features(problem: Problem) -> Any:
    X = problem.X
    return np.asarray(X, dtype=np.float32) if isinstance(X, np.ndarray) else X
