"""The front page of the work: every printed table and claim of the five papers with our verdict on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from textcat.experiment.results_file import TIMINGS, measures_of, read_timings
from textcat.published.check import CellVerdict
from textcat.published.claims import ClaimResult, evaluate_all, load_claims
from textcat.published.load import load_paper
from textcat.published.summary import VERDICTS, summary
from textcat.report.compare import table_of
from textcat.report.gate import Results, judged
from textcat.report.matrix_file import as_lines
from textcat.report.matrix_page import SHOWN, matrix_page
from textcat.report.tables import as_text, legend
from textcat.store.files import write_whole


def write_matrix(folder: Path, results: Results) -> dict[str, Any]:
    """reproduction.json, .md and .html in the results folder; the matrix as plain values."""
    verdicts = judged(results, everything=True)
    claims = evaluate_all(load_claims(), {name: measures_of(one) for name, one in results.items()})
    seconds = seconds_of(folder, results)
    matrix = matrix_of(verdicts, claims, seconds)
    write_whole(folder / "reproduction.json", as_lines(matrix))
    write_whole(folder / "reproduction.md", as_markdown(matrix, verdicts))
    write_whole(folder / "reproduction.html", matrix_page(folder, results, matrix, verdicts, seconds))
    return matrix


def seconds_of(folder: Path, results: Results) -> dict[str, float]:
    """Seconds that the stages of each experiment took when they were made."""
    found: dict[str, float] = {}
    for name in results:
        # A damaged file was reported when the results were read.
        timings = read_timings(folder / name / TIMINGS, warn=False)
        stages: Mapping[str, float] = timings.get("stages", {})
        found[name] = round(sum(stages.values()), 1)
    return found


def matrix_of(
    verdicts: Sequence[CellVerdict], claims: Sequence[ClaimResult], seconds: Mapping[str, float]
) -> dict[str, Any]:
    """Everything as plain values: totals, tables with their cells, claims."""
    facts = summary(verdicts)
    cells: dict[str, list[dict[str, Any]]] = {}
    for cell in facts["cells"]:
        cells.setdefault(f"{cell['paper']}.{cell['table']}", []).append(cell)
    tables = [
        _table(table_id, facts["tables"][table_id], found, seconds) for table_id, found in cells.items()
    ]
    return {
        "totals": facts["totals"],
        "papers": facts["papers"],
        "tables": tables,
        "claims": {
            outcome: sum(c.outcome == outcome for c in claims) for outcome in ("holds", "fails", "not run")
        },
        "each_claim": [claim.describe() for claim in claims],
    }


def _table(
    table_id: str, counted: Mapping[str, Any], cells: Sequence[dict[str, Any]], seconds: Mapping[str, float]
) -> dict[str, Any]:
    paper, _, name = table_id.partition(".")
    experiments = list(dict.fromkeys(cell["experiment"] for cell in cells))
    counts = {verdict: counted["verdicts"].get(verdict, 0) for verdict in VERDICTS[:4]}
    return {
        "table": table_id,
        "caption": load_paper(paper).tables[name].caption,
        "command": "textcat run " + " ".join(experiments),
        "seconds": round(sum(seconds.get(experiment, 0.0) for experiment in experiments), 1),
        "counts": {**counts, "not run": counted["not_run"], "cannot run": counted["cannot_run"]},
        "cells": list(cells),
    }


def as_markdown(matrix: Mapping[str, Any], verdicts: Sequence[CellVerdict]) -> str:
    """A line a table, then every table in full, then the claims."""
    totals = matrix["totals"]
    rows = [
        [
            f"[{t['table']}](#{_anchor(t['table'])})",
            t["caption"],
            *(t["counts"][s] or "" for s in SHOWN),
            t["seconds"],
        ]
        for t in matrix["tables"]
    ]
    claims = matrix["claims"]
    parts = [
        "# Do the numbers of five papers come out again?\n",
        f"{totals['run']} of {totals['cells']} printed cells were run. Of the {totals['runnable_gated']} that are "
        f"judged and whose data can be had, {_percent(totals['share_reproduced'])} are reproduced and "
        f"{_percent(totals['share_reproduced_or_close'])} reproduced or close. Of the papers' conclusions "
        f"{claims['holds']} hold, {claims['fails']} fail, {claims['not run']} could not be tested.\n",
        tabulate(rows, headers=["table", "what", *SHOWN, "seconds"], tablefmt="github"),
        f"\n{legend()}\n",
    ]
    for table in matrix["tables"]:
        parts += _in_full(table, [entry for entry in verdicts if entry.cell.table_id == table["table"]])
    parts += ["## Conclusions\n", _claims(matrix["each_claim"])]
    return "\n".join(parts) + "\n"


def _in_full(table: Mapping[str, Any], verdicts: Sequence[CellVerdict]) -> list[str]:
    parts = [f"## {table['table']}\n", f"{table['caption']}. `{table['command']}`\n"]
    if any(entry.cell.printed is not None for entry in verdicts):
        parts.append(as_text(table_of(verdicts)) + "\n")
    reasons = {entry.cell.cannot_run for entry in verdicts if entry.state == "cannot run"} - {None}
    parts += [f"Cannot run: {reason}.\n" for reason in sorted(map(str, reasons))]
    deviations = {
        entry.deviation.reason
        for entry in verdicts
        if entry.deviation and entry.unexplained is False and entry.verdict in ("differs", "better")
    }
    parts += [f"Known deviation: {reason}\n" for reason in sorted(deviations)]
    return parts


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    rows = [[c["outcome"], c["id"], c["statement"], "; ".join(c["figures"])] for c in claims]
    return tabulate(rows, headers=["", "claim", "statement", "figures"], tablefmt="github")


def _anchor(table_id: str) -> str:
    return table_id.replace(".", "")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}%"
