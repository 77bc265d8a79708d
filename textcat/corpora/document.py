"""What every collection hands on: one labelled document, and the two shapes a collection may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from textcat.corpora.splits import CategoryCounts

Split = Literal["train", "test", "unused"]


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its id, its text by field, its labels, its side of the split; file and line where known."""

    id: str
    fields: Mapping[str, str]
    labels: tuple[str, ...]
    split: Split
    where: str = field(default="", compare=False)


@runtime_checkable
class Corpus(Protocol):
    """An opened collection: documents stream from disk each time `documents` is called."""

    @property
    def name(self) -> str:
        """The collection's name, as in `fetch`."""
        ...

    @property
    def categories(self) -> tuple[str, ...]:
        """Labels that occur in training or test documents, in a stated order."""
        ...

    def documents(self) -> Iterator[Document]:
        """All documents, in the collection's own order."""
        ...

    def fingerprint(self) -> str:
        """The sha256 of the contents on disk."""
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
