"""Assemble the learning problem and test matrix of a run from the artifacts of its steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.learner import LearningProblem
from textcat.experiment.steps.project import read_projection
from textcat.experiment.steps.select import read_selection
from textcat.experiment.steps.step import Step
from textcat.experiment.steps.vectorize import Vectors, read_vectors


def assemble_problem(
    context: RunContext,
    run: RunSettings,
    seed: int,
    vectorized: Step,
    selected: Step | None,
    projected: Step | None,
) -> LearningProblem:
    """Return the learning problem of a run's training documents."""
    vectors = read_vectors(vectorized.build_artifact(context).folder)
    X: Any = vectors.train
    if projected:
        X = read_projection(projected.build_artifact(context).folder, "train", run)
    problem = LearningProblem(X, vectors.train_labels, read_selection(selected, context), seed)
    return problem if run.train_documents is None else _sample_documents(problem, run.train_documents)


def _sample_documents(problem: LearningProblem, documents: int) -> LearningProblem:
    """Draw documents by the seed and keep their order; a smaller sample is part of a larger one."""
    order = np.random.default_rng(problem.seed).permutation(problem.X.shape[0])
    return problem.rows(np.sort(order[:documents]))


def read_test_matrix(context: RunContext, run: RunSettings, vectors: Vectors, projected: Step | None) -> Any:
    """Return the test documents as the run's learner sees them."""
    if projected:
        return read_projection(projected.build_artifact(context).folder, "test", run)
    return vectors.test
