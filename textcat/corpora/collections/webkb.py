"""WebKB: web pages of computer science departments in seven classes, from five sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from textcat.corpora.collections.web_pages import extract_text, extract_title, remove_header
from textcat.corpora.document import Document, require_choice
from textcat.corpora.document_tree import DocumentTree

CLASSES = ("course", "department", "faculty", "other", "project", "staff", "student")
SITES = ("cornell", "misc", "texas", "washington", "wisconsin")
MARKUP = ("dropped", "kept", "html-only", "header-only")
FOUR_UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
# Univ-6 (zhang_jin_2003): the four universities' pages in six classes; `department` has only four pages there.
UNIV_6 = ("course", "faculty", "other", "project", "staff", "student")
SUBSETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "all": (CLASSES, SITES),
    "4-universities": (CLASSES, FOUR_UNIVERSITIES),
    "univ-6": (UNIV_6, FOUR_UNIVERSITIES),
}


class WebKB:
    """One document for each page, labelled with its class; all are training documents.

    markup: with "kept" the body is the whole file, with MIME header and HTML; `html-only` drops the header,
        `header-only` the HTML tags.
    subset: all, 4-universities or univ-6; `classes` and `sites` override those of the subset.
    """

    name = "webkb"

    def __init__(
        self,
        folder: Path,
        *,
        split: str = "all",
        subset: str = "all",
        markup: str = "dropped",
        classes: Sequence[str] | None = None,
        sites: Sequence[str] | None = None,
    ) -> None:
        require_choice("split", split, ("all",))
        require_choice("subset", subset, SUBSETS)
        require_choice("markup", markup, MARKUP)
        self.markup = markup
        self.tree = DocumentTree(folder)
        self.classes = tuple(SUBSETS[subset][0] if classes is None else classes)
        self.sites = tuple(SUBSETS[subset][1] if sites is None else sites)
        for name in self.classes:
            require_choice("classes", name, CLASSES)
        for name in self.sites:
            require_choice("sites", name, SITES)

    @cached_property
    def pages(self) -> list[str]:
        """CLASS/SITE/ADDRESS of each chosen page, sorted."""
        return [name for name in self.tree.names if name.count("/") == 2 and self._is_chosen(name)]

    def _is_chosen(self, name: str) -> bool:
        label, site, _ = name.split("/")
        return label in self.classes and site in self.sites

    def documents(self) -> Iterator[Document]:
        """Yield the pages, with fields title and body."""
        for name, text in zip(self.pages, self.tree.texts(self.pages), strict=True):
            page = remove_header(text)
            fields = {
                "title": extract_title(page),
                "body": self._read_body(text, page),
            }
            yield Document(name, fields, (name.split("/")[0],), "train")

    def _read_body(self, text: str, page: str) -> str:
        """The body of a page, given the whole file and the file without its MIME header."""
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

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of all pages, chosen or not."""
        return self.tree.fingerprint()


def count_webkb(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    pages = WebKB(folder).pages
    found = Counter(part for name in pages for part in name.split("/")[:2])
    return {"documents": len(pages)} | {name: found[name] for name in (*CLASSES, *SITES)}
