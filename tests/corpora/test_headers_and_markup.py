"""Which lines of a message and which parts of a page are read."""

from __future__ import annotations

from pathlib import Path

from tests.loops import for_each
from textcat.corpora.collections.newsgroups20 import Newsgroups
from textcat.corpora.collections.webkb import WebKB

HEADER = (
    "Xref: cantaloupe sci.space:1\nPath: cantaloupe!net\nFrom: someone\nNewsgroups: sci.space,\n sci.astro\n"
    "Subject: Re: Moon\n about the path"
)
PAGE = "Date: today\nServer: NCSA\n\n<html><title>My course</title><b>Homework</b></html>"


def test_headers_without_groups_are_a_field(tmp_path: Path) -> None:
    (tmp_path / "sci.space").mkdir()
    (tmp_path / "sci.space" / "1").write_text(f"{HEADER}\n\nThe path to the moon.\n")
    message = next(iter(Newsgroups(tmp_path, headers="without-groups").documents()))
    assert "sci" not in message.fields["headers"]
    assert "Moon" in message.fields["headers"]
    assert message.fields["body"] == "The path to the moon.\n"


@for_each(
    ("markup", "has", "has_not"),
    [
        ("dropped", ["Homework"], ["NCSA", "html"]),
        ("kept", ["Homework", "NCSA", "html"], []),
        ("html-only", ["Homework", "html"], ["NCSA"]),
        ("header-only", ["Homework", "NCSA"], ["html"]),
    ],
)
def test_header_and_tags_are_kept_or_dropped_apart(
    tmp_path: Path, markup: str, has: list[str], has_not: list[str]
) -> None:
    folder = tmp_path / "course" / "cornell"
    folder.mkdir(parents=True)
    (folder / "page").write_text(PAGE)
    page = next(iter(WebKB(tmp_path, markup=markup).documents()))
    assert page.fields["title"] == "My course"
    assert all(word in page.fields["body"] for word in has)
    assert not any(word in page.fields["body"] for word in has_not)
