"""Strips of ranges on the page of the matrix: the cells of a table side by side.

Each cell is a column. The height is the difference from the printed number in points; the line at 0 is print, the
shaded band the tolerance, the bar goes from the lowest to the highest reading, and the dot is our number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textcat.published.check import CellVerdict
from textcat.published.verdicts import find_measure_kind, read_printed

Range = tuple[float, float]
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
    """All columns of a table, the tolerance and the scale; `ranged`: whether there are bars."""

    cells: Sequence[StripCell]
    points: float
    tolerance: float
    ranged: bool

    @property
    def width(self) -> float:
        """Width in the units of the drawing."""
        return STEP * len(self.cells)


def make_strip(entries: Sequence[CellVerdict], readings: Mapping[str, Range]) -> Strip | None:
    """Draw the judged cells in points of a percentage; None for a table without such numbers.

    `readings` maps cells to their least and greatest number over readings. Differences beyond MOST_POINTS are cut off
    there.
    """
    shown = [entry for entry in entries if _is_shown(entry)]
    if not shown:
        return None
    ranges = {entry.cell.id: _find_range(entry, readings) for entry in shown}
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
    band = round(HALF_HEIGHT * tolerance / points, 2)
    return Strip(cells, round(points, 1), band, ranged=any(ranges.values()))


def _is_shown(entry: CellVerdict) -> bool:
    judged_in_points = find_measure_kind(entry.cell.kind).rule == "points"
    return judged_in_points and entry.difference is not None and entry.cell.counted


def _find_range(entry: CellVerdict, readings: Mapping[str, Range]) -> Range | None:
    """Return the least and the greatest difference from print over the readings and our own number."""
    found = readings.get(entry.cell.id)
    if found is None or entry.cell.printed is None or entry.difference is None:
        return None
    printed = read_printed(entry.cell.printed, entry.cell.unit).value
    return min(found[0] - printed, entry.difference), max(found[1] - printed, entry.difference)


def _describe(entry: CellVerdict, found: Range | None) -> str:
    text = f"{entry.cell.row}, {entry.cell.column}: printed {entry.cell.printed}, difference {entry.difference:+.1f}"
    return text + (f", over readings {found[0]:+.1f} to {found[1]:+.1f}" if found else "")
