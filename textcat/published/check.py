"""Judge every printed cell: its measured value, the verdict, and whether it moved from the pinned value.

Pinned values and known deviations from print, with their evidence, are what was accepted last. A cell that was not run
is listed as such and never counts as reproduced. `report.gate` reads the results, `cli.check_command` sets the exit
code.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from textcat.published.consistency import list_contradicted_cells
from textcat.published.printed_tables import PublishedCell, validate_contents
from textcat.published.verdicts import (
    ROUNDING_MARGIN,
    Verdict,
    find_measure_kind,
    judge_direction,
    judge_number,
    read_printed,
    subtract_printed,
)
from textcat.settings import StrictSettings
from textcat.yaml_reader import read_packaged_yaml

PINNED_HEADER = """# The measured value of each cell that was accepted last, in the unit of our measures.
# A value that moves by more than its kind allows (0.05 unless tolerances.yaml says otherwise) fails.
"""


class Variant(StrictSettings):
    """A variant that was tried, and its figures."""

    variant: str
    figures: dict[str, float]


class Deviation(StrictSettings):
    """Explanation of cells that differ from print; `*` in `cells` matches any characters."""

    cells: str
    reason: str
    evidence: tuple[Variant, ...]

    def covers(self, cell_id: str) -> bool:
        """Return whether a cell id matches `cells`; brackets are plain characters."""
        pattern = ".*".join(re.escape(part) for part in self.cells.split("*"))
        return re.fullmatch(pattern, cell_id) is not None


def load_deviations() -> list[Deviation]:
    """Load the known deviations."""
    contents = read_packaged_yaml("published/deviations.yaml") or []
    return list(validate_contents(list[Deviation], contents, "deviations", "deviations.yaml"))


def load_pinned() -> dict[str, float]:
    """Load the pinned values by cell."""
    contents = read_packaged_yaml("published/pinned.yaml")
    contents = {} if contents is None else contents
    return dict(validate_contents(dict[str, float], contents, "pinned values", "pinned.yaml"))


SOURCES_FILE = "pinned_sources.yaml"


def load_pinned_sources() -> dict[str, str]:
    """Map experiments to the fingerprint of the corpus files behind their pinned values."""
    return dict(read_packaged_yaml(f"published/{SOURCES_FILE}") or {})


def render_pinned(measured: Mapping[str, float | None], order: Iterable[str]) -> str:
    """Return the text of pinned.yaml with these values, in the given order; values that are not finite are left out."""
    lines = [
        f'"{cell_id}": {_format_value(value)}'
        for cell_id in order
        if (value := measured.get(cell_id)) is not None and math.isfinite(value)
    ]
    return PINNED_HEADER + ("\n".join(lines) if lines else "{}") + "\n"


def _format_value(value: float) -> str:
    """Format with four decimals, far below any tolerated drift; small numbers such as p-values keep four digits."""
    text = repr(round(value, 4)) if abs(value) >= 0.1 or value == 0 else f"{value:.4g}"
    # YAML 1.1 reads 1e-05 as a string; a float needs a decimal point.
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


MeasureValues = Mapping[str, float | None]
MeasuresByRun = Mapping[str, MeasureValues]
MeasuresByExperiment = Mapping[str, MeasuresByRun]
"""Experiment -> run -> measure -> value, as in `runs` of each results.json."""

SIGNS = {"reproduced": "=", "close": "~", "differs": "!", "above": "+"}
"""Signs of the verdicts; a cell that is not judged or has no number has none."""
REPEATS_SIGN = "\u2020"
CONTRADICTION_SIGN = "\u2021"


def find_cell_values(
    published: Iterable[PublishedCell], results: MeasuresByExperiment
) -> dict[str, float | None]:
    """Map cell ids to values: None if the run has no such number, no entry if the run does not exist."""
    values: dict[str, float | None] = {}
    for cell in published:
        runs = results.get(cell.experiment, {})
        needed = [cell.run] if cell.over is None else [cell.run, cell.over]
        if all(run in runs for run in needed):
            values[cell.id] = _find_value(cell, runs)
    return values


def _find_value(cell: PublishedCell, runs: MeasuresByRun) -> float | None:
    """Return the number, or its percentage of the same number in the run `over`."""
    value = _nan_to_none(runs[cell.run].get(cell.measure))
    if cell.over is None or value is None:
        return value
    divisor = _nan_to_none(runs[cell.over].get(cell.measure))
    return 100.0 * value / divisor if divisor else None


def _nan_to_none(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def find_cell_intervals(
    published: Iterable[PublishedCell], intervals: Mapping[str, Mapping[str, Mapping[str, Interval]]]
) -> dict[str, Interval]:
    """Map cell ids to the lowest and highest value within sampling error; shares of another run have none."""
    return {
        cell.id: (low, high)
        for cell in published
        if cell.over is None
        and (ends := intervals.get(cell.experiment, {}).get(cell.run, {}).get(cell.measure))
        for low, high in [ends]
    }


def find_document_counts(
    published: Iterable[PublishedCell], results: MeasuresByExperiment
) -> dict[str, float]:
    """Map cells about a single category to the number of documents that 100 points stand for.

    For a break-even point this is the number of the category's test documents, for an error rate that of all test
    documents. For F1 it is half of the sum of the category's documents and the accepted documents, which is exact when
    only correct decisions are added.
    """
    documents: dict[str, float] = {}
    for cell in published:
        runs = results.get(cell.experiment, {})
        prefix, _, name = cell.measure.rpartition(".")
        if not prefix.startswith("category.") or cell.over is not None or cell.run not in runs:
            continue
        counts = [runs[cell.run].get(f"{prefix}.{kind}") for kind in ("tp", "fn", "fp", "tn")]
        if any(count is None for count in counts):
            continue
        tp, fn, fp, tn = (float(count or 0) for count in counts)
        scales = {"bep": tp + fn, "f1": tp + (fn + fp) / 2, "error_rate": tp + fn + fp + tn}
        if name in scales:
            documents[cell.id] = scales[name]
    return documents


Interval = tuple[float, float]
CellState = Literal["run", "not run", "cannot run"]
CellValues = Mapping[str, float | None]


@dataclass(frozen=True)
class CellVerdict:
    """The verdict on one printed cell.

    drifted: the value moved from the pinned one by more than its kind allows, or is no longer a number.
    lost: the pinned value was `reproduced` and the measured one is not.
    documents: the difference in documents, for a cell about a single category.
    interval: the 95 % interval of the measured value over resamples of the test documents.
    note: the number of the note that explains a miss, in a table with notes.
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
    documents: int | None = None
    interval: Interval | None = None
    note: int | None = None

    @property
    def failed(self) -> bool:
        """Return whether this cell fails the check."""
        return self.drifted or self.lost

    @property
    def unexplained(self) -> bool:
        """Return whether this is a gated number beyond `close` without a known deviation."""
        return self.gated and self.verdict in ("differs", "above") and self.deviation is None

    @property
    def sign(self) -> str:
        """The sign of the verdict, empty where nothing is judged, and a dagger if the cell is not counted."""
        return SIGNS.get(self.verdict, "") + (REPEATS_SIGN if self.cell.repeats is not None else "")

    @property
    def printed_text(self) -> str:
        """The printed number, with a double dagger if it contradicts other printed numbers."""
        sign = CONTRADICTION_SIGN if self.cell.id in list_contradicted_cells() else ""
        return f"{self.cell.printed}{sign}"

    @property
    def text(self) -> str:
        """The measured number in the unit and with the decimals of the printed one."""
        if self.measured is None:
            return "-"
        if self.cell.unit == "power_of_ten":
            return f"10^{math.log10(self.measured):.3g}" if self.measured > 0 else f"{self.measured:g}"
        return f"{self.measured / self._scale:.{count_decimals(self.cell.printed)}f}"

    @property
    def spread(self) -> str:
        """The half width of the interval as ± and a number with the printed decimals, or an empty text."""
        if self.interval is None or self.measured is None:
            return ""
        low, high = self.interval
        return f"±{(high - low) / 2 / self._scale:.{count_decimals(self.cell.printed)}f}"

    @property
    def holds_printed(self) -> bool | None:
        """Whether a number that rounds to the printed one is inside the interval; None without an interval."""
        if self.interval is None or self.cell.printed is None:
            return None
        printed, (low, high) = read_printed(self.cell.printed, self.cell.unit), self.interval
        return low - ROUNDING_MARGIN <= printed.value + printed.half_unit and (
            printed.value - printed.half_unit <= high + ROUNDING_MARGIN
        )

    @property
    def distance(self) -> str:
        """Measured minus printed with its sign, or an empty text where a difference has no meaning."""
        if self.difference is None or self.cell.unit in ("text", "p_value", "power_of_ten"):
            return ""
        text = f"{self.difference / self._scale:+.{count_decimals(self.cell.printed)}f}"
        return text.replace("-", "\u2212") if float(text) else text[1:]

    @property
    def _scale(self) -> float:
        return 100.0 if self.cell.unit == "fraction" else 1.0

    @property
    def reason(self) -> str:
        """The reason of a known deviation, or an empty text."""
        return self.deviation.reason if self.deviation else ""

    @property
    def evidence(self) -> str:
        """The figures of the variants that were tried, or an empty text."""
        variants = self.deviation.evidence if self.deviation else ()
        return "; ".join(
            f"{variant.variant}: " + ", ".join(f"{name} {value:g}" for name, value in variant.figures.items())
            for variant in variants
        )


