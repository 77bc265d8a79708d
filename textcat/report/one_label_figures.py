"""Figures for one label per document: worst classes, reliability of probabilities, risk against coverage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from textcat.report.class_tables import ClassTables
from textcat.report.escaping import escape_figure_label
from textcat.report.figures import choose_line_style, make_axes, plot_largest_categories

FigureEntry = tuple[str, str, Any]


def draw_one_label_figures(results: Mapping[str, Any], tables: ClassTables) -> list[FigureEntry]:
    """Return name, caption and figure of the classes with the lowest F1 and of the reliability of probabilities."""
    runs = {run["title"] or name: run for name, run in results["runs"].items()}
    measures = {title: run["measures"] for title, run in runs.items()}
    worst = [row.name for row in tables.rows]
    return [
        (
            "worst_classes",
            f"F1 of the classes with the lowest F1 of {tables.run}",
            plot_largest_categories(measures, worst),
        ),
        (
            "reliability",
            "Reliability: of the documents with a best probability near p, the share p should be right (diagonal)",
            plot_reliability(
                {title: run["reliability"] for title, run in runs.items() if "reliability" in run}
            ),
        ),
        (
            "risk_coverage",
            "Risk and coverage: if only documents with a best probability above a threshold get a class, the share "
            "of wrong ones among them against the share that gets one; the mark is the run's own threshold",
            plot_risk_coverage({title: run for title, run in runs.items() if "risk_coverage" in run}),
        ),
    ]


def plot_reliability(runs: Mapping[str, Any]) -> Figure | None:
    """Plot the share of right answers against the mean best probability of each bin, a line per run."""
    if not runs:
        return None
    with make_axes(width=5.6) as (figure, axes):
        axes.plot([0, 1], [0, 1], color="#8A8A8A", linewidth=0.8)
        for position, (title, bins) in enumerate(runs.items()):
            axes.plot(
                [entry[0] for entry in bins],
                [entry[1] for entry in bins],
                label=escape_figure_label(title),
                marker="o",
                markersize=3.5,
                **choose_line_style(position),
            )
        axes.set(xlabel="mean best probability", ylabel="share right", xlim=(0, 1), ylim=(0, 1))
        axes.legend(fontsize=9)
        return figure


def plot_risk_coverage(runs: Mapping[str, Any]) -> Figure | None:
    """Plot the share wrong of the answered documents against the share answered, a line per run."""
    if not runs:
        return None
    with make_axes(width=5.6) as (figure, axes):
        for position, (title, run) in enumerate(runs.items()):
            points = run["risk_coverage"]
            style = choose_line_style(position)
            axes.plot(
                [100 * coverage for coverage, _ in points],
                [100 * risk for _, risk in points],
                label=escape_figure_label(title),
                **style,
            )
            answered, right = (
                run["measures"].get(f"reject.{name}") for name in ("answered", "right_of_answered")
            )
            if answered is not None and right is not None:
                axes.plot([answered], [100 - right], marker="o", color=style["color"])
        axes.set(xlabel="documents that get a class (%)", ylabel="wrong of these (%)", xlim=(0, 100))
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=9)
        return figure
