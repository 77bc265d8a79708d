"""The check in figures, as JSON: counts of verdicts by table and by paper, and what needs a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from textcat.published.check import CellVerdict
from textcat.published.verdicts import Verdict

VERDICTS: tuple[Verdict, ...] = ("reproduced", "close", "better", "differs", "missing", "ungated")


def summarize_verdicts(verdicts: Sequence[CellVerdict]) -> dict[str, Any]:
    """Everything `check --json` prints: totals, papers, tables, cells, and lists of ids to look at."""
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
    """How many cells, gated cells, gated cells with data, each verdict among the latter, and the shares.

    Shares are of gated cells whose data this machine can have, run or not: what was not run counts against.
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
    """One cell as plain values."""
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
