"""Find model directories, to name those that there are where a path is mistyped."""

from __future__ import annotations

from pathlib import Path

from textcat.errors import BadDataError
from textcat.yaml_reader import find_near_names

MODEL_FILE = "categorizer.json"
USUAL_FOLDER = Path("data/models")
_MAX_NAMED = 8
_MAX_DEPTH = 3


def refuse_missing_model(folder: Path) -> None:
    """Raise BadDataError if there is no model in `folder`; the message names similar models."""
    if folder.is_dir() and (folder / MODEL_FILE).exists():
        return
    known = list_models_near(folder)
    near = find_near_names(str(folder), known, most=1)
    named = ", ".join(known[:_MAX_NAMED]) + (", ..." if len(known) > _MAX_NAMED else "")
    hint = f"Models here: {named}." if known else "Train a model with `textcat train EXPERIMENT`."
    if near and len(known) > 1:
        hint = f"Did you mean {near[0]}? {hint}"
    what = "there is no model in this folder" if folder.is_dir() else "there is no such folder"
    raise BadDataError(what, where=str(folder), hint=hint)


def list_models_near(folder: Path) -> list[str]:
    """List the model directories below the nearest folder that exists, and those in data/models."""
    nearest = next((each for each in (folder, *folder.parents) if each.is_dir()), Path())
    found = [*_find_models(nearest), *_find_models(USUAL_FOLDER)]
    return list(dict.fromkeys(str(path) for path in found))


def _find_models(below: Path) -> list[Path]:
    """Return model directories up to a small depth, so that a large disk is not searched."""
    patterns = ["/".join(["*"] * depth + [MODEL_FILE]) for depth in range(1, _MAX_DEPTH + 1)]
    try:
        return sorted(path.parent for pattern in patterns for path in below.glob(pattern))
    except OSError:
        return []
