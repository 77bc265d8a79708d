"""Tables of measured and printed numbers, as text, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tabulate import tabulate

from textcat.experiment.run.results_file import get_run_measures
from textcat.published.accepted import load_deviations
from textcat.published.check import CellVerdict, find_cell_values, judge_cells
from textcat.published.printed_tables import load_all_cells, load_paper
from textcat.report.escaping import escape_markdown

SIGNS = {"reproduced": "=", "close": "~", "differs": "!", "above": "+"}
"""Signs of the verdicts; a cell that is not judged or has no number has none."""
REPEATS_SIGN = "\u2020"


@dataclass(frozen=True)
class ComparedCell:
    """One number of a published table: printed, measured, and the verdict."""

    row: str
    column: str
    printed: str
    unit: str
    measured: float | None
    difference: float | None
    verdict: str
    reason: str = ""
    evidence: str = ""
    documents: int | None = None
    repeats: bool = False
    note: int | None = None

    @property
    def sign(self) -> str:
        """Return the sign of the verdict, empty where nothing is judged, and a dagger if the cell is not counted."""
        return SIGNS.get(self.verdict, "") + (REPEATS_SIGN if self.repeats else "")

    @property
    def text(self) -> str:
        """Return the measured number in the unit and with the decimals of the printed one."""
        if self.measured is None:
            return "-"
        if self.unit == "power_of_ten":
            return f"10^{math.log10(self.measured):.3g}" if self.measured > 0 else f"{self.measured:g}"
        scale = 100.0 if self.unit == "fraction" else 1.0
        return f"{self.measured / scale:.{count_decimals(self.printed)}f}"

    @property
    def distance(self) -> str:
        """Return measured minus printed with its sign, or an empty text where a difference has no meaning."""
        if self.difference is None or self.unit in ("text", "p_value", "power_of_ten"):
            return ""
        scale = 100.0 if self.unit == "fraction" else 1.0
        text = f"{self.difference / scale:+.{count_decimals(self.printed)}f}"
        return text.replace("-", "\u2212") if float(text) else text[1:]


@dataclass(frozen=True)
class ComparedTable:
    """A published table with measured numbers."""

    id: str
    caption: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: dict[tuple[str, str], ComparedCell]

    def counts(self) -> dict[str, int]:
        """Count the cells by verdict."""
        return dict(sorted(Counter(cell.verdict for cell in self.cells.values()).items()))


def count_decimals(printed: str) -> int:
    """Return the number of printed decimals."""
    return len(printed.partition(".")[2]) if "." in printed else 0


def format_cell(cell: ComparedCell | None) -> str:
    """Format a cell as `measured (printed) sign`, where the sign shows the verdict.

    For a single topic the difference in documents follows the printed number; `[1]` is the number of a note.
    """
    if cell is None:
        return ""
    documents = "" if cell.documents is None else f"; {format_documents(cell.documents)}"
    note = "" if cell.note is None else f" [{cell.note}]"
    return f"{cell.text} ({cell.printed}{documents}) {cell.sign}".rstrip() + note


def format_documents(documents: int) -> str:
    """Format a difference in documents with its sign."""
    return f"{documents:+d}d".replace("-", "\u2212") if documents else "0d"


def table_as_text(table: ComparedTable, style: str = "github") -> str:
    """Format a table with cells `measured (printed) sign`; `style` is a table format of tabulate."""
    name = escape_markdown if style == "github" else str
    rows = [
        [name(row), *(format_cell(table.cells.get((row, column))) for column in table.columns)]
        for row in table.rows
    ]
    headers = ["", *map(name, table.columns)]
    return tabulate(rows, headers=headers, tablefmt=style, disable_numparse=True)


def format_legend() -> str:
    """Return the legend of the signs."""
    signs = "  ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items())
    others = f"no sign: not judged, or no number  {REPEATS_SIGN} repeats another, not counted"
    return f"measured (printed): {signs}  {others}"


def format_matrix_legend() -> str:
    """Return the legend of the matrix, whose cells also have differences in documents."""
    return f"{format_legend()}  d: difference in test documents"


def tables_as_markdown(tables: Sequence[ComparedTable]) -> str:
    """Format all tables, each with a heading and its counts of verdicts."""
    parts = [format_legend(), ""]
    for table in tables:
        counted = ", ".join(f"{number} {verdict}" for verdict, number in table.counts().items())
        parts += [f"## {table.id}: {table.caption}", "", table_as_text(table), "", f"{counted}", ""]
    return "\n".join(parts)


def tables_as_csv(tables: Sequence[ComparedTable]) -> str:
    """Format all tables as CSV with one line per cell."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["table", "row", "column", "printed", "measured", "difference", "verdict"])
    for table in tables:
        for cell in table.cells.values():
            measured = "" if cell.measured is None else f"{cell.measured:.6g}"
            difference = "" if cell.difference is None else f"{cell.difference:+.4f}"
            writer.writerow(
                [table.id, cell.row, cell.column, cell.printed, measured, difference, cell.verdict]
            )
    return stream.getvalue()


