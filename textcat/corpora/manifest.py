"""What stands on disk: the fingerprint of a collection's files, and the note that fetch leaves there."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

FETCH_MANIFEST = "fetched.json"


class FolderState(NamedTuple):
    """A cheap sign that files are as they were."""

    files: int
    bytes: int
    newest: int


@dataclass(frozen=True)
class Manifest:
    """Where a collection came from, how it was verified, and the state of its files then."""

    collection: str
    source: str
    verified: str
    fingerprint: str
    counts: dict[str, int]
    files: int
    bytes: int
    newest: int

    def has_same_size(self, state: FolderState) -> bool:
        """Whether as many files with as many bytes are there as when it was written."""
        return (self.files, self.bytes) == (state.files, state.bytes)

    def is_untouched(self, state: FolderState) -> bool:
        """As `same_size`, and nothing was written since."""
        return self.has_same_size(state) and self.newest == state.newest


def list_collection_files(folder: Path) -> list[Path]:
    """Every file of a fetched folder but the manifest, in the order of their names."""
    found = [
        Path(base, name) for base, _, names in os.walk(folder) for name in names if not name.startswith(".")
    ]
    return sorted(path for path in found if path != folder / FETCH_MANIFEST)


def read_folder_state(folder: Path) -> FolderState:
    """The number, bytes and newest time of change of a fetched folder's files."""
    number = size = newest = 0
    for path in list_collection_files(folder):
        facts = path.stat()
        number += 1
        size += facts.st_size
        newest = max(newest, facts.st_mtime_ns)
    return FolderState(number, size, newest)


def hash_file(path: Path) -> str:
    """The sha256 of one file."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def combine_hashes(files: Iterable[tuple[str, str]]) -> str:
    """The sha256 over names and sha256s, in the order of the names."""
    whole = hashlib.sha256()
    for name, digest in sorted(files):
        whole.update(f"{digest}  {name}\n".encode())
    return whole.hexdigest()


def fingerprint_files(folder: Path, files: Iterable[Path]) -> str:
    """The sha256 over the names and contents of some files of a folder."""
    remembered = read_valid_fingerprint(folder)
    if remembered is not None:
        return remembered
    return combine_hashes((path.relative_to(folder).as_posix(), hash_file(path)) for path in files)


def read_valid_fingerprint(folder: Path) -> str | None:
    """The fingerprint that the manifest holds, while the folder's files are as fetch left them."""
    manifest = read_manifest(folder)
    if manifest is not None and manifest.is_untouched(read_folder_state(folder)):
        return manifest.fingerprint
    return None


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder, or nothing where there is none that can be read."""
    try:
        return Manifest(**json.loads((folder / FETCH_MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest so that it is either whole or absent."""
    temporary = folder / f".{FETCH_MANIFEST}.{os.getpid()}"
    with temporary.open("w", encoding="utf-8") as opened:
        json.dump(asdict(manifest), opened, indent=1)
        opened.write("\n")
        opened.flush()
        os.fsync(opened.fileno())
    temporary.replace(folder / FETCH_MANIFEST)
