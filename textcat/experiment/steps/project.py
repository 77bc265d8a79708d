"""Project training and test documents on latent semantic dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import ProjectionSettings, RunSettings
from textcat.experiment.steps.step import Step, make_recipe_inputs
from textcat.experiment.steps.vectorize import read_vectors
from textcat.store import Recipe
from textcat.store.arrays import read_array, write_array


def make_project_step(run: RunSettings, seed: int, vectorized: Step) -> Step | None:
    """Return the step that projects documents, or None without `projection`."""
    if run.projection is None:
        return None
    wanted = run.projection.computed or run.projection.dimensions
    recipe = Recipe("project", 1, {"computed": wanted, "seed": seed}, make_recipe_inputs(vectors=vectorized))

    def make(context: RunContext, target: Path) -> None:
        vectors = read_vectors(vectorized.build_artifact(context).folder)
        train, test = sparse.csr_matrix(vectors.train), sparse.csr_matrix(vectors.test)
        from textcat.learners.lsi import learn_axes  # noqa: PLC0415 - imports scipy.linalg

        axes = learn_axes(train, None if wanted == "full" else int(wanted), length=None, seed=seed)
        write_array(target, "train", axes.transform(train))
        write_array(target, "test", axes.transform(test))
        for name, values in axes.to_arrays().items():
            write_array(target, name, values)

    return Step("select", f"project on {wanted} latent dimensions", recipe, make, (vectorized,))


def read_projection(folder: Path, part: str, run: RunSettings) -> NDArray[np.float32]:
    """Read the leading latent dimensions of a part (train or test), scaled for the run."""
    features = read_array(folder, part, mapped=True)
    return scale_projection(features, run.projection, read_array(folder, "singular_values"))


def scale_projection(
    features: NDArray[Any], settings: ProjectionSettings | None, singular_values: NDArray[Any]
) -> NDArray[np.float32]:
    """Return the leading dimensions of coordinates on all axes, scaled by the settings."""
    chosen = settings or ProjectionSettings(dimensions="full")
    dimensions = features.shape[1] if chosen.dimensions == "full" else chosen.dimensions
    projected = np.array(features[:, :dimensions], dtype=np.float32)
    if chosen.scaling == "inverse":
        projected /= singular_values[:dimensions].astype(np.float32)
    if chosen.length is not None:
        lengths = np.linalg.norm(projected, axis=1, keepdims=True)
        projected *= np.float32(chosen.length) / np.where(lengths > 0, lengths, np.float32(1))
    return projected
