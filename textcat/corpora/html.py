"""From a saved web page to its words: the header that the crawler left, then markup, removed.

Regular expressions, not a parser: pages of 1997 close few elements, and a parser in Python takes minutes. A
tag becomes a space, so a word with markup inside it becomes two.
"""

from __future__ import annotations

import re
from html import unescape

_HEADER_LINE = re.compile(r"(?:HTTP/\d|[A-Za-z][A-Za-z0-9-]*:)")
_BLANK_LINE = re.compile(r"\r?\n[ \t]*\r?\n")
_TITLE = re.compile(r"<title\b[^>]*>(.*?)(?:</title|<body|<h1|\Z)", re.IGNORECASE | re.DOTALL)
_UNSEEN = re.compile(
    r"<!--.*?-->|<(script|style)\b.*?</\1\s*>|<title\b[^>]*>.*?</title\s*>", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>?")


def without_header(page: str) -> str:
    """The page after its MIME header; a page that does not start with one is left as it is."""
    if not _HEADER_LINE.match(page):
        return page
    blank = _BLANK_LINE.search(page)
    return page[blank.end() :] if blank else ""


def title_of(page: str) -> str:
    """The text of the page's title."""
    found = _TITLE.search(page)
    return visible(found[1]) if found else ""


def text_of(page: str) -> str:
    """What a reader sees of the page, without its title."""
    return visible(_UNSEEN.sub(" ", page))


def visible(markup: str) -> str:
    """Tags replaced by spaces, character entities decoded."""
    return unescape(_TAG.sub(" ", markup)).strip()
