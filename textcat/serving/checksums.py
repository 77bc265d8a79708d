"""Checksums of a model directory: written with the model, compared with the files before any of them is used.

The file has the format of `sha256sum`, so `cd MODEL && sha256sum -c SHA256SUMS` checks a model without textcat.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError
from textcat.store.files import hash_file

CHECKSUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\0]+)")
_DAMAGED_HINT = "Copy the model directory again, or train the model again with `textcat train EXPERIMENT`."


def write_checksums(folder: Path) -> None:
    """Write the sha256 of every file of a model directory; files that are added later are ignored."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path.name != CHECKSUMS)
    lines = [f"{hash_file(path)}  {path.name}\n" for path in paths]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def verify_checksums(folder: Path, *, expected: bool) -> None:
    """Raise BadDataError for a file that is missing or has changed since the model was written.

    Models of earlier versions have no checksums; `expected` says that this one was written with them.
    """
    listed = folder / CHECKSUMS
    if not expected and not listed.exists():
        return
    if not listed.is_file():
        raise BadDataError(f"{CHECKSUMS} is missing", where=str(folder), hint=_DAMAGED_HINT)
    for name, checksum in _read_checksums(listed).items():
        path = folder / name
        if not path.is_file():
            raise BadDataError("the file is missing", where=str(path), hint=_DAMAGED_HINT)
        if hash_file(path) != checksum:
            raise BadDataError(
                f"the file is damaged: its sha256 is not the one in {CHECKSUMS}",
                where=str(path),
                hint=_DAMAGED_HINT,
            )


def _read_checksums(path: Path) -> dict[str, str]:
    """Return the checksum of each listed file."""
    text = path.read_bytes().decode("utf-8", errors="replace")
    found = [_LINE.fullmatch(line) for line in text.removesuffix("\n").split("\n")]
    checksums = {match[2]: match[1] for match in found if match}
    if len(checksums) < len(found) or "categorizer.json" not in checksums:
        raise BadDataError("not a list of checksums", where=str(path), hint=_DAMAGED_HINT)
    return checksums


def check_finite(parts: Mapping[str, NDArray[Any]]) -> None:
    """Raise BadDataError for numbers of a model that are NaN or infinite; thresholds may be infinite."""
    for name, values in parts.items():
        if not np.issubdtype(values.dtype, np.floating):
            continue
        bad = np.isnan(values) if name == "thresholds" else ~np.isfinite(values)
        if bad.any():
            raise BadDataError(f"{name} holds a number that is NaN or infinite", hint=_DAMAGED_HINT)
