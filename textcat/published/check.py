"""The gate: every printed cell with our number, its verdict, and whether it moved from the pinned one.

Pure functions from numbers to verdicts; reading results and choosing exit codes is the command line's part.
A cell that was not run is listed as such and never passes as reproduced.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

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
"""Experiment -> run -> measure -> value, as `runs` of each results.json has it."""


def find_cell_values(
    published: Iterable[PublishedCell], results: MeasuresByExperiment
) -> dict[str, float | None]:
    """Cell id -> value; None where the run was made without such a number, no entry where it was not made."""
    found: dict[str, float | None] = {}
    for cell in published:
        runs = results.get(cell.experiment, {})
        needed = [cell.run] if cell.over is None else [cell.run, cell.over]
        if all(run in runs for run in needed):
            found[cell.id] = _find_value(cell, runs)
    return found


def _find_value(cell: PublishedCell, runs: MeasuresByRun) -> float | None:
    """The number, or its share in percent of the same number of the run `over`."""
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
    """One printed cell and all there is to say of it.

    drifted: it moved from the pinned value by more than its kind allows, or is no number any more.
    lost: the pinned value was `reproduced` and this one is not.
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
        """Whether this cell alone fails the check."""
        return self.drifted or self.lost

    @property
    def unexplained(self) -> bool:
        """A gated number outside `close` without a written deviation."""
        return self.gated and self.verdict in ("differs", "better") and self.deviation is None


def judge_cells(
    measured: CellValues,
    published: Sequence[PublishedCell],
    pinned: CellValues,
    deviations: Sequence[Deviation] = (),
) -> list[CellVerdict]:
    """Judge every published cell; `measured` has no entry for a cell whose run was not made."""
    partners = _find_partners(published)
    return [_judge_cell(cell, measured, pinned, deviations, partners.get(cell.id)) for cell in published]


def find_drifted(measured: CellValues, pinned: CellValues, published: Sequence[PublishedCell]) -> list[str]:
    """The ids of measured cells that moved away from their pinned value."""
    return [cell.id for cell in published if _has_drifted(cell, measured, pinned)]


def list_failed(verdicts: Sequence[CellVerdict]) -> list[CellVerdict]:
    """The cells for which the check must not pass."""
    return [entry for entry in verdicts if entry.failed]


def find_unknown_ids(accepted: Mapping[str, object], published: Sequence[PublishedCell]) -> list[str]:
    """Pinned ids that name no published cell: misspelt, or left behind by a renaming."""
    known = {cell.id for cell in published}
    return [cell_id for cell_id in accepted if cell_id not in known]


def find_unused_deviations(
    verdicts: Sequence[CellVerdict], deviations: Sequence[Deviation]
) -> list[Deviation]:
    """Deviations that cover no published cell."""
    return [entry for entry in deviations if not any(entry.covers(found.cell.id) for found in verdicts)]


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
    """For the count of wins the count of losses in the same row, and the other way round."""
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
    """A number that is gone has moved, a run that was not made has not; kinds not judged move freely."""
    before = pinned.get(cell.id)
    if before is None or cell.id not in measured or not find_measure_kind(cell.kind).gated:
        return False
    now = measured[cell.id]
    if now is None or math.isnan(now):
        return True
    return abs(now - before) > find_measure_kind(cell.kind).drift + ROUNDING_MARGIN