def compare_tables(results: Mapping[str, Any]) -> list[ComparedTable]:
    """Return the published tables of an experiment, in its order, with the cells that it measures."""
    name = results["experiment"]
    published = [
        cell for cell in load_all_cells() if cell.table_id in results["tables"] and cell.experiment == name
    ]
    measured = find_cell_values(published, {name: get_run_measures(results)})
    judged = judge_cells(measured, published, {}, load_deviations())
    return [
        _drop_empty_lines(make_compared_table([entry for entry in judged if entry.cell.table_id == table_id]))
        for table_id in results["tables"]
        if any(entry.cell.table_id == table_id for entry in judged)
    ]


def _drop_empty_lines(table: ComparedTable) -> ComparedTable:
    """Drop rows and columns without a cell; other experiments measure them."""
    rows = [row for row in table.rows if any(row == of for of, _ in table.cells)]
    columns = [column for column in table.columns if any(column == of for _, of in table.cells)]
    return replace(table, rows=rows, columns=columns)


def make_compared_table(verdicts: Sequence[CellVerdict]) -> ComparedTable:
    """Build one published table from its judged cells."""
    first = verdicts[0].cell
    table = load_paper(first.paper).tables[first.table]
    return ComparedTable(
        id=first.table_id,
        caption=table.caption,
        rows=list(table.rows),
        columns=list(table.columns),
        cells={
            (entry.cell.row, entry.cell.column): _make_cell(entry)
            for entry in verdicts
            if entry.cell.printed is not None
        },
    )


def number_notes(table: ComparedTable) -> tuple[ComparedTable, list[str]]:
    """Return the table with a note's number at every miss that has a known deviation, and the notes in that order."""
    notes: dict[str, int] = {}
    cells = {}
    for place, cell in table.cells.items():
        if cell.reason and cell.verdict in ("differs", "above"):
            number = notes.setdefault(cell.reason, len(notes) + 1)
            cells[place] = replace(cell, note=number)
        else:
            cells[place] = cell
    return replace(table, cells=cells), list(notes)


def _make_cell(entry: CellVerdict) -> ComparedCell:
    deviation = entry.deviation
    return ComparedCell(
        row=entry.cell.row,
        column=entry.cell.column,
        printed=entry.cell.printed or "",
        unit=entry.cell.unit,
        measured=entry.measured,
        difference=entry.difference,
        verdict=entry.verdict,
        reason=deviation.reason if deviation else "",
        evidence="; ".join(_format_figures(v.variant, v.figures) for v in deviation.evidence)
        if deviation
        else "",
        documents=entry.documents,
        repeats=entry.cell.repeats is not None,
    )


def _format_figures(variant: str, figures: Mapping[str, float]) -> str:
    return f"{variant}: " + ", ".join(f"{name} {value:g}" for name, value in figures.items())
