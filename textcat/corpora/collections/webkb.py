"""Collections of saved web pages: WebKB (computer science departments) and Industry Sector (companies).

WebKB has seven classes from five sites; Industry Sector has a folder for each of 105 sectors and is read from the
user's own copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from textcat.corpora.collection_files import TreeCorpus
from textcat.corpora.document import Document
from textcat.corpora.markup import extract_text, extract_title, remove_header

CLASSES = ("course", "department", "faculty", "other", "project", "staff", "student")
SITES = ("cornell", "misc", "texas", "washington", "wisconsin")
FOUR_UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
# Univ-6 (zhang_jin_2003): the four universities' pages in six classes; `department` has only four pages there.
UNIV_6 = ("course", "faculty", "other", "project", "staff", "student")
SUBSETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "all": (CLASSES, SITES),
    "4-universities": (CLASSES, FOUR_UNIVERSITIES),
    "univ-6": (UNIV_6, FOUR_UNIVERSITIES),
}


class WebKB(TreeCorpus):
    """One document for each page, labelled with its class; all are training documents.

    `subset` is all, 4-universities or univ-6; `classes` and `sites` override those of the subset.
    """

    name = "webkb"

    def __init__(
        self,
        folder: Path,
        *,
        subset: str = "all",
        markup: str = "dropped",
        classes: Sequence[str] | None = None,
        sites: Sequence[str] | None = None,
    ) -> None:
        super().__init__(folder)
        self.markup = markup
        self.classes = tuple(SUBSETS[subset][0] if classes is None else classes)
        self.sites = tuple(SUBSETS[subset][1] if sites is None else sites)

    @cached_property
    def pages(self) -> list[str]:
        """CLASS/SITE/ADDRESS of each chosen page, sorted."""
        places = [name.split("/") for name in self.tree.names if name.count("/") == 2]
        return ["/".join(p) for p in places if p[0] in self.classes and p[1] in self.sites]

    def documents(self) -> Iterator[Document]:
        """Yield the pages, with fields title and body."""
        for name, text in zip(self.pages, self.tree.texts(self.pages), strict=True):
            page = remove_header(text)
            fields = {"title": extract_title(page), "body": self._read_body(text, page)}
            yield Document(name, fields, (name.split("/")[0],), "train")

    def _read_body(self, text: str, page: str) -> str:
        """Return the body of a page, given the whole file and the file without its MIME header."""
        if self.markup == "kept":
            return text
        if self.markup == "html-only":
            return page
        if self.markup == "header-only":
            return f"{text[: len(text) - len(page)]}\n{extract_text(page)}"
        return extract_text(page)

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The chosen classes, in alphabetical order."""
        return tuple(sorted({name.split("/")[0] for name in self.pages}))


def count_webkb(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    pages = WebKB(folder).pages
    found = Counter(part for name in pages for part in name.split("/")[:2])
    return {"documents": len(pages)} | {name: found[name] for name in (*CLASSES, *SITES)}


class IndustrySector(TreeCorpus):
    """One document for each page; its class is the path of its folder."""

    name = "industry-sector"

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


def count_industry_sector(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = IndustrySector(folder)
    return {"documents": len(corpus.pages), "categories": len(corpus.categories)}
