"""Store artifacts of stages: under a key of all that determines them, built once under a lock, verified when read.

A `RecordingStore` remembers what it made, so that a long series of runs can free space as it goes.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

from textcat.errors import StageFailedError
from textcat.store.files import flush_to_disk, hash_file, hold_lock, make_write_error

log = logging.getLogger(__name__)

ARTIFACT_MANIFEST = "manifest.json"


def canonical_json(value: Any) -> str:
    """Return the canonical JSON of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def hash_json(value: Any) -> str:
    """Return the sha256 of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


@dataclass(frozen=True)
class Recipe:
    """Everything that determines an artifact."""

    stage: str
    version: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the recipe as JSON-able data, as it is in an artifact's manifest."""
        return {**vars(self), "parameters": dict(self.parameters), "inputs": dict(self.inputs)}

    @property
    def key(self) -> str:
        """The key of the artifact: the sha256 of the recipe."""
        return hash_json(self.as_dict())


def iterate_leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every (dotted path, scalar) in nested data, in sorted order."""
    if isinstance(value, Mapping):
        for name in sorted(value):
            yield from iterate_leaves(value[name], f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from iterate_leaves(item, f"{path}[{position}]")
    else:
        yield path, value


def find_differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """Return the dotted paths at which two nested mappings differ, in sorted order."""
    one, other = dict(iterate_leaves(left)), dict(iterate_leaves(right))
    missing = object()
    return [
        path
        for path in sorted(one.keys() | other.keys())
        if one.get(path, missing) != other.get(path, missing)
    ]


@dataclass(frozen=True)
class Artifact:
    """The verified folder of a stage's result, with its recipe and the seconds it took to build."""

    folder: Path
    recipe: Recipe
    seconds: float = 0.0

    @property
    def key(self) -> str:
        """The key of the recipe."""
        return self.recipe.key

    @property
    def built_at(self) -> float:
        """When it was built, in seconds since 1970: the time of its manifest."""
        try:
            return (self.folder / ARTIFACT_MANIFEST).stat().st_mtime
        except OSError:
            return 0.0


class Store:
    """Artifacts in the folders `root/<stage>/<key>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._verified: dict[str, Artifact] = {}

    def locate_artifact(self, recipe: Recipe) -> Path:
        """Return the folder of a recipe's artifact, whether it exists or not."""
        return self.root / recipe.stage / recipe.key

    def find(self, recipe: Recipe) -> Artifact | None:
        """Return the artifact of a recipe if it exists and is intact; delete a damaged one and log a warning."""
        if recipe.key in self._verified:
            return self._verified[recipe.key]
        folder = self.locate_artifact(recipe)
        if not os.path.lexists(folder):
            return None
        damage = _find_damage(folder, recipe)
        if damage:
            log.warning(
                "cache entry %s/%s is damaged (%s): rebuilding it", recipe.stage, recipe.key[:12], damage
            )
            self._discard(folder)
            return None
        return self._remember(recipe)

    def build(self, recipe: Recipe, make: Callable[[Path], None]) -> Artifact:
        """Return the artifact of a recipe; build it with `make(folder)` if it does not exist."""
        found = self.find(recipe)
        if found:
            return found
        with hold_lock(self.root / recipe.stage / f"{recipe.key}.lock"):
            found = self.find(recipe)
            if found:
                return found
            self._make(recipe, make)
        return self._remember(recipe)

    def read_recipes(self, stage: str, key: str = "*") -> Iterator[dict[str, Any]]:
        """Yield the recipes of a stage's artifacts, or of the one with this key, without verifying them."""
        for path in sorted((self.root / stage).glob(f"{key}/{ARTIFACT_MANIFEST}")):
            try:
                recipe = json.loads(path.read_text())["recipe"]
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
            if isinstance(recipe, dict):
                yield recipe

    def _remember(self, recipe: Recipe) -> Artifact:
        folder = self.locate_artifact(recipe)
        artifact = Artifact(folder, recipe, _read_seconds(folder))
        self._verified[recipe.key] = artifact
        return artifact

    def _make(self, recipe: Recipe, make: Callable[[Path], None]) -> None:
        target = self.locate_artifact(recipe)
        # The name is chosen before the folder is made, so that an interruption at any point can delete it.
        temporary = target.parent / f".{recipe.key}.{token_hex(8)}.part"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Folders of killed builders of this artifact: the lock is held.
            for leftover in target.parent.glob(f".{target.name}.*.part"):
                shutil.rmtree(leftover, ignore_errors=True)
            temporary.mkdir()
            started = time.perf_counter()
            make(temporary)
            _write_manifest(temporary, recipe, time.perf_counter() - started)
            temporary.replace(target)
            flush_to_disk(target.parent)
            log.info("made %s/%s", recipe.stage, recipe.key)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise make_write_error(target, error) from error
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    def _discard(self, folder: Path) -> None:
        try:
            doomed = Path(tempfile.mkdtemp(prefix=".damaged.", suffix=".part", dir=folder.parent))
            folder.replace(doomed / "was")
            shutil.rmtree(doomed, ignore_errors=True)
        except OSError as error:
            raise make_write_error(folder, error) from error


def _write_manifest(folder: Path, recipe: Recipe, seconds: float) -> None:
    files = {path.name: hash_file(path) for path in sorted(folder.iterdir())}
    for name in files:
        flush_to_disk(folder / name)
    manifest = folder / ARTIFACT_MANIFEST
    contents = {"recipe": recipe.as_dict(), "files": files, "seconds": round(seconds, 3)}
    manifest.write_text(json.dumps(contents, sort_keys=True, indent=1) + "\n")
    flush_to_disk(manifest)
    flush_to_disk(folder)


def _read_seconds(folder: Path) -> float:
    """Return the seconds that building took, from the manifest."""
    try:
        return float(json.loads((folder / ARTIFACT_MANIFEST).read_text())["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def _find_damage(folder: Path, recipe: Recipe) -> str:
    """Return what is wrong with an artifact, or an empty text; only plain files are opened."""
    if folder.is_symlink() or not folder.is_dir():
        return "it is not a folder"
    try:
        entries = list(os.scandir(folder))
        if not all(entry.is_file(follow_symlinks=False) for entry in entries):
            return "it contains something other than plain files"
        manifest = json.loads((folder / ARTIFACT_MANIFEST).read_text(encoding="utf-8"))
        files, made_by = dict(manifest["files"]), hash_json(manifest["recipe"])
    except PermissionError as error:
        raise _make_permission_error(folder) from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "its manifest cannot be read"
    if made_by != recipe.key:
        return "it belongs to another recipe"
    if {entry.name for entry in entries} != {ARTIFACT_MANIFEST, *files}:
        return "a file is missing or does not belong to it"
    return _find_changed_file(folder, files)


def _find_changed_file(folder: Path, files: dict[str, Any]) -> str:
    for name, expected in files.items():
        try:
            if hash_file(folder / name) != expected:
                return f"{name} has changed"
        except PermissionError as error:
            raise _make_permission_error(folder) from error
        except OSError:
            return f"{name} cannot be read"
    return ""


def _make_permission_error(folder: Path) -> StageFailedError:
    """Return the error for an artifact of another user, which is neither used nor deleted."""
    return StageFailedError(
        "no permission to read this cache entry",
        where=str(folder),
        hint="Its owner can make it readable (chmod -R go+rX); or use another folder with --data.",
    )


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