def count_decimals(printed: str | None) -> int:
    """Return the number of printed decimals."""
    return len((printed or "").partition(".")[2])


def judge_cells(
    measured: CellValues,
    published: Sequence[PublishedCell],
    pinned: CellValues,
    deviations: Sequence[Deviation] = (),
    document_counts: Mapping[str, float] | None = None,
    intervals: Mapping[str, Interval] | None = None,
) -> list[CellVerdict]:
    """Judge every published cell.

    `measured` has no entry for a cell that was not run; `document_counts` is what `find_document_counts` returns,
    `intervals` what `find_cell_intervals` returns.
    """
    partners = _find_partners(published)
    judged = [_judge_cell(cell, measured, pinned, deviations, partners.get(cell.id)) for cell in published]
    counts, known = document_counts or {}, intervals or {}
    return [
        replace(
            entry,
            interval=known.get(entry.cell.id),
            documents=round(entry.difference * counts[entry.cell.id] / 100.0)
            if entry.difference is not None and entry.cell.id in counts
            else None,
        )
        for entry in judged
    ]


def _judge_cell(
    cell: PublishedCell,
    measured: CellValues,
    pinned: CellValues,
    deviations: Sequence[Deviation],
    partner: PublishedCell | None,
) -> CellVerdict:
    value, kind = measured.get(cell.id), find_measure_kind(cell.kind)
    verdict = _judge_value(cell, measured, partner)
    before = _judge_value(cell, pinned, partner)
    state: CellState = "cannot run" if cell.cannot_run else "not run"
    if cell.id in measured and not (cell.not_run and value is None):
        state = "run"
    return CellVerdict(
        cell=cell,
        state=state,
        measured=value,
        difference=subtract_printed(value, cell.printed, cell.unit),
        verdict=verdict,
        gated=kind.gated and cell.printed is not None,
        pinned=pinned.get(cell.id),
        drifted=_has_drifted(cell, measured, pinned),
        lost=kind.gated and cell.id in measured and before == "reproduced" and verdict != "reproduced",
        deviation=next((entry for entry in deviations if entry.covers(cell.id)), None),
    )


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
    before, kind = pinned.get(cell.id), find_measure_kind(cell.kind)
    if before is None or cell.id not in measured or not kind.gated:
        return False
    now = _nan_to_none(measured[cell.id])
    return now is None or abs(now - before) > kind.drift + ROUNDING_MARGIN


