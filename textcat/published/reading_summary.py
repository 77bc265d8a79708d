"""Summarize cells, claims and questions over the readings of a paper: pure functions of measured numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.published.check import CellValues, MeasuresByExperiment, judge_cells
from textcat.published.claims import Claim, evaluate_claim, list_claim_experiments
from textcat.published.printed_tables import PublishedCell
from textcat.published.readings import Assignment
from textcat.published.verdicts import find_measure_kind, read_printed

Floats = NDArray[np.float64]
FITTED = "fitted to test results"


@dataclass(frozen=True)
class MeasuredReading:
    """One reading with the value of each cell (None: no such number)."""

    reading: Assignment
    values: CellValues


def measure_distance(cell: PublishedCell, value: float | None) -> float | None:
    """Return measured minus printed: in points, in powers of ten, or in percent of the printed number."""
    rule = find_measure_kind(cell.kind).rule
    if value is None or cell.printed is None or cell.unit == "text" or rule == "none":
        return None
    printed = read_printed(cell.printed, cell.unit).value
    if rule == "decades":
        return math.log10(value) - math.log10(printed) if value > 0 else None
    if rule == "relative":
        return 100.0 * (value - printed) / printed if printed else None
    return value - printed


def choose_compared_cells(cells: Sequence[PublishedCell]) -> list[PublishedCell]:
    """Return the cells in points of a percentage; if there are none, all cells that are judged."""
    judged = [cell for cell in cells if find_measure_kind(cell.kind).rule != "none"]
    in_points = [cell for cell in judged if find_measure_kind(cell.kind).rule == "points"]
    return in_points or judged


def compute_mean_difference(cells: Sequence[PublishedCell], values: CellValues) -> float | None:
    """Return the mean absolute difference from print over the compared cells."""
    found = [measure_distance(cell, values.get(cell.id)) for cell in choose_compared_cells(cells)]
    known = [abs(each) for each in found if each is not None]
    return sum(known) / len(known) if known else None


def find_nearest(cells: Sequence[PublishedCell], measured: Sequence[MeasuredReading]) -> int | None:
    """Return the position of the reading with the least mean absolute difference; the first of equal ones."""
    found = [compute_mean_difference(cells, each.values) for each in measured]
    known = [(difference, position) for position, difference in enumerate(found) if difference is not None]
    return min(known)[1] if known else None


def summarize_cells(cells: Sequence[PublishedCell], measured: Sequence[MeasuredReading]) -> dict[str, Any]:
    """Return for each cell: printed, default, nearest, least, greatest, shares within tolerance and within close.

    The first reading is the default.
    """
    nearest = find_nearest(cells, measured)
    verdicts = [{v.cell.id: v.verdict for v in judge_cells(each.values, cells, {})} for each in measured]
    summary = {}
    for cell in cells:
        values = [each.values.get(cell.id) for each in measured]
        known = [value for value in values if value is not None]
        judged = [found[cell.id] for found in verdicts]
        gated = cell.printed is not None and find_measure_kind(cell.kind).gated
        summary[cell.id] = {
            "table": cell.table_id,
            "row": cell.row,
            "column": cell.column,
            "printed": cell.printed,
            "unit": cell.unit,
            "default": _round(values[0]),
            "nearest": None if nearest is None else _round(values[nearest]),
            "min": _round(min(known, default=None)),
            "max": _round(max(known, default=None)),
            "default_verdict": judged[0],
            "nearest_verdict": None if nearest is None else judged[nearest],
            "within_tolerance": _share(judged, {"reproduced"}) if gated else None,
            "within_close": _share(judged, {"reproduced", "close"}) if gated else None,
        }
    return summary


def _share(verdicts: Sequence[str], wanted: set[str]) -> float:
    return round(sum(verdict in wanted for verdict in verdicts) / len(verdicts), 4)


def _round(value: float | None) -> float | None:
    """Round to ten significant digits, as in results.json, so that small differences of machines do not show."""
    return None if value is None else float(f"{value:.10g}")


def compute_main_effects(
    measured: Sequence[MeasuredReading], cells: Sequence[PublishedCell], questions: Iterable[str]
) -> dict[str, Any]:
    """Return how far each question moves the compared cells, in their unit.

    An additive model of questions is fitted to each cell by least squares; over a full cross product its
    coefficients are differences between the means of options. `effect` is the mean over cells of the distance
    between the highest and the lowest option, `options` the mean over cells of each option less the default.
    A question that the readings at hand do not vary, or cannot separate from others, has None.
    """
    compared = [
        cell
        for cell in choose_compared_cells(cells)
        if all(m.values.get(cell.id) is not None for m in measured)
    ]
    # The default's option is first, since its reading is.
    seen = {name: list(dict.fromkeys(each.reading[name] for each in measured)) for name in questions}
    columns = [(name, option) for name, options in seen.items() for option in options[1:]]
    unknown: dict[str, Any] = {name: {"effect": None, "options": {}} for name in seen}
    if not compared or not columns:
        return unknown
    design = np.array(
        [[1.0, *(float(m.reading[name] == option) for name, option in columns)] for m in measured]
    )
    values = np.array([[m.values[cell.id] for cell in compared] for m in measured], dtype=np.float64)
    coefficients, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    if rank < design.shape[1]:
        return unknown
    shifts = {column: coefficients[1 + place] for place, column in enumerate(columns)}
    return unknown | {
        name: _describe_effect(name, options, shifts, compared)
        for name, options in seen.items()
        if len(options) > 1
    }


def _describe_effect(
    name: str,
    options: Sequence[str],
    shifts: Mapping[tuple[str, str], Floats],
    cells: Sequence[PublishedCell],
) -> dict[str, Any]:
    zero = np.zeros(len(cells))
    by_option = np.array([shifts.get((name, option), zero) for option in options])
    spread = by_option.max(axis=0) - by_option.min(axis=0)
    tables: dict[str, list[float]] = {}
    for cell, each in zip(cells, spread, strict=True):
        tables.setdefault(cell.table_id, []).append(float(each))
    return {
        "effect": round(float(spread.mean()), 4),
        "options": {
            option: round(float(row.mean()), 4) for option, row in zip(options, by_option, strict=True)
        },
        "tables": {table: round(sum(each) / len(each), 4) for table, each in tables.items()},
    }


def summarize_claims(claims: Iterable[Claim], readings: Sequence[MeasuresByExperiment]) -> dict[str, Any]:
    """Return for each claim that these results can answer the share of readings in which it holds."""
    summary = {}
    available = set().union(*(set(each) for each in readings)) if readings else set()
    for claim in claims:
        needed = list_claim_experiments(claim)
        if not needed or not set(needed) <= available:
            continue
        outcomes = [evaluate_claim(claim, each).outcome for each in readings]
        decided = [outcome for outcome in outcomes if outcome != "not run"]
        if decided:
            summary[claim.id] = {
                "statement": claim.statement,
                "where": claim.where,
                "experiments": needed,
                "default": outcomes[0],
                "readings": len(decided),
                "holds": round(sum(outcome == "holds" for outcome in decided) / len(decided), 4),
            }
    return summary
