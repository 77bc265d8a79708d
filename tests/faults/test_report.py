"""The report shows hostile names as text, to a parser and to a browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.browser import dom
from tests.faults.workplace import Place
from textcat.report.diagnostics import DecidingWord, Diagnostics, Mistake, RunMistakes
from textcat.report.writer import write_report

SIGN = "document.title='broken'"
HOSTILE = [
    f"<script>{SIGN}</script>",
    f"</td></table><script>{SIGN}</script>",
    f'<img src=x onerror="{SIGN}">',
    f'" onmouseover="{SIGN}" x="',
    f"' autofocus onfocus='{SIGN}'",
    f"</pre></title></style><svg onload={SIGN}>",
    f"{{{{ 7*7 }}}}{{% raw %}}<iframe srcdoc='<script>{SIGN}</script>'>",
    f"javascript:{SIGN}",
    "$\\frac{$ $x^2$",
    "&lt;b&gt; &amp; <b>",
    "<!-- --> ]]> <![CDATA[",
    "\u202etxt.exe \ufeff",
    "_no legend_",
    "control\x00\x1b\x0b characters",
]
ALLOWED = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "p",
    "h1",
    "h2",
    "h3",
    "main",
    "section",
}
ALLOWED |= {"div", "table", "thead", "tbody", "tr", "th", "td", "small", "code", "pre", "figure", "img"}
ALLOWED |= {"figcaption", "details", "summary", "footer", "span", "br"}
ALLOWED |= {"b", "blockquote", "svg", "g", "line", "polyline", "text"}
ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "class", "title", "alt", "src", "id"}
ATTRIBUTES |= {"viewbox", "role", "aria-label", "x1", "x2", "y1", "y2", "x", "y", "points", "text-anchor"}
ATTRIBUTES |= {"transform", "style", "data-head"}


class Seen(HTMLParser):
    """Elements, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def page(finished: Place, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in which every name from outside is hostile."""
    results: dict[str, Any] = json.loads(finished.result_bytes())
    results["corpus"]["train_counts"] = {name: 90 - place for place, name in enumerate(HOSTILE)}
    results["corpus"]["name"] = results["title"] = results["experiment"] = HOSTILE[0]
    results["settings"]["notes"] = HOSTILE
    renamed = {}
    for position, (name, run) in enumerate(results["runs"].items()):
        measures = run["measures"] | {f"category.{each}.f1": 50.0 for each in HOSTILE}
        hostile = HOSTILE[position]
        renamed[f"{name}{hostile}"] = {**run, "title": hostile, "measures": measures, "signature": hostile}
    folder = tmp_path_factory.mktemp("report")
    write_report(
        folder, {**results, "runs": renamed}, [], {HOSTILE[1]: 1.0}, make_hostile_diagnostics(list(renamed))
    )
    return folder / "report.html"


def make_hostile_diagnostics(runs: list[str]) -> Diagnostics:
    """Documents, categories, labels, words and excerpts that are all hostile."""
    found = [
        Mistake(
            each,
            each,
            each,
            tuple(HOSTILE),
            1.5,
            (DecidingWord(each, 0.5), DecidingWord(each, -0.5)),
            2,
            each,
        )
        for each in HOSTILE
    ]
    curves = {run: [(0.0, 100.0), (50.0, 80.0), (100.0, 10.0)] for run in runs}
    return Diagnostics(curves, RunMistakes(HOSTILE[0], 3, {HOSTILE[1]: found}), quoted=True)


def test_a_parser_sees_hostile_names_as_text(page: Path) -> None:
    seen = Seen()
    seen.feed(page.read_text(encoding="utf-8"))
    assert seen.elements <= ALLOWED
    assert {name for name, _ in seen.attributes} <= ATTRIBUTES
    styles = [value or "" for name, value in seen.attributes if name == "style"]
    assert all(re.fullmatch(r"--f:\d+\.\d", style) for style in styles)
    sources = [value or "" for name, value in seen.attributes if name == "src"]
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    for name in HOSTILE:
        assert any(name in text for text in seen.text), name


def test_figures_hold_names_as_text(page: Path) -> None:
    from xml.etree import ElementTree

    drawn = sorted(page.parent.glob("figures/*.svg"))
    assert drawn
    for path in drawn:
        for element in ElementTree.parse(path).iter():
            assert element.tag.rpartition("}")[2] not in {"script", "foreignObject", "iframe", "a"}
            assert not [name for name in element.attrib if name.lower().startswith("on")]


def test_a_browser_runs_nothing(page: Path, tmp_path: Path) -> None:
    # Without the page's own policy, escaping alone has to hold.
    bare = tmp_path / "bare.html"
    text = page.read_text(encoding="utf-8")
    policy = '<meta http-equiv="Content-Security-Policy"'
    assert policy in text
    bare.write_text(text.replace(policy, '<meta name="was-policy"'), encoding="utf-8")
    trap = tmp_path / "trap.html"
    trap.write_text(f"<title>x</title><script>{SIGN}</script>")
    assert "<title>broken</title>" in dom(trap, tmp_path)
    for each in (page, bare):
        shown = dom(each, tmp_path)
        assert "<title>broken</title>" not in shown
        seen = Seen()
        seen.feed(shown)
        assert seen.elements <= ALLOWED
