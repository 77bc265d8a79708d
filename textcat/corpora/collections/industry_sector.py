"""Industry Sector: web pages of companies, a folder for each of 105 sectors, from the user's own files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from textcat.corpora.collections.web_pages import extract_text, extract_title, remove_header
from textcat.corpora.document import Document
from textcat.corpora.document_tree import DocumentTree
from textcat.errors import UsageError


class IndustrySector:
    """One document a page; its class is the folder in which it lies, as a path below the collection's."""

    name = "industry-sector"

    def __init__(self, folder: Path, *, split: str = "all") -> None:
        if split != "all":
            raise UsageError(f"Industry Sector has no split {split!r}", hint="It is split at random by seed.")
        self.tree = DocumentTree(folder)

    @cached_property
    def pages(self) -> list[str]:
        """The path of each page, in order."""
        return [name for name in self.tree.names if "/" in name]

    def documents(self) -> Iterator[Document]:
        """The pages as text, without MIME header and markup; the title is a field of its own."""
        for name, text in zip(self.pages, self.tree.texts(self.pages), strict=True):
            page = remove_header(text)
            fields = {"title": extract_title(page), "body": extract_text(page)}
            yield Document(name, fields, (name.rpartition("/")[0],), "train")

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The folders that hold pages, in alphabetical order."""
        return tuple(sorted({name.rpartition("/")[0] for name in self.pages}))

    def fingerprint(self) -> str:
        """The sha256 over the names and contents of all pages."""
        return self.tree.fingerprint()


def count_industry_sector(folder: Path) -> dict[str, int]:
    """The counts that the collection's table pins."""
    corpus = IndustrySector(folder)
    return {"documents": len(corpus.pages), "categories": len(corpus.categories)}
