"""Industry Sector: web pages of companies, a folder for each of 105 sectors; from the user's own copy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from textcat.corpora.collections.web_pages import extract_text, extract_title, remove_header
from textcat.corpora.document import Document, require_choice
from textcat.corpora.document_tree import DocumentTree


class IndustrySector:
    """One document for each page; its class is the path of its folder."""

    name = "industry-sector"

    def __init__(self, folder: Path, *, split: str = "all") -> None:
        require_choice("split", split, ("all",))
        self.tree = DocumentTree(folder)

    @cached_property
    def pages(self) -> list[str]:
        """The path of each page, sorted."""
        return [name for name in self.tree.names if "/" in name]

    def documents(self) -> Iterator[Document]:
        """Yield the pages without MIME header and markup, with fields title and body."""
        for name, text in zip(self.pages, self.tree.texts(self.pages), strict=True):
            page = remove_header(text)
            fields = {"title": extract_title(page), "body": extract_text(page)}
            yield Document(name, fields, (name.rpartition("/")[0],), "train")

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The folders of pages, in alphabetical order."""
        return tuple(sorted({name.rpartition("/")[0] for name in self.pages}))

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of all pages."""
        return self.tree.fingerprint()


def count_industry_sector(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = IndustrySector(folder)
    return {"documents": len(corpus.pages), "categories": len(corpus.categories)}
