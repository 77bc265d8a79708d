"""An experiment's results beside the published tables that it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from textcat.experiment.results_file import measures_of
from textcat.published.accepted import load_deviations
from textcat.published.check import CellVerdict, compare
from textcat.published.load import all_cells, load_paper
from textcat.published.measured import measured_cells
from textcat.report.tables import ComparedTable, TableCell


def compared_tables(results: Mapping[str, Any]) -> list[ComparedTable]:
    """The experiment's tables, in the order in which it names them, as far as it makes them."""
    name = results["experiment"]
    published = [
        cell for cell in all_cells() if cell.table_id in results["tables"] and cell.experiment == name
    ]
    measured = measured_cells(published, {name: measures_of(results)})
    judged = compare(measured, published, {}, load_deviations())
    return [
        _without_empty_lines(table_of([entry for entry in judged if entry.cell.table_id == table_id]))
        for table_id in results["tables"]
        if any(entry.cell.table_id == table_id for entry in judged)
    ]


def _without_empty_lines(table: ComparedTable) -> ComparedTable:
    """Without the rows and columns that other experiments make."""
    rows = [row for row in table.rows if any(row == of for of, _ in table.cells)]
    columns = [column for column in table.columns if any(column == of for _, of in table.cells)]
    return replace(table, rows=rows, columns=columns)


def table_of(verdicts: Sequence[CellVerdict]) -> ComparedTable:
    """One published table of judged cells."""
    first = verdicts[0].cell
    table = load_paper(first.paper).tables[first.table]
    return ComparedTable(
        id=first.table_id,
        caption=table.caption,
        rows=list(table.rows),
        columns=list(table.columns),
        cells={
            (entry.cell.row, entry.cell.column): _cell(entry)
            for entry in verdicts
            if entry.cell.printed is not None
        },
    )


def _cell(entry: CellVerdict) -> TableCell:
    deviation = entry.deviation
    return TableCell(
        row=entry.cell.row,
        column=entry.cell.column,
        printed=entry.cell.printed or "",
        unit=entry.cell.unit,
        measured=entry.measured,
        difference=entry.difference,
        verdict=entry.verdict,
        reason=deviation.reason if deviation else "",
        evidence="; ".join(_figures(v.variant, v.figures) for v in deviation.evidence) if deviation else "",
    )


def _figures(variant: str, figures: Mapping[str, float]) -> str:
    return f"{variant}: " + ", ".join(f"{name} {value:g}" for name, value in figures.items())
