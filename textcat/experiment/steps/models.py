"""Trained models as arrays and JSON: write, read and join them.

A model trained in blocks of categories is stored as its parts, which are links to the files of the blocks.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import BadDataError, StageFailedError
from textcat.learners.binary_tree import BinaryTrees
from textcat.learners.label_tree import LabelTree
from textcat.linear.model import LinearModel
from textcat.store.arrays import read_array, read_json, write_array, write_json


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
    # Class names in models of earlier versions:
    "LinearScorer": LinearModel,
    "MulticlassModel": LinearModel,
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


def load_model(folder: Path, name: str = "model") -> Model:
    """Read a model that `save_model` or `save_model_parts` wrote; no code in the folder is run."""
    description = read_json(folder, name)
    if "parts" in description:
        numbers = range(int(description["parts"]))
        return join_models([_read_part(folder, f"part{k}", read_json(folder, f"part{k}")) for k in numbers])
    return _read_part(folder, name, description)


def _read_part(folder: Path, name: str, description: Mapping[str, Any]) -> Model:
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
