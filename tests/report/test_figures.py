"""Figures: plain labels, ordered lines, marks in their rows, and valid SVG."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.conftest import PROJECT
from tests.experiment.own_table import results_of
from tests.loops import for_each
from textcat.experiment.run.results_file import read_results
from textcat.report.figures import plot_largest_categories, save_figure
from textcat.report.paper_figures import (
    plot_misclassification_measure,
)
from textcat.report.writer import draw_figures


def run(**measures: float) -> dict[str, Any]:
    return {"title": "", "measures": measures}


def test_densities_have_area_one_for_any_bins() -> None:
    series = {
        "scores.edges": [-1.0, -0.5, 0.0, 0.5, 1.0],
        "scores.positive": [0, 0, 1, 3],
        "scores.negative": [2, 2, 0, 0],
    }
    wide = {**series, "scores.edges": [-4.0, -2.0, 0.0, 2.0, 4.0]}
    results = {"runs": {"before": {"title": "b", "series": series}, "after": {"title": "a", "series": wide}}}
    lines = plot_misclassification_measure(results).axes[0].lines[:4]
    for line, width in zip(lines, (0.5, 0.5, 2.0, 2.0), strict=True):
        assert np.sum(line.get_ydata()) * width == pytest.approx(1.0)
    d, density = lines[0].get_data()
    assert (np.asarray(d)[np.asarray(density) > 0] < 0).all()


@for_each("runs", [1, 7, 12])
def test_marks_of_a_category_stay_in_its_row(runs: int) -> None:
    measures = {f"run {k}": {"category.a.f1": 90.0, "category.b.f1": 80.0} for k in range(runs)}
    for line in plot_largest_categories(measures, ["a", "b"]).axes[0].lines:
        assert np.abs(np.asarray(line.get_ydata(), dtype=float) - [0, 1]).max() < 0.5


def test_too_many_runs_are_not_drawn_and_old_figures_are_deleted(tmp_path: Path) -> None:
    results = results_of(tmp_path, {"runs": {f"run_{k}": {"learner": "naive_bayes"} for k in range(13)}})
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.png").write_bytes(b"")
    assert draw_figures(tmp_path / "figures", results) == []
    assert not list((tmp_path / "figures").iterdir())


def test_any_title_gives_valid_svg_with_its_legend(tmp_path: Path) -> None:
    titles = ["_hidden", "control\x00\x1b\ufffe", '<b>&"', "$x^2$"]
    measures = {title: {"category.a\x01.f1": 90.0} for title in titles}
    path = save_figure(plot_largest_categories(measures, ["a\x01"]), tmp_path, "largest")
    texts = [element.text for element in ElementTree.parse(path).iter() if element.tag.endswith("}text")]
    assert {" _hidden", "control", '<b>&"', "$x^2$", "a"} <= {text and text.rstrip() for text in texts}


@pytest.mark.parametrize("label", ["category name " * 8, "W" * 110, "\N{CJK UNIFIED IDEOGRAPH-6F22}" * 110])
def test_long_labels_leave_room_for_the_axes(tmp_path: Path, label: str) -> None:
    names = [f"{number} {label}" for number in range(12)]
    measured = {f"category.{name}.f1": 50.0 for name in names}
    figure = plot_largest_categories({f"{side} {label}": measured for side in ("one", "other")}, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(figure, tmp_path, "largest")
    # Each output has a layout of its own.
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_window_extent().width > 0
    drawn = axes.get_tightbbox()
    assert drawn.x0 >= 0
    assert drawn.x1 <= figure.bbox.width
    # Labels of equal beginning stay different.
    assert len({each.get_text() for each in axes.get_legend().get_texts()}) == 2


DRAWN = sorted(
    path.parent for path in (PROJECT / "results").rglob("figures") if list(path.glob("*_figure*.svg"))
)


@pytest.mark.parametrize("folder", DRAWN, ids=[str(each.relative_to(PROJECT / "results")) for each in DRAWN])
def test_figures_of_papers_are_drawn_as_committed(folder: Path, tmp_path: Path) -> None:
    """Their texts have the ticks, so they tell of the numbers too."""
    draw_figures(tmp_path, read_results(folder / "results.json"))
    for path in (folder / "figures").glob("*_figure*.svg"):
        own, committed = (
            sorted(str(part.text) for part in ElementTree.parse(each).iter() if part.tag.endswith("}text"))
            for each in (tmp_path / path.name, path)
        )
        assert own == committed != []
