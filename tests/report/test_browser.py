"""Pages in a real browser: they fit a phone, and follow the colour scheme."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser import dom
from tests.report.test_diagnostics import RUNS, diagnose_experiment
from textcat.report.comparison_tables import compare_tables
from textcat.report.matrix import write_matrix
from textcat.report.writer import write_report

POLICY = '<meta http-equiv="Content-Security-Policy"'
# Windows are at least 500 pixels wide, frames are not. The frame's page reports its size through the title.
HOST = """<title>none</title><iframe src="page.html" style="width:{width}px;height:900px;border:0"></iframe>
<script>addEventListener('message', event => {{ document.title = event.data }})</script>"""
PROBE = """<script>addEventListener('load', () => { const page = document.documentElement;
const paper = getComputedStyle(document.body).backgroundColor;
parent.postMessage([page.scrollWidth, page.clientWidth, paper].join(';'), '*') })</script>"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An experiment with long names, and the matrix."""
    folder = tmp_path_factory.mktemp("pages")
    long = {f"run{k}": {**RUNS["bayes"], "title": f"A rather long title of a run {k} " * 3} for k in range(6)}
    _, _, results, diagnostics = diagnose_experiment(
        folder, {"runs": long, "title": "supercalifragilistic" * 4}
    )
    write_report(folder / "report", results, compare_tables(results), {"train": 1.0}, diagnostics)
    write_matrix(folder, {})
    return {"experiment": folder / "report" / "report.html", "matrix": folder / "reproduction.html"}


def measure_page(page: Path, width: int, dark: bool, scratch: Path) -> tuple[int, int, str]:
    text = page.read_text(encoding="utf-8")
    assert POLICY in text
    open_page = text.replace(POLICY, '<meta name="was-policy"').replace("</head>", f"{PROBE}</head>")
    (scratch / "page.html").write_text(open_page, encoding="utf-8")
    host = scratch / "host.html"
    host.write_text(HOST.format(width=width))
    theme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    shown = dom(
        host, scratch, "--window-size=1400,1000", "--virtual-time-budget=5000", "--hide-scrollbars", theme
    )
    title = re.search(r"<title>(\d+);(\d+);(.*?)</title>", shown)
    assert title
    return int(title[1]), int(title[2]), title[3]


@pytest.mark.parametrize("kind", ["experiment", "matrix"])
@pytest.mark.parametrize("width", [390, 1280])
def test_only_tables_scroll_horizontally(
    kind: str, width: int, pages: dict[str, Path], tmp_path: Path
) -> None:
    needed, given, _ = measure_page(pages[kind], width, False, tmp_path)
    assert given == width
    assert needed <= given


def test_the_background_follows_the_colour_scheme(pages: dict[str, Path], tmp_path: Path) -> None:
    colours = [measure_page(pages["experiment"], 1280, dark, tmp_path)[2] for dark in (False, True)]
    light, dark = ([int(part) for part in re.findall(r"\d+", colour)[:3]] for colour in colours)
    assert min(light) > 240
    assert max(dark) < 40
