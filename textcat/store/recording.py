"""A store that remembers what it made, so that a long series of runs can free space as it goes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from textcat.store.artifacts import Recipe, Store


class RecordingStore(Store):
    """A store that lists the recipes of artifacts it made itself; those found ready are not listed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.made: dict[str, Recipe] = {}

    def _make(self, recipe: Recipe, make: Callable[[Path], None]) -> None:
        super()._make(recipe, make)
        self.made[recipe.key] = recipe

    def forget(self, keys: set[str]) -> None:
        """Delete these artifacts if this store made them."""
        for key in keys & self.made.keys():
            folder = self.locate_artifact(self.made.pop(key))
            self._verified.pop(key, None)
            shutil.rmtree(folder, ignore_errors=True)
            for beside in folder.parent.glob(f"{key}.*"):
                beside.unlink(missing_ok=True)
