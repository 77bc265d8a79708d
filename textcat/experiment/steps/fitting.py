"""One way to train any learner and to keep any model: problems in, arrays and JSON out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from textcat.errors import BadDataError, StageFailedError, UsageError
from textcat.experiment.spec.learner_table import LEARNERS, validate_parameters
from textcat.linear.mapped_arrays import select_rows
from textcat.parallel import Executor
from textcat.store.arrays import read_array, read_json, write_array, write_json

# The documents to train on, and those to score.
Fold = tuple[NDArray[np.int64], NDArray[np.int64]]


class Model(Protocol):
    """What every learner returns."""

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Documents x categories."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that must be stored to score again."""
        ...

    def describe(self) -> dict[str, Any]:
        """Kind, parameters and certificates, as JSON-able data."""
        ...


@dataclass(frozen=True)
class LearningProblem:
    """Training documents, their labels, the terms each category may use, and the seed."""

    X: Any
    labels: NDArray[np.bool_]
    mask: NDArray[np.bool_] | None
    seed: int

    def restricted(self, categories: NDArray[Any]) -> LearningProblem:
        """The same documents for some of the categories."""
        mask = None if self.mask is None else np.ascontiguousarray(self.mask[:, categories])
        return LearningProblem(self.X, np.ascontiguousarray(self.labels[:, categories]), mask, self.seed)

    def rows(self, documents: NDArray[Any]) -> LearningProblem:
        """Some of the documents."""
        return LearningProblem(select_rows(self.X, documents), self.labels[documents], self.mask, self.seed)


MODEL_CLASSES = {
    "LinearModel": "textcat.linear.model:LinearModel",
    "LinearScorer": "textcat.learners.scorer:LinearScorer",
    "BinaryTrees": "textcat.learners.binary_tree:BinaryTrees",
    "MulticlassModel": "textcat.learners.multiclass_model:MulticlassModel",
}


def fit_learner(name: str, parameters: BaseModel, problem: LearningProblem, jobs: int) -> Model:
    """Train a learner by the adapter that the table of learners names."""
    model: Model = _import_object(LEARNERS[name].adapter)(name, problem, parameters, jobs)
    return model


def has_path(name: str, searched: str) -> bool:
    """Whether a learner's models for several values of a parameter are found along one path."""
    return LEARNERS[name].path is not None and searched in LEARNERS[name].strengths


def fit_grid(
    name: str,
    parameters: Mapping[str, Any],
    searched: str,
    grid: Sequence[float],
    problem: LearningProblem,
    jobs: int,
) -> list[Model]:
    """A model for each value of one parameter; along a path where the learner has one for that parameter."""
    learner = LEARNERS[name]
    each = [validate_parameters(name, {**parameters, searched: value}) for value in grid]
    if learner.path is None or not has_path(name, searched):
        return [fit_learner(name, one, problem, jobs) for one in each]
    models: list[Model] = _import_object(learner.path)(name, problem, each, jobs)
    return models


def search_each_category(
    name: str,
    parameters: BaseModel,
    search: Any,
    problem: LearningProblem,
    jobs: int,
    executor: Executor | None,
) -> tuple[Model, Any]:
    """A model with a hyperparameter of its own for each category, and how it was chosen."""
    searcher = LEARNERS[name].searcher
    if searcher is None:
        raise UsageError(f"{name} cannot search for each category", hint="Leave `per_category` out.")
    found: tuple[Model, Any] = _import_object(searcher)(name, problem, parameters, search, jobs, executor)
    return found


def score_folds(
    name: str, parameters: BaseModel, problem: LearningProblem, model: Model, folds: Sequence[Fold], jobs: int
) -> list[NDArray[np.float64]]:
    """Scores of each fold's documents by a model that is trained as `model` was, without them."""
    learner = LEARNERS[name]
    if learner.folds is not None:
        found: list[NDArray[np.float64]] = _import_object(learner.folds)(
            name, problem, parameters, model, folds, jobs
        )
        return found
    return [
        fit_learner(name, parameters, problem.rows(kept), jobs).scores(problem.rows(held).X)
        for kept, held in folds
    ]


def fit_checkpoints(name: str, parameters: BaseModel, problem: LearningProblem) -> dict[int, Model]:
    """The models of one descent at several numbers of iterations."""
    models: dict[int, Model] = _import_object(LEARNERS[name].course or "")(problem, parameters)
    return models


def save_model(folder: Path, model: Model, name: str = "model") -> None:
    """A model's description and arrays as files of a folder, named after `name`."""
    description = model.describe()
    arrays = model.to_arrays()
    for array, values in arrays.items():
        if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
            raise StageFailedError(
                f"training left a value that is not finite in {array}",
                hint="Check the learner's parameters; a larger regularization usually helps.",
            )
        write_array(folder, f"{name}.{array}", values)
    write_json(folder, name, {**description, "class": type(model).__name__, "arrays": sorted(arrays)})


def load_model(folder: Path, name: str = "model") -> Model:
    """The model that `save_model` left; nothing in the folder is ever run."""
    description = read_json(folder, name)
    kind = description.get("class")
    if kind not in MODEL_CLASSES:
        raise BadDataError(
            f"unknown kind of model {kind!r}",
            where=str(folder / f"{name}.json"),
            hint="Train it again with this version of textcat.",
        )
    arrays = {array: read_array(folder, f"{name}.{array}") for array in description["arrays"]}
    model: Model = _import_object(MODEL_CLASSES[kind]).from_arrays(arrays, description)
    return model


def join_models(parts: Sequence[Any]) -> Model:
    """One model of blocks of categories trained apart; only linear models come in blocks."""
    joined: Model = replace(
        parts[0],
        coef=np.hstack([part.coef for part in parts]),
        intercept=np.concatenate([part.intercept for part in parts]),
        certificate=[certificate for part in parts for certificate in part.certificate],
    )
    return joined


def extract_certificates(description: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A model's certificates without what differs from run to run."""
    return [
        {key: _replace_nan(value) for key, value in certificate.items() if key != "seconds"}
        for certificate in description.get("certificate", [])
    ]


def _replace_nan(value: Any) -> Any:
    """JSON knows no NaN: what is not known is null."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _import_object(path: str) -> Any:
    module, name = path.split(":")
    return getattr(import_module(module), name)
