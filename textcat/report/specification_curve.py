"""Plots of readings: specification curves of an experiment, and strips of ranges on the page of the matrix.

A specification curve shows the mean of a table's cells under every reading, sorted, over a matrix of options.
A strip shows the cells of a table side by side. Each cell is a column. The height is the difference from the printed
number in points; the line at 0 is print, the shaded band the tolerance, the bar goes from the lowest to the highest
reading, and the dot is our number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from textcat.published.check import CellVerdict
from textcat.published.verdicts import find_measure_kind, read_printed
from textcat.report.figures import COLOURS, make_axes

Floats = NDArray[np.float64]
DEFAULT_COLOUR, NEAREST_COLOUR, OTHER_COLOUR, PRINTED_COLOUR = COLOURS[0], COLOURS[1], COLOURS[7], COLOURS[6]


@dataclass(frozen=True)
class Curve:
    """The curve of one table: a value for each reading, and the printed value."""

    table: str
    values: Floats
    printed: float | None
    readings: Sequence[Mapping[str, str]]
    nearest: int | None


def list_tables(experiment: Mapping[str, Any]) -> list[str]:
    """Return the tables of an experiment's summary, in order."""
    return list(dict.fromkeys(cell["table"] for cell in experiment["cells"].values()))


def make_curve(experiment: Mapping[str, Any], table: str) -> Curve | None:
    """Return the means of the table's cells in percent that every reading has; None without such cells."""
    readings = experiment["readings"]
    columns = [
        (place, cell)
        for place, cell in enumerate(experiment["cells"].values())
        if cell["table"] == table
        and cell["unit"] in ("percent", "fraction")
        and all(reading["values"][place] is not None for reading in readings)
    ]
    if not columns:
        return None
    values = np.array([[reading["values"][place] for place, _ in columns] for reading in readings])
    printed = [read_printed(cell["printed"], cell["unit"]).value for _, cell in columns if cell["printed"]]
    nearest = experiment["nearest"] and experiment["nearest"]["options"]
    options = [reading["options"] for reading in readings]
    return Curve(
        table,
        values.mean(axis=1),
        sum(printed) / len(printed) if len(printed) == len(columns) else None,
        options,
        options.index(nearest) if nearest in options else None,
    )


def plot_specification_curve(curve: Curve) -> Figure:
    """Draw the sorted values with the printed one as a line, and below them the options of each reading."""
    order = np.argsort(curve.values, kind="stable")
    rows = list_option_rows(curve.readings)
    colours = [OTHER_COLOUR] * len(order)
    colours[int(np.flatnonzero(order == 0)[0])] = DEFAULT_COLOUR
    if curve.nearest not in (None, 0):
        colours[int(np.flatnonzero(order == curve.nearest)[0])] = NEAREST_COLOUR
    matrix_height = 0.19 * max(len(rows), 1) + 0.3
    heights = [3.0, matrix_height]
    with make_axes(9.0, sum(heights), 2, sharex=True, height_ratios=heights) as (figure, (above, below)):
        _draw_values(above, curve, order, colours)
        _draw_matrix(below, curve, order, rows, colours)
    return figure


