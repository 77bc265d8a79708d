"""Measures of a trained model itself: the features it uses, its certificates, the hyperparameter found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.store.arrays import read_array, read_json

Measures = dict[str, float | None]

# The papers call by these names what the learners' parameters call by shorter ones.
PRINTED_NAMES = {"lam": "lambda", "rate": "lambda"}


def of_weights(folder: Path, categories: Sequence[str], positives: NDArray[np.int64]) -> Measures:
    """How many features a linear model uses, by category and over them, the constant not counted."""
    if not (folder / "model.coef.npy").exists():
        return {}
    used = np.count_nonzero(read_array(folder, "model.coef"), axis=0)
    constants = read_array(folder, "model.intercept")
    measures: Measures = {
        "features.min": float(used.min()),
        "features.max": float(used.max()),
        "features.mean": float(used.mean()),
        "features.sd": float(used.std(ddof=1)) if len(used) > 1 else None,
        "features.constants_dropped": float(np.count_nonzero(constants == 0)),
        "features.correlation_with_positives": _correlation(used, positives),
    }
    each = {f"category.{name}.features": float(n) for name, n in zip(categories, used, strict=True)}
    return {**measures, **each}


def _correlation(used: NDArray[np.int64], positives: NDArray[np.int64]) -> float | None:
    """Of the logarithms, over the categories with a positive document and a feature."""
    known = (used > 0) & (positives > 0)
    if np.unique(used[known]).size < 2 or np.unique(positives[known]).size < 2:
        return None
    return float(np.corrcoef(np.log(used[known]), np.log(positives[known]))[0, 1])


def of_certificates(certificates: Sequence[Mapping[str, Any]]) -> Measures:
    """Objective and gap summed over the categories, passes averaged; none where a learner minimises nothing."""
    measures: Measures = {}
    for name, together in (("objective", np.sum), ("gap", np.sum), ("passes", np.mean)):
        values = [entry.get(name) for entry in certificates]
        if values and all(value is not None for value in values):
            measures[f"training.{name}"] = float(
                together([float(value) for value in values if value is not None])
            )
    return measures


def of_search(folder: Path) -> Measures:
    """chosen.lambda, or another parameter, where one value was chosen for all categories."""
    if not (folder / "search.json").exists():
        return {}
    search = read_json(folder, "search")
    if len(search["chosen"]) != 1:
        return {}
    return {f"chosen.{PRINTED_NAMES.get(search['parameter'], search['parameter'])}": search["chosen"][0]}