VERDICTS: tuple[Verdict, ...] = ("reproduced", "close", "above", "differs", "missing", "ungated")


def summarize_verdicts(verdicts: Sequence[CellVerdict]) -> dict[str, Any]:
    """Return what `check --json` prints: totals, papers, tables, cells, and lists of ids to look at.

    `totals` and `papers` count the numbers printed in tables; `text` counts those of the running text and `spreads`
    the printed standard deviations.
    """
    groups = _count_by_group(verdicts, [entry.cell.group for entry in verdicts])
    in_tables = [entry for entry in verdicts if entry.cell.group == "tables"]
    return {
        "totals": groups.get("tables", count_verdicts([])),
        "text": groups.get("text", count_verdicts([])),
        "spreads": groups.get("spreads", count_verdicts([])),
        "papers": _count_by_group(in_tables, [entry.cell.paper for entry in in_tables]),
        "tables": _count_by_group(verdicts, [entry.cell.table_id for entry in verdicts]),
        "failed": [entry.cell.id for entry in verdicts if entry.failed],
        "unexplained": [entry.cell.id for entry in verdicts if entry.unexplained],
        "not_run": [entry.cell.id for entry in verdicts if entry.state == "not run"],
        "cannot_run": [entry.cell.id for entry in verdicts if entry.state == "cannot run"],
        "cells": [describe_cell(entry) for entry in verdicts],
    }


