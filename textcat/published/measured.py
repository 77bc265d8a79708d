"""Find the measured counterpart of every printed cell in the results of experiments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from textcat.published.model import Cell

Measures = Mapping[str, float | None]
Runs = Mapping[str, Measures]
Results = Mapping[str, Runs]
"""Experiment -> run -> measure -> value, as `runs` of each results.json has it."""


def measured_cells(published: Iterable[Cell], results: Results) -> dict[str, float | None]:
    """Cell id -> value; None where the run was made without such a number, no entry where it was not made."""
    found: dict[str, float | None] = {}
    for cell in published:
        runs = results.get(cell.experiment, {})
        needed = [cell.run] if cell.over is None else [cell.run, cell.over]
        if all(run in runs for run in needed):
            found[cell.id] = _value(cell, runs)
    return found


def _value(cell: Cell, runs: Runs) -> float | None:
    """The number, or its share in percent of the same number of the run `over`."""
    value = _number(runs[cell.run].get(cell.measure))
    if cell.over is None or value is None:
        return value
    divisor = _number(runs[cell.over].get(cell.measure))
    return 100.0 * value / divisor if divisor else None


def _number(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)