def list_option_rows(readings: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """Return (question, option) for the options of questions that vary; the default's option comes first."""
    taken = {name: dict.fromkeys(each[name] for each in readings) for name in readings[0]}
    return [(name, option) for name, options in taken.items() if len(options) > 1 for option in options]


def _draw_values(axes: Any, curve: Curve, order: NDArray[np.intp], colours: Sequence[str]) -> None:
    size = 26 if len(order) <= 60 else 12
    values = curve.values[order]
    for colour, chosen in _group_by_colour(colours):
        # One line of markers takes half the bytes of single points.
        axes.plot(
            chosen, values[chosen], color=colour, linestyle="none", marker="o", markersize=np.sqrt(size),
            markeredgewidth=0, zorder=3,
        )  # fmt: skip
    if curve.printed is not None:
        axes.axhline(curve.printed, color=PRINTED_COLOUR, linewidth=1.2)
        axes.annotate(
            f"printed {curve.printed:.1f}", (1.0, curve.printed), xycoords=("axes fraction", "data"),
            xytext=(-4, 3), textcoords="offset points", ha="right", fontsize=9,
        )  # fmt: skip
    for label, colour in (
        ("default reading", DEFAULT_COLOUR),
        ("nearest reading (fitted to test results)", NEAREST_COLOUR),
    ):
        if colour in colours:
            place = list(colours).index(colour)
            axes.scatter([place], [values[place]], s=2.2 * size, c=colour, label=label, zorder=4)
    axes.set_ylabel("mean of the table's cells (%)")
    axes.set_title(curve.table, loc="left", fontsize=11)
    axes.tick_params(bottom=False, labelbottom=False)
    axes.legend(fontsize=9, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.2)
    axes.grid(visible=False, axis="x")


def _group_by_colour(colours: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Return each colour with the places that have it."""
    return [
        (one, [place for place, each in enumerate(colours) if each == one]) for one in dict.fromkeys(colours)
    ]


def _draw_matrix(
    axes: Any, curve: Curve, order: NDArray[np.intp], rows: Sequence[tuple[str, str]], colours: Sequence[str]
) -> None:
    width = 3.7 if len(order) <= 60 else 2.2
    names = list(dict.fromkeys(name for name, _ in rows))
    for height, (name, option) in enumerate(rows):
        if names.index(name) % 2 == 0:
            axes.axhspan(height - 0.5, height + 0.5, color="#f1f3f5", linewidth=0, zorder=0)
        taken = np.array([curve.readings[index][name] == option for index in order])
        for colour, chosen in _group_by_colour(colours):
            places = [place for place in chosen if taken[place]]
            # A path with a short line for each reading takes a third of the bytes of markers.
            x = np.repeat(np.array(places, dtype=np.float64), 3)
            y = np.tile([height - 0.3, height + 0.3, np.nan], len(places))
            axes.plot(x, y, color=colour, linewidth=width, solid_capstyle="butt", zorder=3)
    axes.set_yticks(
        range(len(rows)), [f"{name}: {option}".replace("_", " ") for name, option in rows], fontsize=8
    )
    axes.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    axes.grid(visible=False)
    axes.set_xlabel(f"{len(order)} readings, by value")
    axes.tick_params(bottom=False, labelbottom=False, left=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)


HALF_HEIGHT = 40.0
LEAST_POINTS, MOST_POINTS = 4.0, 25.0
STEP = 6.0


@dataclass(frozen=True)
class StripCell:
    """One column: places from the left and from the top; `low` and `high` are None without readings."""

    x: float
    label: str
    verdict: str
    measured: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Strip:
    """All columns of a table, the tolerance and the scale; `readings` is the number of readings behind the bars."""

    cells: Sequence[StripCell]
    points: float
    tolerance: float
    readings: int

    @property
    def width(self) -> float:
        """Width in the units of the drawing."""
        return STEP * len(self.cells)


def make_strip(entries: Sequence[CellVerdict], experiments: Mapping[str, Mapping[str, Any]]) -> Strip | None:
    """Draw the judged cells in points of a percentage; None for a table without such numbers.

    `experiments` maps experiments to the summaries of their readings. Differences beyond MOST_POINTS are cut off there.
    """
    shown = [entry for entry in entries if _is_shown(entry)]
    if not shown:
        return None
    ranges = {entry.cell.id: _find_range(entry, experiments) for entry in shown}
    sizes = [abs(entry.difference or 0.0) for entry in shown]
    sizes += [abs(end) for found in ranges.values() if found for end in found]
    points = min(max(LEAST_POINTS, *sizes), MOST_POINTS)

    def place(difference: float) -> float:
        return round(-HALF_HEIGHT * max(-points, min(points, difference)) / points, 2)

    cells = []
    for number, entry in enumerate(shown):
        found = ranges[entry.cell.id]
        cells.append(
            StripCell(
                x=STEP * number + STEP / 2,
                label=_describe(entry, found),
                verdict=entry.verdict,
                measured=place(entry.difference or 0.0),
                low=place(found[0]) if found else None,
                high=place(found[1]) if found else None,
            )
        )
    tolerance = min(find_measure_kind(entry.cell.kind).tolerance for entry in shown)
    readings = [len(experiments[e.cell.experiment]["readings"]) for e in shown if ranges[e.cell.id]]
    return Strip(
        cells, round(points, 1), round(HALF_HEIGHT * tolerance / points, 2), max(readings, default=0)
    )


def _is_shown(entry: CellVerdict) -> bool:
    judged_in_points = find_measure_kind(entry.cell.kind).rule == "points"
    return judged_in_points and entry.difference is not None and entry.cell.counted


def _find_range(
    entry: CellVerdict, experiments: Mapping[str, Mapping[str, Any]]
) -> tuple[float, float] | None:
    """Return the least and the greatest difference from print over the readings and our own number."""
    cell = experiments.get(entry.cell.experiment, {}).get("cells", {}).get(entry.cell.id)
    if cell is None or cell["min"] is None or entry.cell.printed is None or entry.difference is None:
        return None
    printed = read_printed(entry.cell.printed, entry.cell.unit).value
    return min(cell["min"] - printed, entry.difference), max(cell["max"] - printed, entry.difference)


def _describe(entry: CellVerdict, found: tuple[float, float] | None) -> str:
    text = f"{entry.cell.row}, {entry.cell.column}: printed {entry.cell.printed}, difference {entry.difference:+.1f}"
    return text + (f", over readings {found[0]:+.1f} to {found[1]:+.1f}" if found else "")
