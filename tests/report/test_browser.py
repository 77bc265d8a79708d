"""Pages in a real browser: no column is cut on a phone or on a screen, and they follow the colour scheme."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.browser import dom
from tests.report.test_diagnostics import RUNS, diagnose_experiment
from textcat.experiment.run.results_file import read_results
from textcat.report.comparison_tables import compare_tables
from textcat.report.experiment_page import render_experiment_page
from textcat.report.matrix import write_matrix
from textcat.report.multiverse_page import read_summary, render_multiverse_page
from textcat.report.reading_headlines import read_ranges
from textcat.report.writer import write_report

RESULTS = Path(__file__).resolve().parents[2] / "results"
POLICY = '<meta http-equiv="Content-Security-Policy"'
# Windows are at least 500 pixels wide, frames are not. The frame's page reports its size through the title.
HOST = """<title>none</title><iframe src="page.html" style="width:{width}px;height:900px;border:0"></iframe>
<script>addEventListener('message', event => {{ document.title = event.data }})</script>"""
PROBE = """<script>addEventListener('load', () => { const page = document.documentElement;
const paper = getComputedStyle(document.body).backgroundColor;
document.querySelectorAll('details').forEach(each => { each.open = true });
const wide = [...document.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth);
parent.postMessage([page.scrollWidth, page.clientWidth, paper, wide.length].join(';'), '*') })</script>"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An experiment with long names, the matrix, an experiment of a paper, and the readings of a paper."""
    folder = tmp_path_factory.mktemp("pages")
    long = {f"run{k}": {**RUNS["bayes"], "title": f"A rather long title of a run {k} " * 3} for k in range(6)}
    _, _, results, diagnostics = diagnose_experiment(
        folder, {"runs": long, "title": "supercalifragilistic" * 4}
    )
    write_report(folder / "report", results, compare_tables(results), {"train": 1.0}, diagnostics)
    paper = read_results(RESULTS / "reuters_modapte")
    write_matrix(folder, {"reuters_modapte": paper})
    tables = compare_tables(paper)
    (folder / "paper.html").write_text(
        render_experiment_page(paper, tables, [], {}, ranges=read_ranges(RESULTS, ["zhang_oles_2001"]))
    )
    readings = read_summary(RESULTS / "zhang_oles_2001")
    assert readings is not None
    (folder / "readings.html").write_text(render_multiverse_page(readings))
    return {
        "experiment": folder / "report" / "report.html",
        "matrix": folder / "reproduction.html",
        "paper": folder / "paper.html",
        "readings": folder / "readings.html",
    }


def measure_page(page: Path, width: int, dark: bool, scratch: Path) -> tuple[int, int, str, int]:
    """Return the width that a page needs and has, its background, and how many tables have columns out of sight."""
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
    title = re.search(r"<title>(\d+);(\d+);(.*?);(\d+)</title>", shown)
    assert title, "the page did not report its size"
    return int(title[1]), int(title[2]), title[3], int(title[4])


@pytest.mark.parametrize("kind", ["experiment", "matrix", "paper", "readings"])
@pytest.mark.parametrize("width", [390, 1200])
def test_every_column_is_seen(kind: str, width: int, pages: dict[str, Path], tmp_path: Path) -> None:
    needed, given, _, cut = measure_page(pages[kind], width, False, tmp_path)
    assert (given, cut) == (width, 0)
    assert needed <= given


def test_the_background_follows_the_colour_scheme(pages: dict[str, Path], tmp_path: Path) -> None:
    colours = [measure_page(pages["experiment"], 1280, dark, tmp_path)[2] for dark in (False, True)]
    light, dark = ([int(part) for part in re.findall(r"\d+", colour)[:3]] for colour in colours)
    assert min(light) > 240
    assert max(dark) < 40
