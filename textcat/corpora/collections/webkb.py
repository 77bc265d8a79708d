"""WebKB, the CMU 4 Universities pages: seven classes, five sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from textcat.corpora.collections.web_pages import extract_text, extract_title, remove_header
from textcat.corpora.document import Document
from textcat.corpora.document_tree import DocumentTree
from textcat.errors import UsageError

CLASSES = ("course", "department", "faculty", "other", "project", "staff", "student")
SITES = ("cornell", "misc", "texas", "washington", "wisconsin")
MARKUP = ("dropped", "kept", "html-only", "header-only")
FOUR_UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
# Univ-6 (zhang_jin_2003): the four universities' pages in six classes; `department` has but four pages there.
UNIV_6 = ("course", "faculty", "other", "project", "staff", "student")
SUBSETS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "all": (CLASSES, SITES),
    "4-universities": (CLASSES, FOUR_UNIVERSITIES),
    "univ-6": (UNIV_6, FOUR_UNIVERSITIES),
}


class WebKB:
    """One document a page, labelled with its class; there is no fixed split: all are training documents.

    With `markup="kept"` the body is the file as it came, MIME header and HTML included; `html-only` drops the header,
    `header-only` the HTML tags. `subset` is `all`,
    `4-universities` or `univ-6`; `classes` and `sites` choose otherwise.
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
        if split != "all":
            raise UsageError(f"WebKB has no split {split!r}", hint="It is split at random by seed.")
        if subset not in SUBSETS:
            raise UsageError(f"WebKB has no subset {subset!r}", hint=f"Choose of {', '.join(SUBSETS)}.")
        if markup not in MARKUP:
            raise UsageError(f"markup cannot be {markup!r}", hint=f"Choose of {', '.join(MARKUP)}.")
        self.markup = markup
        self.tree = DocumentTree(folder)
        self.classes = tuple(SUBSETS[subset][0] if classes is None else classes)
        self.sites = tuple(SUBSETS[subset][1] if sites is None else sites)
        for chosen, known in ((self.classes, CLASSES), (self.sites, SITES)):
            if unknown := sorted(set(chosen) - set(known)):
                raise UsageError(f"WebKB has no {unknown[0]!r}", hint=f"Choose of {', '.join(known)}.")

    @cached_property
    def pages(self) -> list[str]:
        """CLASS/SITE/ADDRESS of each chosen page, in path order."""
        return [name for name in self.tree.names if name.count("/") == 2 and self._is_chosen(name)]

    def _is_chosen(self, name: str) -> bool:
        label, site, _ = name.split("/")
        return label in self.classes and site in self.sites

    def documents(self) -> Iterator[Document]:
        """The pages as text, without MIME header and markup; the title is a field of its own."""
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
        """The sha256 over the names and contents of all pages, chosen or not."""
        return self.tree.fingerprint()


def count_webkb(folder: Path) -> dict[str, int]:
    """The counts that the collection's table pins."""
    pages = WebKB(folder).pages
    found = Counter(part for name in pages for part in name.split("/")[:2])
    return {"documents": len(pages)} | {name: found[name] for name in (*CLASSES, *SITES)}
