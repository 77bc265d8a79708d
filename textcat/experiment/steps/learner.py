"""The protocol of learners: what training, searching and held-out scoring need from any of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.evaluation.measures import make_dense_labels
from textcat.evaluation.one_label import find_columns
from textcat.experiment.spec.experiment import RunSettings, SearchSettings
from textcat.experiment.steps.features import FeatureSource, find_equal_documents
from textcat.experiment.steps.models import Model
from textcat.learners.parameters import LearnerParameters, validate_parameters
from textcat.linear.cross_validation import HyperparameterChoice
from textcat.linear.mapped_arrays import select_rows
from textcat.parallel import Executor
from textcat.splits import assign_folds, split_by_fold

# Rows to train on and rows to score.
Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
Parameters = TypeVar("Parameters", bound=LearnerParameters)


@dataclass(frozen=True)
class LearningProblem:
    """Training documents, their labels, the terms each category may use, and the seed.

    `label_matrix` is documents x categories, sparse or a bool array: all labels of a large collection do not fit
    into memory as an array. The last `names` rows are names of labels: they are learned from, but neither held out nor
    decided. `source` has what folds need to learn features of their own; without it they use those of all documents.
    """

    X: Any
    label_matrix: Any
    mask: NDArray[np.bool_] | None
    seed: int
    names: int = 0
    source: FeatureSource | None = None

    @property
    def labels(self) -> NDArray[np.bool_]:
        """The labels as an array."""
        return np.ascontiguousarray(make_dense_labels(self.label_matrix))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of documents and categories."""
        documents, categories = self.label_matrix.shape
        return documents, categories

    @property
    def documents(self) -> int:
        """The number of documents without names of labels."""
        return self.shape[0] - self.names

    @property
    def own(self) -> LearningProblem:
        """The documents without names of labels."""
        return self.rows(np.arange(self.documents)) if self.names else self

    def restrict(self, categories: NDArray[Any]) -> LearningProblem:
        """Return the same documents with some of the categories."""
        mask = None if self.mask is None else np.ascontiguousarray(self.mask[:, categories])
        return replace(self, label_matrix=self.label_matrix[:, categories], mask=mask)

    def rows(self, documents: NDArray[Any]) -> LearningProblem:
        """Return some of the rows, in ascending order, with all categories and the same features."""
        return replace(
            self,
            X=select_rows(self.X, documents),
            label_matrix=self.label_matrix[documents],
            names=int(np.count_nonzero(documents >= self.documents)) if self.names else 0,
            source=None if self.source is None else self.source.take(documents),
        )

    def divide(self, fold: Fold) -> tuple[LearningProblem, LearningProblem]:
        """Return the problem of a fold's training rows and that of its held-out rows.

        The features are learned from the training rows, which may have fewer terms than all.
        """
        kept, held = fold
        if self.source is None:
            return self.rows(kept), self.rows(held)
        labels = np.ascontiguousarray(make_dense_labels(self.label_matrix[kept]))
        found = self.source.learn(kept, held, labels)
        inner = replace(
            self,
            X=found.kept,
            label_matrix=self.label_matrix[kept],
            mask=found.mask,
            names=int(np.count_nonzero(kept >= self.documents)) if self.names else 0,
            source=self.source.take(kept),
        )
        outer = replace(
            inner, X=found.held, label_matrix=self.label_matrix[held], names=0, source=self.source.take(held)
        )
        return inner, outer

    def add_names(self, documents: NDArray[Any]) -> NDArray[Any]:
        """Return rows of documents followed by those of the names of labels."""
        return (
            np.concatenate([documents, np.arange(self.documents, self.shape[0])]) if self.names else documents
        )

    def assign_folds(self, folds: int, seed: int) -> NDArray[np.int64]:
        """Return the fold of each document: the assignment for all that is held out with this number and seed.

        Documents of equal text are in one fold, and folds have equal shares of single labels; where folds use the
        features of all documents, they are drawn at random.
        """
        if self.source is None:
            return assign_folds(self.documents, folds, seed=seed)
        own = np.arange(self.documents)
        return assign_folds(
            self.documents,
            folds,
            seed=seed,
            strata=find_columns(self.label_matrix[own]) if self.source.single_label else None,
            groups=find_equal_documents(self.source.documents, self.source.rows[own]),
        )

    def make_folds(self, folds: int, seed: int) -> list[Fold]:
        """Return folds of the documents; names of labels are in the training part of each."""
        parts = split_by_fold(self.assign_folds(folds, seed), folds)
        return [(self.add_names(kept), held) for kept, held in parts]


