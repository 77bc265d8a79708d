"""Fingerprints of a collection's files, and the manifest that `fetch` writes beside them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from textcat.store.files import hash_file, write_atomically

FETCH_MANIFEST = "fetched.json"


class FolderState(NamedTuple):
    """Numbers that change when files of a folder change; cheap to compute."""

    files: int
    bytes: int
    newest: int


@dataclass(frozen=True)
class Manifest:
    """The source of a collection, how it was verified, and the state of its files at that time."""

    collection: str
    source: str
    verified: str
    fingerprint: str
    counts: dict[str, int]
    files: int
    bytes: int
    newest: int

    def has_same_size(self, state: FolderState) -> bool:
        """Return whether the folder has as many files and bytes as when the manifest was written."""
        return (self.files, self.bytes) == (state.files, state.bytes)

    def is_untouched(self, state: FolderState) -> bool:
        """Return whether the size is the same and no file was written since."""
        return self.has_same_size(state) and self.newest == state.newest


def list_collection_files(folder: Path) -> list[Path]:
    """Return every file of a folder but hidden ones and the manifest, sorted by path."""
    found = [
        Path(base, name) for base, _, names in os.walk(folder) for name in names if not name.startswith(".")
    ]
    return sorted(path for path in found if path != folder / FETCH_MANIFEST)


def read_folder_state(folder: Path) -> FolderState:
    """Return the number, bytes and newest time of change of a folder's files."""
    number = size = newest = 0
    for path in list_collection_files(folder):
        facts = path.stat()
        number += 1
        size += facts.st_size
        newest = max(newest, facts.st_mtime_ns)
    return FolderState(number, size, newest)


def combine_hashes(files: Iterable[tuple[str, str]]) -> str:
    """Return the sha256 over (name, sha256) pairs, sorted by name."""
    whole = hashlib.sha256()
    for name, digest in sorted(files):
        whole.update(f"{digest}  {name}\n".encode())
    return whole.hexdigest()


def fingerprint_files(folder: Path, files: Iterable[Path]) -> str:
    """Return the sha256 over the names and contents of some files of a folder; use the manifest's if it is valid."""
    known = read_valid_fingerprint(folder)
    if known is not None:
        return known
    return combine_hashes((path.relative_to(folder).as_posix(), hash_file(path)) for path in files)


def read_valid_fingerprint(folder: Path) -> str | None:
    """Return the manifest's fingerprint if no file has changed since `fetch` wrote it, else None."""
    manifest = read_manifest(folder)
    if manifest is not None and manifest.is_untouched(read_folder_state(folder)):
        return manifest.fingerprint
    return None


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder, or None if it is absent or unreadable."""
    try:
        return Manifest(**json.loads((folder / FETCH_MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into a folder, atomically."""
    write_atomically(folder / FETCH_MANIFEST, json.dumps(asdict(manifest), indent=1) + "\n")
