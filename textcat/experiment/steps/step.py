"""A step of an experiment: a recipe (what decides the result) and the function that makes its artifact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from textcat.experiment.context import RunContext
from textcat.store import Artifact, Recipe


@dataclass(frozen=True)
class Step:
    """One artifact of a plan: its stage, title and recipe, the function that makes it, and the steps it needs."""

    stage: str
    title: str
    recipe: Recipe
    make: Callable[[RunContext, Path], None]
    needs: tuple[Step, ...] = field(default=())

    def build_artifact(self, context: RunContext) -> Artifact:
        """Return the step's artifact; make it if it is not in the cache."""
        return context.store.build(self.recipe, lambda folder: self.make(context, folder))

    def build_folder(self, context: RunContext) -> Path:
        """Return the folder of the step's artifact; make the artifact if it is not in the cache."""
        return self.build_artifact(context).folder


def make_recipe_inputs(**steps: Step) -> dict[str, str]:
    """Return the keys of steps by name, as the inputs of a recipe."""
    return {name: step.recipe.key for name, step in steps.items()}
