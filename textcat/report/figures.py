"""Plots of measured numbers; the same numbers give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from warnings import catch_warnings, filterwarnings

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from textcat.report.category_tables import ClassTables
from textcat.report.escaping import escape_figure_label
from textcat.store.files import open_atomically

# Okabe and Ito's colours, distinct for every kind of colour vision; line styles distinguish them in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A8A")
# More marks or lines than this cannot be distinguished.
MAX_RUNS = 12
MAX_CATEGORIES = 12
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)))

STYLE: Any = {
    "svg.hashsalt": "textcat",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e6e9",
    "legend.frameon": False,
}

_TAG = re.compile(rb"<[^>]+>")
# Numbers of at least 1: factors of scales, which are smaller, keep all digits.
_DECIMALS = re.compile(rb"\b([1-9][0-9]*\.[0-9]{2})[0-9]+")


@contextmanager
def make_axes(
    width: float = 7.0, height: float = 4.2, rows: int = 1, columns: int = 1, **options: Any
) -> Iterator[tuple[Figure, Any]]:
    """Yield a figure in the common style with its axes: one pair, or an array of panels (see `Figure.subplots`)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, **options)


def set_log_axis(axes: Any) -> None:
    """Make the horizontal axis logarithmic, with plain tick labels (formulas are not parsed)."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def choose_line_style(position: int) -> dict[str, Any]:
    """Return colour and dashes of the line at a position."""
    return {"color": COLOURS[position % len(COLOURS)], "linestyle": DASHES[position % len(DASHES)]}


def save_figure(figure: Figure, folder: Path, name: str) -> Path:
    """Write the figure atomically as SVG and PNG, and return the path of the SVG."""
    with mpl.rc_context(STYLE), catch_warnings():
        # The viewer of an SVG has fonts of its own.
        filterwarnings("ignore", message="Glyph .* missing")
        filterwarnings("error", message="constrained_layout not applied")
        while not (drawn := _draw(figure)):
            figure.set_figwidth(figure.get_figwidth() + 4.0)
    for ending, content in drawn.items():
        with open_atomically(folder / f"{name}.{ending}") as stream:
            stream.write(content)
    return folder / f"{name}.svg"


def _draw(figure: Figure) -> dict[str, bytes]:
    """Return the figure as SVG and PNG; nothing if its labels leave no room for the axes."""
    svg, png = BytesIO(), BytesIO()
    try:
        figure.savefig(svg, format="svg", metadata={"Date": None})
        figure.savefig(png, format="png", dpi=110, metadata={"Software": None})
    except UserWarning:
        return {}
    return {"svg": shorten_coordinates(svg.getvalue()), "png": png.getvalue()}


def shorten_coordinates(svg: bytes) -> bytes:
    """Cut coordinates in tags after two decimals; text between tags stays as it is."""
    return _TAG.sub(lambda tag: _DECIMALS.sub(rb"\1", tag[0]), svg)


def draw_run(axes: Any, position: int, title: str, across: Sequence[Any], upwards: Sequence[Any]) -> None:
    """Draw the points of one run with the line style of its position."""
    axes.plot(
        across,
        upwards,
        label=escape_figure_label(title),
        marker="o",
        markersize=3.5,
        **choose_line_style(position),
    )


def plot_macro_f1_by_classes(runs: Mapping[str, Mapping[str, float | None]], classes: int) -> Figure | None:
    """Plot macro F1 over the n largest classes, one line per run; None without such measures."""
    with make_axes() as (figure, axes):
        drawn = False
        for position, (title, measures) in enumerate(runs.items()):
            points = list(_list_macro_points(measures, classes))
            if len(points) > 1:
                draw_run(axes, position, title, *zip(*points, strict=True))
                drawn = True
        if not drawn:
            return None
        axes.set(xlabel="number of largest classes", ylabel="macro F1 (%)")
        axes.legend(ncols=2, fontsize=9)
        return figure


def _list_macro_points(measures: Mapping[str, float | None], classes: int) -> Iterator[tuple[int, float]]:
    prefix = "macro.f1.top"
    ends = [name.removeprefix(prefix) for name in measures if name.startswith(prefix)]
    values = {
        size: measures[f"{prefix}{size}"] for size in sorted(int(end) for end in ends if end.isdecimal())
    }
    yield from ((size, value) for size, value in values.items() if value is not None and size < classes)
    if (overall := measures.get("macro.f1")) is not None:
        yield classes, overall


def plot_largest_categories(
    runs: Mapping[str, Mapping[str, float | None]], categories: Sequence[str]
) -> Figure:
    """Plot F1 of the largest categories, one mark per run."""
    shown = list(categories[:MAX_CATEGORIES])
    apart = min(0.1, 0.7 / max(len(runs), 1))
    with make_axes(height=0.34 * len(shown) + 1.4) as (figure, axes):
        for position, (title, measures) in enumerate(runs.items()):
            values = [measures.get(f"category.{name}.f1") for name in shown]
            heights = [row + (position - (len(runs) - 1) / 2) * apart for row in range(len(shown))]
            axes.plot(
                [float("nan") if v is None else v for v in values],
                heights,
                linestyle="none",
                marker="osD^vPX"[position % 7],
                markersize=5,
                color=COLOURS[position % len(COLOURS)],
                label=escape_figure_label(title),
            )
        axes.set_yticks(range(len(shown)), [escape_figure_label(name) for name in shown])
        axes.invert_yaxis()
        axes.set(xlabel="F1 (%)")
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return figure


FigureEntry = tuple[str, str, Any]
"""Name, caption and figure (or None) of a picture."""


def draw_one_label_figures(results: Mapping[str, Any], tables: ClassTables) -> list[FigureEntry]:
    """Return the figures of the classes with the lowest F1 and of the reliability of probabilities."""
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
            draw_run(axes, position, title, [entry[0] for entry in bins], [entry[1] for entry in bins])
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
