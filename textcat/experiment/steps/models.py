"""Trained models: write, read and join them as arrays and JSON, and score documents by blocks of categories.

A model trained in blocks of categories is stored as its parts, which are links to the files of the blocks. Scores come
in blocks so that no matrix of documents x categories is in memory: an executor's workers score the blocks of a linear
model, and find the labels of a label tree by blocks of documents. Documents, model and labels are sent to each worker
once; of the scores only what is computed from them comes back.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import BadDataError, StageFailedError
from textcat.experiment.context import RunContext
from textcat.learners.binary_tree import BinaryTrees
from textcat.learners.label_tree import CHUNK, LabelTree
from textcat.linear.model import LinearModel
from textcat.store.arrays import Folder, read_array, read_json, write_array, write_json


class Model(Protocol):
    """A trained model of any learner."""

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return scores, documents x categories."""
        ...

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that scoring needs."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return settings and certificates as JSON-able data."""
        ...


MODEL_CLASSES: dict[str, Any] = {
    "LinearModel": LinearModel,
    "BinaryTrees": BinaryTrees,
    "LabelTree": LabelTree,
}


def save_model(folder: Path, model: Model, name: str = "model") -> None:
    """Write a model's description and arrays as files of a folder, named after `name`."""
    description = model.describe()
    arrays = model.to_arrays()
    for array, values in arrays.items():
        if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
            raise StageFailedError(
                f"training produced a value in {array} that is not finite",
                hint="Check the learner's parameters; a larger regularization usually helps.",
            )
        write_array(folder, f"{name}.{array}", values)
    write_json(folder, name, {**description, "class": type(model).__name__, "arrays": sorted(arrays)})


def save_model_parts(folder: Path, sources: Sequence[Path]) -> None:
    """Make the models in some folders, each for a block of categories, the parts of one model without copying them."""
    descriptions = []
    for number, source in enumerate(sources):
        description = read_json(source, "model")
        for name in ("model.json", *(f"model.{array}.npy" for array in description["arrays"])):
            _link(source / name, folder / f"part{number}{name.removeprefix('model')}")
        descriptions.append(description)
    certificates = [entry for description in descriptions for entry in description["certificate"]]
    write_json(
        folder, "model", {**descriptions[0], "arrays": [], "certificate": certificates, "parts": len(sources)}
    )


def _link(source: Path, target: Path) -> None:
    """Link a file, or copy it where the file system has no links."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def load_model(folder: Folder, name: str = "model") -> Model:
    """Read a model that `save_model` or `save_model_parts` wrote; no code in the folder is run."""
    description = read_json(folder, name)
    if "parts" in description:
        numbers = range(int(description["parts"]))
        return join_models([_read_part(folder, f"part{k}", read_json(folder, f"part{k}")) for k in numbers])
    return _read_part(folder, name, description)


def _read_part(folder: Folder, name: str, description: Mapping[str, Any]) -> Model:
    kind = description.get("class")
    if kind not in MODEL_CLASSES:
        raise BadDataError(
            f"unknown kind of model {kind!r}",
            where=str(folder / f"{name}.json"),
            hint="Train it again with this version of textcat.",
        )
    arrays = {array: read_array(folder, f"{name}.{array}") for array in description["arrays"]}
    model: Model = MODEL_CLASSES[kind].from_arrays(arrays, description)
    return model


def join_models(parts: Sequence[Any]) -> Model:
    """Return one linear model of models for consecutive blocks of categories."""
    joined: Model = replace(
        parts[0],
        coef=_join_weights([part.coef for part in parts]),
        intercept=np.concatenate([part.intercept for part in parts]),
        certificate=[certificate for part in parts for certificate in part.certificate],
    )
    return joined


def _join_weights(parts: Sequence[Any]) -> Any:
    if any(sp.issparse(part) for part in parts):
        return sp.hstack(parts, format="csc")
    return np.hstack(parts)


def extract_certificates(description: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the model's certificates without timings."""
    return [
        {key: _replace_nan(value) for key, value in certificate.items() if key != "seconds"}
        for certificate in description.get("certificate", [])
    ]


def _replace_nan(value: Any) -> Any:
    """Replace NaN with None (JSON has no NaN)."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


# More scores than this, documents x categories, are never in memory together.
MAX_DENSE_SCORES = 20_000_000
MAX_BLOCK_SCORES = 10_000_000
MAX_BLOCK_CATEGORIES = 512

BlockResult = TypeVar("BlockResult")


def is_too_large(documents: int, categories: int) -> bool:
    """Return whether scores of this size are computed in blocks."""
    return documents * categories > MAX_DENSE_SCORES


def choose_block_width(documents: int, most_scores: int = MAX_BLOCK_SCORES) -> int:
    """Return the number of categories of a block with at most that many scores."""
    return min(max(most_scores // max(documents, 1), 1), MAX_BLOCK_CATEGORIES)


def map_score_blocks(
    context: RunContext, model: Model, X: Any, work: Callable[[int, NDArray[np.float64]], BlockResult]
) -> Iterator[BlockResult]:
    """Yield `work(first, scores)` of blocks of categories, in order; `first` is the first category of the block.

    Learners other than linear ones and label trees score all categories at once.
    """
    width = choose_block_width(X.shape[0])
    if isinstance(model, LinearModel):
        inputs = _BlockInputs(model, X, width, context.jobs_per_task, work)
        yield from context.map_items(_score_block, inputs, range(0, model.coef.shape[1], width))
        return
    if isinstance(model, LabelTree):
        blocks = model.split_scores(find_tree_labels(context, model, X), width)
    else:
        whole = model.scores(X)
        blocks = ((first, whole[:, first : first + width]) for first in range(0, whole.shape[1], width))
    for first, scores in blocks:
        yield work(first, scores)


@dataclass(frozen=True)
class _BlockInputs:
    """Inputs that all blocks share."""

    model: Any
    X: Any
    width: int
    jobs: int
    work: Callable[[int, NDArray[np.float64]], Any]


def _score_block(inputs: _BlockInputs, first: int) -> Any:
    part = inputs.model.select_categories(first, first + inputs.width)
    return inputs.work(first, part.scores_in_threads(inputs.X, inputs.jobs))


def find_tree_labels(context: RunContext, tree: LabelTree, X: Any) -> sp.csr_matrix:
    """Return the scores of the labels that a beam reaches; an executor's workers have some documents each."""
    if context.executor is None:
        return tree.find_labels(X, context.jobs)
    chunks = [slice(first, first + CHUNK) for first in range(0, max(X.shape[0], 1), CHUNK)]
    parts = list(context.map_items(_find_labels_of_chunk, (tree, X), chunks))
    return sp.csr_matrix(sp.vstack(parts, format="csr"))


def _find_labels_of_chunk(inputs: tuple[LabelTree, Any], chunk: slice) -> sp.csr_matrix:
    tree, X = inputs
    return tree.find_labels(X[chunk])
