"""A collection that another package reads, whose errors name that package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textcat.corpora.document import Corpus, Document
from textcat.plugins import Plugin, blaming, loaded


@dataclass(frozen=True)
class CorpusFromElsewhere:
    """What a plugin opened; each call of it is watched."""

    plugin: Plugin
    opened: Corpus

    @property
    def name(self) -> str:
        """The name of the entry point."""
        return self.plugin.name

    @property
    def categories(self) -> tuple[str, ...]:
        """Labels that occur, in the reader's order."""
        with blaming(self.plugin, "failed"):
            return tuple(self.opened.categories)

    def documents(self) -> Iterator[Document]:
        """The documents in the reader's order."""
        with blaming(self.plugin, "failed"):
            yield from self.opened.documents()

    def fingerprint(self) -> str:
        """The sha256 of the contents on disk."""
        with blaming(self.plugin, "failed"):
            return str(self.opened.fingerprint())


def open_from_elsewhere(
    plugin: Plugin, place: Path, split: str | None, options: dict[str, Any]
) -> CorpusFromElsewhere:
    """Open a plugin's collection; `place` is the path of the experiment file, or else its folder of data."""
    reader = loaded(plugin)
    with blaming(plugin, "cannot be opened"):
        opened = reader(place, **(options | {"split": split} if split else options))
        if not isinstance(opened, Corpus):
            raise TypeError(
                f"it must have name, categories, documents() and fingerprint(), and is {opened!r}"
            )
    return CorpusFromElsewhere(plugin, opened)
