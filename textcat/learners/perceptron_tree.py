"""The baseline trees of gao_2003: each split is learned by the batch perceptron.

Problem:  minimise the sum over misclassified documents of -z (w.x - w0), z = +1 or -1 (equation 5.1).
Inputs:   features, the positives and members of each column, iterations and learning constant.
Outputs:  one linear split per column.
Paper:    gao_2003 section 5.1, equation 5.2, starting point of section 5.3 (also that of GPD). The paper does
          not state the learning constant and the stopping rule: here the constant falls linearly to 0, and
          training stops when no error is left.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from textcat.learners.binary_tree import BinaryTrees, FeatureMatrix, LinearNodes, grow_trees
from textcat.learners.checks import Bools, require_positive


def make_initial_nodes(X: FeatureMatrix, positive: Bools, member: Bools) -> LinearNodes:
    """Return the mean of the class with fewer documents as w, and the least w.x of that class as w0 (5.3).

    Where the negatives are fewer both change sign, so that the split still says Yes above 0.
    """
    negative = member & ~positive
    flipped = negative.sum(axis=0) < positive.sum(axis=0)
    fewer = np.where(flipped, negative, positive)
    counts = np.maximum(fewer.sum(axis=0), 1).astype(np.float32)
    weights = np.asarray(X.T @ fewer.astype(np.float32)) / counts
    lowest = np.where(fewer, np.asarray(X @ weights), np.inf).min(axis=0, initial=np.inf)
    sign = np.where(flipped, -1, 1).astype(np.float32)
    return LinearNodes(
        (weights * sign).astype(np.float32),
        (np.where(np.isfinite(lowest), lowest, 0) * sign).astype(np.float32),
    )


@dataclass(frozen=True)
class PerceptronSettings:
    """The number of iterations and the learning constant of the first one."""

    iterations: int = 500
    rate: float = 0.01

    def __post_init__(self) -> None:
        require_positive(iterations=self.iterations, rate=self.rate)


def fit_perceptron_trees(
    X: FeatureMatrix,
    Y: Bools,
    settings: PerceptronSettings | None = None,
    *,
    max_depth: int = 1,
    jobs: int = 1,
) -> BinaryTrees:
    """Train a tree per category with splits by the batch perceptron."""
    chosen = settings or PerceptronSettings()

    def learn_split(
        X: FeatureMatrix, positive: Bools, member: Bools, tree: npt.NDArray[np.int64], jobs: int
    ) -> LinearNodes:
        return run_batch_perceptron(X, positive, member, chosen)

    described = {"learner": "perceptron", **asdict(chosen)}
    return grow_trees(X, Y, learn_split, max_depth=max_depth, settings=described, jobs=jobs)


def run_batch_perceptron(
    X: FeatureMatrix, positive: Bools, member: Bools, settings: PerceptronSettings
) -> LinearNodes:
    """Run equation 5.2: add the misclassified documents, signed by their class, until none is left.

    A column without misclassified documents no longer changes and is set aside.
    """
    final = make_initial_nodes(X, positive, member).copy()
    columns, nodes = np.arange(positive.shape[1]), final.copy()
    for iteration in range(settings.iterations):
        wrong = member & ((nodes.values(X) > 0) != positive)
        moving = np.flatnonzero(wrong.any(axis=0))
        if moving.size < columns.size:
            final.weights[:, columns], final.offsets[columns] = nodes.weights, nodes.offsets
            columns, nodes = columns[moving], nodes.select_columns(moving)
            positive, member, wrong = positive[:, moving], member[:, moving], wrong[:, moving]
        if moving.size == 0:
            return final
        rows = np.flatnonzero(wrong.any(axis=1))
        push = np.where(positive[rows], np.float32(1), np.float32(-1)) * wrong[rows]
        rate = np.float32(settings.rate * (1 - iteration / settings.iterations))
        nodes.weights[...] += rate * np.asarray(X[rows].T @ push)
        nodes.offsets[...] -= rate * push.sum(axis=0)
    final.weights[:, columns], final.offsets[columns] = nodes.weights, nodes.offsets
    return final
