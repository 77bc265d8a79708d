"""Judge every printed cell: its measured value, the verdict, and whether it moved from the pinned value.

These are pure functions; `report.gate` reads the results, `cli.check_command` sets the exit code. A cell that was
not run is listed as such and never counts as reproduced.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from textcat.published.accepted import Deviation
from textcat.published.printed_tables import PublishedCell
from textcat.published.verdicts import (
    ROUNDING_MARGIN,
    Verdict,
    find_measure_kind,
    judge_direction,
    judge_number,
    subtract_printed,
)

MeasureValues = Mapping[str, float | None]
MeasuresByRun = Mapping[str, MeasureValues]
MeasuresByExperiment = Mapping[str, MeasuresByRun]
"""Experiment -> run -> measure -> value, as in `runs` of each results.json."""


def find_cell_values(
    published: Iterable[PublishedCell], results: MeasuresByExperiment
) -> dict[str, float | None]:
    """Map cell ids to values: None if the run has no such number, no entry if the run does not exist."""
    found: dict[str, float | None] = {}
    for cell in published:
        runs = results.get(cell.experiment, {})
        needed = [cell.run] if cell.over is None else [cell.run, cell.over]
        if all(run in runs for run in needed):
            found[cell.id] = _find_value(cell, runs)
    return found


def _find_value(cell: PublishedCell, runs: MeasuresByRun) -> float | None:
    """Return the number, or its percentage of the same number in the run `over`."""
    value = _nan_to_none(runs[cell.run].get(cell.measure))
    if cell.over is None or value is None:
        return value
    divisor = _nan_to_none(runs[cell.over].get(cell.measure))
    return 100.0 * value / divisor if divisor else None


def _nan_to_none(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


CellState = Literal["run", "not run", "cannot run"]
CellValues = Mapping[str, float | None]


@dataclass(frozen=True)
class CellVerdict:
    """The verdict on one printed cell.

    drifted: the value moved from the pinned one by more than its kind allows, or is no longer a number.
    lost: the pinned value was `reproduced` and the measured one is not.
    """

    cell: PublishedCell
    state: CellState
    measured: float | None
    difference: float | None
    verdict: Verdict
    gated: bool
    pinned: float | None
    drifted: bool
    lost: bool
    deviation: Deviation | None

    @property
    def failed(self) -> bool:
        """Return whether this cell fails the check."""
        return self.drifted or self.lost

    @property
    def unexplained(self) -> bool:
        """Return whether this is a gated number beyond `close` without a known deviation."""
        return self.gated and self.verdict in ("differs", "better") and self.deviation is None


def judge_cells(
    measured: CellValues,
    published: Sequence[PublishedCell],
    pinned: CellValues,
    deviations: Sequence[Deviation] = (),
) -> list[CellVerdict]:
    """Judge every published cell; `measured` has no entry for a cell that was not run."""
    partners = _find_partners(published)
    return [_judge_cell(cell, measured, pinned, deviations, partners.get(cell.id)) for cell in published]


def list_failed(verdicts: Sequence[CellVerdict]) -> list[CellVerdict]:
    """Return the cells that fail the check."""
    return [entry for entry in verdicts if entry.failed]


def _judge_cell(
    cell: PublishedCell,
    measured: CellValues,
    pinned: CellValues,
    deviations: Sequence[Deviation],
    partner: PublishedCell | None,
) -> CellVerdict:
    value = measured.get(cell.id)
    found = _judge_value(cell, measured, partner)
    lost = (
        cell.id in measured and _judge_value(cell, pinned, partner) == "reproduced" and found != "reproduced"
    )
    return CellVerdict(
        cell=cell,
        state=_find_state(cell, measured),
        measured=value,
        difference=subtract_printed(value, cell.printed, cell.unit),
        verdict=found,
        gated=find_measure_kind(cell.kind).gated and cell.printed is not None,
        pinned=pinned.get(cell.id),
        drifted=_has_drifted(cell, measured, pinned),
        lost=lost and find_measure_kind(cell.kind).gated,
        deviation=next((entry for entry in deviations if entry.covers(cell.id)), None),
    )


def _find_state(cell: PublishedCell, measured: CellValues) -> CellState:
    if cell.id in measured:
        return "run"
    return "cannot run" if cell.cannot_run else "not run"


def _judge_value(cell: PublishedCell, measured: CellValues, partner: PublishedCell | None) -> Verdict:
    if partner is None:
        return judge_number(measured.get(cell.id), cell.printed, cell.kind, cell.unit)
    left, right = (cell, partner) if cell.kind == "fewer" else (partner, cell)
    if left.printed is None or right.printed is None:
        return "ungated"
    return judge_direction(measured.get(left.id), measured.get(right.id), left.printed, right.printed)


def _find_partners(published: Sequence[PublishedCell]) -> dict[str, PublishedCell]:
    """Map each count of wins to the count of losses in the same row, and vice versa."""
    pairs: dict[tuple[str, str], dict[str, PublishedCell]] = {}
    for cell in published:
        if find_measure_kind(cell.kind).rule == "sign":
            pairs.setdefault((cell.table_id, cell.row), {})[cell.kind] = cell
    partners: dict[str, PublishedCell] = {}
    for pair in pairs.values():
        if len(pair) == 2:
            partners[pair["fewer"].id] = pair["more"]
            partners[pair["more"].id] = pair["fewer"]
    return partners


def _has_drifted(cell: PublishedCell, measured: CellValues, pinned: CellValues) -> bool:
    """Return whether a cell drifted: a number that disappeared did; a cell not run or not gated did not."""
    before = pinned.get(cell.id)
    if before is None or cell.id not in measured or not find_measure_kind(cell.kind).gated:
        return False
    now = measured[cell.id]
    if now is None or math.isnan(now):
        return True
    return abs(now - before) > find_measure_kind(cell.kind).drift + ROUNDING_MARGIN


VERDICTS: tuple[Verdict, ...] = ("reproduced", "close", "better", "differs", "missing", "ungated")


def summarize_verdicts(verdicts: Sequence[CellVerdict]) -> dict[str, Any]:
    """Return what `check --json` prints: totals, papers, tables, cells, and lists of ids to look at."""
    return {
        "totals": count_verdicts(verdicts),
        "papers": _count_by_group(verdicts, [entry.cell.paper for entry in verdicts]),
        "tables": _count_by_group(verdicts, [entry.cell.table_id for entry in verdicts]),
        "failed": [entry.cell.id for entry in verdicts if entry.failed],
        "unexplained": [entry.cell.id for entry in verdicts if entry.unexplained],
        "not_run": [entry.cell.id for entry in verdicts if entry.state == "not run"],
        "cannot_run": [entry.cell.id for entry in verdicts if entry.state == "cannot run"],
        "cells": [describe_cell(entry) for entry in verdicts],
    }


def count_verdicts(verdicts: Iterable[CellVerdict]) -> dict[str, Any]:
    """Count cells, gated cells, gated cells with available data, and the verdicts among the last.

    Shares are of the gated cells with available data; cells that were not run count as not reproduced.
    """
    entries = list(verdicts)
    gated = [entry for entry in entries if entry.gated and entry.state != "cannot run"]
    by_verdict = Counter(entry.verdict for entry in gated)
    agreed = by_verdict["reproduced"] + by_verdict["close"]
    return {
        "cells": len(entries),
        "gated": sum(entry.gated for entry in entries),
        "runnable_gated": len(gated),
        "run": sum(entry.state == "run" for entry in entries),
        "not_run": sum(entry.state == "not run" for entry in entries),
        "cannot_run": sum(entry.state == "cannot run" for entry in entries),
        "verdicts": {name: by_verdict[name] for name in VERDICTS if name != "ungated"},
        "share_reproduced": _compute_share(by_verdict["reproduced"], len(gated)),
        "share_reproduced_or_close": _compute_share(agreed, len(gated)),
        "failed": sum(entry.failed for entry in entries),
    }


def describe_cell(entry: CellVerdict) -> dict[str, Any]:
    """Return one cell as plain values."""
    cell = entry.cell
    return {
        "id": cell.id,
        "paper": cell.paper,
        "table": cell.table,
        "row": cell.row,
        "column": cell.column,
        "kind": cell.kind,
        "unit": cell.unit,
        "experiment": cell.experiment,
        "run": cell.run,
        "measure": cell.measure,
        "printed": cell.printed,
        "spread": cell.spread,
        "state": entry.state,
        "measured": entry.measured,
        "difference": entry.difference,
        "verdict": entry.verdict,
        "gated": entry.gated,
        "pinned": entry.pinned,
        "drifted": entry.drifted,
        "lost": entry.lost,
        "deviation": entry.deviation.reason if entry.deviation else None,
        "cannot_run": cell.cannot_run if entry.state == "cannot run" else None,
    }


def _count_by_group(verdicts: Sequence[CellVerdict], keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[CellVerdict]] = {}
    for key, entry in zip(keys, verdicts, strict=True):
        groups.setdefault(key, []).append(entry)
    return {key: count_verdicts(entries) for key, entries in groups.items()}


def _compute_share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
