"""OHSUMED with 23 disease categories, split by Joachims: a folder for each in `training` and `test`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from textcat.corpora.document import Document, Split, require_choice
from textcat.corpora.document_tree import DocumentTree
from textcat.errors import BadDataError

_SIDE_OF_FOLDER: dict[str, Split] = {"training": "train", "test": "test"}


class Ohsumed23:
    """One document for each abstract; a document in the folders of several categories has all their labels."""

    name = "ohsumed-23"

    def __init__(self, folder: Path, *, split: str = "joachims") -> None:
        require_choice("split", split, ("joachims",))
        self.tree = DocumentTree(folder)

    @cached_property
    def _labels(self) -> dict[tuple[str, str], list[str]]:
        """The categories of each document, by (folder of the side, number)."""
        found: dict[tuple[str, str], list[str]] = {}
        for name in self.tree.names:
            if name.count("/") == 2:
                side, category, number = name.split("/")
                found.setdefault((side, number), []).append(category)
        if unknown := {side for side, _ in found} - set(_SIDE_OF_FOLDER):
            raise BadDataError(
                f"{min(unknown)!r} is neither training nor test",
                where=str(self.tree.folder),
                hint="Keep only the folders training and test of the collection.",
            )
        return found

    def documents(self) -> Iterator[Document]:
        """Yield the abstracts by number, training before test; the first line is the title."""
        ordered = sorted(self._labels.items(), key=lambda each: (each[0][0] == "test", each[0][1]))
        names = (f"{side}/{labels[0]}/{number}" for (side, number), labels in ordered)
        for ((side, number), labels), text in zip(ordered, self.tree.texts(names), strict=True):
            title, _, body = text.partition("\n")
            yield Document(number, {"title": title, "body": body}, tuple(labels), _SIDE_OF_FOLDER[side])

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories C01 to C23, in order."""
        return tuple(sorted({label for labels in self._labels.values() for label in labels}))

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of all files."""
        return self.tree.fingerprint()


def count_ohsumed23(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = Ohsumed23(folder)
    counts = {"categories": len(corpus.categories)}
    for side, split in _SIDE_OF_FOLDER.items():
        chosen = [labels for (each, _), labels in corpus._labels.items() if each == side]
        counts[f"{split} documents"] = len(chosen)
        counts[f"{split} labels"] = sum(map(len, chosen))
    return counts
