"""Find model directories, and read the checksums that were written with their files.

The file of checksums has the format of `sha256sum`, so `cd MODEL && sha256sum -c SHA256SUMS` checks a model without
textcat.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError, DataNotAvailableError, UsageError
from textcat.store.arrays import Folder, VerifiedFolder
from textcat.store.files import hash_file
from textcat.yaml_reader import find_near_names, list_first

MODEL_FILE = "categorizer.json"
USUAL_FOLDER = Path("data/models")
_MAX_NAMED = 8
_MAX_DEPTH = 3


def refuse_missing_model(folder: Path) -> None:
    """Raise DataNotAvailableError if there is no model in `folder`; the message names the models there are."""
    if folder.is_dir() and (folder / MODEL_FILE).exists():
        return
    known = list_models_near(folder)
    near = find_near_names(str(folder), known, most=1)
    named = list_first(known, _MAX_NAMED)
    hint = f"Models here: {named}." if known else "Train a model with `textcat train EXPERIMENT`."
    if near and len(known) > 1:
        hint = f"Did you mean {near[0]}? {hint}"
    if folder.is_dir():
        what = "there is no model in this folder"
    else:
        what = "a model is a folder, and this is a file" if folder.exists() else "there is no such folder"
    raise DataNotAvailableError(what, where=str(folder), hint=hint)


def refuse_other_files(folder: Path) -> None:
    """Raise UsageError if a new model would replace a file, or a folder with files that are not those of a model."""
    if not folder.exists() or (
        folder.is_dir() and ((folder / MODEL_FILE).exists() or not any(folder.iterdir()))
    ):
        return
    raise UsageError(
        "a model would replace other files here",
        where=str(folder),
        hint="Name a new folder, or the one of a model.",
    )


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


CHECKSUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\0]+)")
DAMAGED_HINT = "Copy the model directory again, or train the model again with `textcat train EXPERIMENT`."


def write_checksums(folder: Path) -> None:
    """Write the sha256 of every file of a model directory; files that are added later are ignored."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path.name != CHECKSUMS)
    lines = [f"{hash_file(path)}  {path.name}\n" for path in paths]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def open_verified(folder: Path) -> tuple[Folder, str]:
    """Return a model directory whose files are compared with its list of checksums, and the sha256 of this list.

    Models of earlier versions have no list.
    """
    listed = folder / CHECKSUMS
    if not listed.is_file():
        return folder, ""
    content = listed.read_bytes()
    found = [
        _LINE.fullmatch(line) for line in content.decode(errors="replace").removesuffix("\n").split("\n")
    ]
    checksums = {match[2]: match[1] for match in found if match}
    if len(checksums) < len(found) or MODEL_FILE not in checksums:
        raise BadDataError("not a list of checksums", where=str(listed), hint=DAMAGED_HINT)
    return VerifiedFolder(folder, checksums), hashlib.sha256(content).hexdigest()


def identify(folder: Path) -> tuple[object, ...]:
    """Return what differs between a model directory and one that takes its place."""
    try:
        found = folder.stat()
        return found.st_dev, found.st_ino, found.st_ctime_ns, (folder / CHECKSUMS).read_bytes()
    except OSError:
        return ()


def check_finite(parts: Mapping[str, NDArray[Any]]) -> None:
    """Raise BadDataError for numbers of a model that are not real or not finite; thresholds may be infinite."""
    for name, values in parts.items():
        if values.dtype.kind not in "biufUS":
            raise BadDataError(f"{name} holds {values.dtype}, not real numbers", hint=DAMAGED_HINT)
        if not np.issubdtype(values.dtype, np.floating):
            continue
        bad = np.isnan(values) if name == "thresholds" else ~np.isfinite(values)
        if bad.any():
            raise BadDataError(f"{name} holds a number that is NaN or infinite", hint=DAMAGED_HINT)
