"""An experiment's results beside the published tables that it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textcat.published.load import all_cells, load_paper
from textcat.published.model import Cell
from textcat.published.verdicts import difference, verdict
from textcat.report.tables import ComparedTable, TableCell


def compared_tables(results: Mapping[str, Any]) -> list[ComparedTable]:
    """The experiment's tables, in the order in which it names them."""
    cells = all_cells()
    tables = []
    for table_id in results["tables"]:
        own = [cell for cell in cells if cell.table_id == table_id]
        if own:
            tables.append(_table(own, results))
    return tables


def measured_value(cell: Cell, results: Mapping[str, Any]) -> float | None:
    """What an experiment measured for a published cell; None where it has no such run or measure."""
    run = results["runs"].get(cell.run)
    value = run["measures"].get(cell.measure) if run else None
    return None if value is None else float(value)


def _table(cells: Sequence[Cell], results: Mapping[str, Any]) -> ComparedTable:
    table = load_paper(cells[0].paper).tables[cells[0].table]
    return ComparedTable(
        id=cells[0].table_id,
        caption=table.caption,
        rows=list(table.rows),
        columns=list(table.columns),
        cells={
            (cell.row, cell.column): _cell(cell, measured_value(cell, results))
            for cell in cells
            if cell.printed is not None
        },
    )


def _cell(cell: Cell, measured: float | None) -> TableCell:
    return TableCell(
        row=cell.row,
        column=cell.column,
        printed=cell.printed or "",
        unit=cell.unit,
        measured=measured,
        difference=difference(measured, cell.printed, cell.unit),
        verdict=verdict(measured, cell.printed, cell.kind, cell.unit),
    )
