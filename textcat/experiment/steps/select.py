"""Select the terms that each category's learner may use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.step import Step, make_recipe_inputs
from textcat.experiment.steps.vectorize import read_vectors
from textcat.plugins import collect_identities
from textcat.selection import select_features
from textcat.selection.choice import SelectionSettings
from textcat.store import Recipe
from textcat.store.arrays import read_mask, write_mask


def keeps_all_features(selection: SelectionSettings) -> bool:
    """Return whether every term of the vocabulary is kept for every category."""
    return selection.features == "all" and selection.minimum_documents <= 1


def make_select_step(run: RunSettings, vectorized: Step) -> Step | None:
    """Return the step that selects terms, or None where every term is kept."""
    if keeps_all_features(run.selection):
        return None
    parameters = run.selection.model_dump(mode="json")
    parameters |= collect_identities(("selection_scores", run.selection.score))
    recipe = Recipe("select", 1, parameters, make_recipe_inputs(vectors=vectorized))

    def make(context: RunContext, target: Path) -> None:
        vectors = read_vectors(vectorized.build_artifact(context).folder)
        write_mask(target, "mask", select_features(vectors.train, vectors.train_labels, run.selection))

    title = f"select {run.selection.features} features by {run.selection.score}"
    if run.selection.features == "all":
        title = f"select features of {run.selection.minimum_documents} documents"
    return Step("select", title, recipe, make, (vectorized,))


def read_selection(step: Step | None, context: RunContext) -> NDArray[Any] | None:
    """Return the mask of selected terms, terms x categories, or None where every term is kept."""
    if step is None:
        return None
    mask: NDArray[np.bool_] = read_mask(step.build_artifact(context).folder, "mask")
    return mask
