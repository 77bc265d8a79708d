"""Labelled documents, and the interface of a text collection."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from textcat.errors import UsageError

if TYPE_CHECKING:
    from textcat.corpora.sides import CategoryCounts

Split = Literal["train", "test", "unused"]


@dataclass(frozen=True, slots=True)
class Document:
    """One document: id, text by field, labels, side of the split, and its place (file:line) if known."""

    id: str
    fields: Mapping[str, str]
    labels: tuple[str, ...]
    split: Split
    where: str = field(default="", compare=False)


@runtime_checkable
class Corpus(Protocol):
    """An opened collection; each call of `documents` reads them from disk."""

    @property
    def name(self) -> str:
        """The name, as in `textcat fetch`."""
        ...

    @property
    def categories(self) -> tuple[str, ...]:
        """The labels of training and test documents, in a fixed order."""
        ...

    def documents(self) -> Iterator[Document]:
        """Yield all documents in the collection's order."""
        ...

    def fingerprint(self) -> str:
        """Return the sha256 of the contents on disk."""
        ...


@runtime_checkable
class CountingCorpus(Protocol):
    """A collection whose categories follow from the labels of its documents, so that one pass finds both."""

    def list_categories(self, counts: CategoryCounts) -> tuple[str, ...]:
        """Return the categories, given the labels counted in a pass over the documents."""
        ...


@runtime_checkable
class StreamedCorpus(Protocol):
    """A collection whose sides may be drawn at random after a pass over its documents."""

    def stream(self) -> Iterator[Document]:
        """Yield the documents in one pass; where sides are drawn at random, `draw_sides` gives them afterwards."""
        ...

    def draw_sides(self, documents: int) -> list[Split] | None:
        """Return the side of each document, or None where the documents have sides of their own."""
        ...


def require_choice(option: str, value: object, allowed: Collection[str]) -> None:
    """Raise UsageError unless the value of an option is one of those allowed."""
    if value not in allowed:
        raise UsageError(f"{option} cannot be {value!r}", hint=f"Choose from {', '.join(allowed)}.")
