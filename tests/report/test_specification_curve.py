"""Specification curves draw the values of the summary, and the same summary gives the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from textcat.report.figures import save_figure
from textcat.report.specification_curve import (
    DEFAULT_COLOUR,
    NEAREST_COLOUR,
    list_option_rows,
    list_tables,
    make_curve,
    plot_specification_curve,
)


def make_summary() -> dict[str, Any]:
    options = [
        {"stem": stem, "stop": stop, "fixed": "x"}
        for stem in ("none", "porter")
        for stop in ("none", "smart")
    ]
    values = [[80.0, 60.0, 7.0], [82.0, 61.0, 7.0], [79.0, 64.0, None], [85.0, 62.0, 7.0]]
    cells = [("t", "81.0", "percent"), ("t", "0.62", "fraction"), ("other", "12", "count")]
    return {
        "cells": {
            f"c{place}": {"table": table, "printed": printed, "unit": unit}
            for place, (table, printed, unit) in enumerate(cells)
        },
        "nearest": {"options": options[3]},
        "readings": [{"options": each, "values": row} for each, row in zip(options, values, strict=True)],
    }


def test_a_curve_holds_the_mean_of_the_cells_in_percent() -> None:
    summary = make_summary()
    assert list_tables(summary) == ["t", "other"]
    curve = make_curve(summary, "t")
    assert curve is not None
    assert curve.values.tolist() == [70.0, 71.5, 71.5, 73.5]
    assert curve.printed == pytest.approx(71.5)
    assert curve.nearest == 3
    assert make_curve(summary, "other") is None


def test_only_questions_that_vary_have_rows() -> None:
    readings = [each["options"] for each in make_summary()["readings"]]
    assert list_option_rows(readings) == [
        ("stem", "none"),
        ("stem", "porter"),
        ("stop", "none"),
        ("stop", "smart"),
    ]


def test_points_are_sorted_and_the_two_readings_marked() -> None:
    curve = make_curve(make_summary(), "t")
    assert curve is not None
    above, below = plot_specification_curve(curve).axes
    *lines, printed = above.lines
    drawn = np.concatenate([np.asarray(line.get_xydata()) for line in lines])
    assert drawn[np.argsort(drawn[:, 0]), 1].tolist() == sorted(curve.values.tolist())
    marked = {each.get_label(): np.asarray(each.get_offsets())[0].tolist() for each in above.collections}
    assert marked == {"default reading": [0.0, 70.0], "nearest reading (fitted to test results)": [3.0, 73.5]}
    assert printed.get_ydata()[0] == pytest.approx(71.5)
    taken: dict[float, list[float]] = {}
    for line in below.lines:
        x, y = np.asarray(line.get_xydata()).T
        assert np.isnan(y[2::3]).all()
        for place, height in zip(x[::3], (y[::3] + y[1::3]) / 2, strict=True):
            taken.setdefault(round(height), []).append(place)
    assert [sorted(taken[height]) for height in range(4)] == [[0.0, 1.0], [2.0, 3.0], [0.0, 2.0], [1.0, 3.0]]
    assert DEFAULT_COLOUR != NEAREST_COLOUR


def test_the_same_summary_gives_the_same_bytes(tmp_path: Path) -> None:
    drawn = []
    for name in ("one", "two"):
        curve = make_curve(make_summary(), "t")
        assert curve is not None
        drawn.append(save_figure(plot_specification_curve(curve), tmp_path / name, "curve").read_bytes())
    assert drawn[0] == drawn[1]
    assert b"nearest reading" in drawn[0]


def test_one_reading_is_drawn_without_a_matrix() -> None:
    summary = make_summary()
    summary["readings"] = summary["readings"][:1]
    summary["nearest"] = None
    curve = make_curve(summary, "t")
    assert curve is not None
    assert plot_specification_curve(curve).axes[1].collections[:] == []