def count_verdicts(verdicts: Iterable[CellVerdict]) -> dict[str, Any]:
    """Count printed numbers and the verdicts on them.

    cells: printed numbers. repeats: those that repeat another one; all other counts leave them out.
    gated, runnable_gated: numbers of kinds that are judged, and those with available data.
    verdicts, shares: among the latter; what was not run counts as missing, not as reproduced.
    headline: every number once: reproduced, close, off (above or differs), not judged, no data.
    with_interval, in_interval: judged numbers whose measured value has an interval, and those printed inside it.
    """
    printed = [entry for entry in verdicts if entry.cell.printed is not None]
    entries = [entry for entry in printed if entry.cell.counted]
    gated = [entry for entry in entries if entry.gated and entry.state != "cannot run"]
    by_verdict = Counter(entry.verdict for entry in gated)
    agreed = by_verdict["reproduced"] + by_verdict["close"]
    headline = Counter(_place_in_headline(entry) for entry in entries)
    return {
        "cells": len(printed),
        "repeats": len(printed) - len(entries),
        "counted": len(entries),
        "headline": {name: headline[name] for name in HEADLINE},
        "gated": sum(entry.gated for entry in entries),
        "runnable_gated": len(gated),
        "run": sum(entry.state == "run" for entry in entries),
        "not_run": sum(entry.state == "not run" for entry in entries),
        "cannot_run": sum(entry.state == "cannot run" for entry in entries),
        "verdicts": {name: by_verdict[name] for name in VERDICTS if name != "ungated"},
        "share_reproduced": _compute_share(by_verdict["reproduced"], len(gated)),
        "share_reproduced_or_close": _compute_share(agreed, len(gated)),
        "failed": sum(entry.failed for entry in entries),
        "with_interval": sum(entry.holds_printed is not None for entry in gated),
        "in_interval": sum(entry.holds_printed is True for entry in gated),
    }


def describe_interval_counts(counts: Mapping[str, Any]) -> str:
    """Say in a sentence how many printed numbers the intervals hold; an empty text without intervals."""
    if not counts["with_interval"]:
        return ""
    return (
        f"Sampling error: {counts['in_interval']} of the {counts['with_interval']} printed numbers with a 95 % "
        f"interval of our number are inside it."
    )


HEADLINE = ("reproduced", "close", "off", "not judged", "no data")


def _place_in_headline(entry: CellVerdict) -> str:
    if entry.state != "run" or entry.verdict == "missing":
        return "no data"
    if not entry.gated:
        return "not judged"
    return "off" if entry.verdict in ("above", "differs") else entry.verdict


def summarize_differences(verdicts: Iterable[CellVerdict]) -> dict[str, float] | None:
    """Return the mean signed and the mean absolute difference in points over cells judged in points, or None."""
    differences = [
        entry.difference
        for entry in verdicts
        if entry.cell.counted
        and entry.difference is not None
        and entry.cell.unit in ("percent", "fraction")
        and find_measure_kind(entry.cell.kind).gated
    ]
    if not differences:
        return None
    absolute = [abs(difference) for difference in differences]
    return {
        "cells": len(differences),
        "signed": round(sum(differences) / len(differences), 4),
        "absolute": round(sum(absolute) / len(differences), 4),
    }


_CELL_KEYS = ("id", "paper", "table", "group", "row", "column", "kind", "unit", "experiment", "run", "measure",
              "printed", "repeats", "where")  # fmt: skip
_VERDICT_KEYS = ("state", "measured", "interval", "difference", "documents", "verdict", "gated", "pinned", "drifted",
                 "lost")  # fmt: skip


def describe_cell(entry: CellVerdict) -> dict[str, Any]:
    """Return one cell as plain values."""
    cell = entry.cell
    return {
        **{name: getattr(cell, name) for name in _CELL_KEYS},
        **{name: getattr(entry, name) for name in _VERDICT_KEYS},
        "deviation": entry.reason or None,
        "cannot_run": cell.cannot_run if entry.state == "cannot run" else None,
        "reason": cell.not_run if entry.state == "not run" else None,
    }


def _count_by_group(verdicts: Sequence[CellVerdict], keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[CellVerdict]] = {}
    for key, entry in zip(keys, verdicts, strict=True):
        groups.setdefault(key, []).append(entry)
    return {key: count_verdicts(entries) for key, entries in groups.items()}


def _compute_share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
