"""Precision-recall curves as lines of a drawing of 100 by 100, one a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# More lines than this nobody tells apart: the runs of the highest break-even points are drawn.
MOST_CURVES = 8


@dataclass(frozen=True)
class Line:
    """One run's curve; `points` is an SVG list with precision upwards."""

    title: str
    points: str


def lines_of(
    curves: Mapping[str, Sequence[tuple[float, float]]], runs: Mapping[str, Mapping[str, Any]]
) -> list[Line]:
    """The curves to be drawn, in the order of the runs."""
    drawn = [name for name, points in curves.items() if len(points) > 1]
    best = sorted(drawn, key=lambda name: -(runs[name]["measures"].get("micro.bep") or 0.0))[:MOST_CURVES]
    return [
        Line(runs[name]["title"] or name, _svg_points(curves[name])) for name in drawn if name in set(best)
    ]


def _svg_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{recall:g},{100 - precision:.4g}" for recall, precision in points)
