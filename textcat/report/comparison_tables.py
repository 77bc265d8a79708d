"""Tables of measured and printed numbers, as text, CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from textcat.experiment.run.results_file import get_run_measures
from textcat.published.accepted import load_deviations
from textcat.published.check import REPEATS_SIGN, SIGNS, CellVerdict, find_cell_values, judge_cells
from textcat.published.printed_tables import load_all_cells, load_paper
from textcat.report.escaping import escape_markdown, format_markdown_table


@dataclass(frozen=True)
class ComparedTable:
    """A published table with measured numbers."""

    id: str
    caption: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: dict[tuple[str, str], CellVerdict]

    def counts(self) -> dict[str, int]:
        """Count the cells by verdict."""
        return dict(sorted(Counter(cell.verdict for cell in self.cells.values()).items()))


def format_cell(cell: CellVerdict | None) -> str:
    """Format a cell as `measured (printed) sign`, where the sign shows the verdict.

    For a single topic the difference in documents follows the printed number; `[1]` is the number of a note.
    """
    if cell is None:
        return ""
    documents = "" if cell.documents is None else f"; {format_documents(cell.documents)}"
    note = "" if cell.note is None else f" [{cell.note}]"
    return f"{cell.text} ({cell.cell.printed}{documents}) {cell.sign}".rstrip() + note


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
    return format_markdown_table(rows, ["", *map(name, table.columns)], style)


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
            each = cell.cell
            measured = "" if cell.measured is None else f"{cell.measured:.6g}"
            difference = "" if cell.difference is None else f"{cell.difference:+.4f}"
            writer.writerow(
                [table.id, each.row, each.column, each.printed, measured, difference, cell.verdict]
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
            (entry.cell.row, entry.cell.column): entry for entry in verdicts if entry.cell.printed is not None
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
