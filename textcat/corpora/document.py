"""What every collection hands on: one labelled document, and the two shapes a collection may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

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