@dataclass(frozen=True)
class ParameterChoice:
    """The value of a parameter that a learner chose, and what it measured at each value of a grid."""

    value: float
    grid: list[dict[str, float]]


@dataclass(frozen=True)
class Learner(ABC, Generic[Parameters]):
    """A way to train models. Every learner has `fit`; the other methods may be overridden where it can do better."""

    name: str

    @abstractmethod
    def fit(self, problem: LearningProblem, parameters: Parameters, jobs: int) -> Model:
        """Train a model on `jobs` threads."""

    def has_path(self, parameter: str) -> bool:
        """Return whether `fit_grid` trains several values of a parameter faster together than apart."""
        return False

    def fit_grid(
        self, problem: LearningProblem, grid: Sequence[Parameters], parameter: str, jobs: int
    ) -> list[Model]:
        """Train a model for each entry of the grid; the entries differ in one parameter."""
        return [self.fit(problem, parameters, jobs) for parameters in grid]

    def choose_parameters(
        self, problem: LearningProblem, parameters: Parameters, jobs: int
    ) -> dict[str, ParameterChoice]:
        """Return the parameters that the settings leave to the learner, such as `prune: auto`, by name."""
        return {}

    def fit_on_workers(
        self, problem: LearningProblem, parameters: Parameters, executor: Executor
    ) -> Model | None:
        """Train a model whose parts the executor's workers train; None where a worker trains it as a whole."""
        return None

    @property
    def trains_categories_apart(self) -> bool:
        """Whether the model of a category does not depend on which others are trained with it."""
        return False

    @property
    def shares_folds(self) -> bool:
        """Whether `score_folds` is faster for all folds together than for one at a time."""
        return False

    def score_folds(
        self, problem: LearningProblem, parameters: Parameters, model: Model, folds: Sequence[Fold], jobs: int
    ) -> list[NDArray[np.float64]]:
        """Return the scores of each fold's held-out rows by a model trained on its other rows.

        `model` was trained on all rows with the same parameters.
        """
        return [self.score_fold(problem.divide(fold), parameters, jobs) for fold in folds]

    def score_fold(
        self, divided: tuple[LearningProblem, LearningProblem], parameters: Parameters, jobs: int
    ) -> NDArray[np.float64]:
        """Return the scores of the second problem's documents by a model trained on the first."""
        inner, outer = divided
        return self.fit(inner, parameters, jobs).scores(outer.X)

    def search_each_category(
        self,
        problem: LearningProblem,
        parameters: Parameters,
        search: SearchSettings,
        jobs: int,
        executor: Executor | None,
    ) -> tuple[Model, HyperparameterChoice]:
        """Choose a hyperparameter for each category; return the model trained with them, and the choice."""
        raise UsageError(f"{self.name} cannot search for each category", hint="Leave `per_category` out.")

    def fit_course(self, problem: LearningProblem, parameters: Parameters, jobs: int) -> dict[int, Model]:
        """Return the models of one descent by number of iterations."""
        raise UsageError(f"{self.name} has no checkpoints", hint="Leave `checkpoints` out.")


@dataclass(frozen=True)
class FunctionLearner(Learner[Parameters]):
    """A learner that only has a function to train a model."""

    train: Callable[[LearningProblem, Parameters, int], Model]

    def fit(self, problem: LearningProblem, parameters: Parameters, jobs: int) -> Model:
        """Train a model."""
        return self.train(problem, parameters, jobs)


def find_learner(name: str) -> Learner[Any]:
    """Return a learner of the table. The code of all learners takes long to import: it is imported with the first."""
    from textcat.experiment.steps import learners  # noqa: PLC0415

    return learners.find_learner(name)


def load_learner(run: RunSettings) -> tuple[Learner[Any], LearnerParameters]:
    """Return the learner of a run and its checked parameters."""
    return find_learner(run.learner), validate_parameters(run.learner, run.parameters)
