"""Title and visible text of HTML pages.

Markup is removed by regular expressions because pages of 1997 close few elements and a parser in Python takes minutes.
A tag becomes a space, so a word with markup inside becomes two.
"""

from __future__ import annotations

import re
from html import unescape

_HEADER_LINE = re.compile(r"(?:HTTP/\d|[A-Za-z][A-Za-z0-9-]*:)")
_BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")
_OPENING = re.compile(r"<!--|<(?:(?P<script>script)|(?P<style>style)|(?P<title>title))\b", re.IGNORECASE)
_ENDS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style", "title")} | {
    "comment": re.compile("-->")
}
_TITLE_OPENING = re.compile(r"<title\b", re.IGNORECASE)
_TITLE_END = re.compile(r"</title|<body|<h1|\Z", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>?")
# Python refuses to parse such long numbers; they are no characters.
_NO_CHARACTER = re.compile(r"&#[0-9]{4000,};?")


def remove_header(page: str) -> str:
    """Return the page without its MIME header, if it begins with one."""
    if not _HEADER_LINE.match(page):
        return page
    blank = _BLANK_LINE.search(page)
    return page[blank.end() :] if blank else ""


def extract_title(page: str) -> str:
    """Return the text of the page's title."""
    found = _TITLE_OPENING.search(page)
    start = page.find(">", found.end()) + 1 if found else 0
    end = _TITLE_END.search(page, start) if start else None
    return strip_markup(page[start : end.start()]) if end else ""


def extract_text(page: str) -> str:
    """Return the visible text of the page, without its title."""
    return strip_markup(_remove_invisible(page))


def _remove_invisible(page: str) -> str:
    """Replace comments, scripts, styles and titles by spaces; one that does not end is kept.

    A kind of end that was not found is not searched for again, so that the time is linear in the page.
    """
    kept: list[str] = []
    endless: set[str] = set()
    start = position = 0
    while found := _OPENING.search(page, position):
        kind, position = found.lastgroup or "comment", found.end()
        if kind in endless:
            continue
        inside = page.find(">", position) + 1 if kind == "title" else position
        end = _ENDS[kind].search(page, inside) if inside else None
        if end is None:
            endless.add(kind)
        else:
            kept.append(page[start : found.start()])
            start = position = end.end()
    return " ".join([*kept, page[start:]])


def strip_markup(markup: str) -> str:
    """Replace tags by spaces and decode character entities."""
    return unescape(_NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", _TAG.sub(" ", markup))).strip()
