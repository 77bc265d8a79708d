"""The tables of an experiment hold its cells, and none of other experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from textcat.experiment.run.results_file import read_results
from textcat.published.printed_tables import load_all_cells
from textcat.report.comparison_tables import ComparedCell, ComparedTable, compare_tables, number_notes
from textcat.report.experiment_page import group_deviations

RESULTS = Path(__file__).resolve().parents[2] / "results"
MADE = sorted(path.parent.relative_to(RESULTS).as_posix() for path in RESULTS.rglob("results.json"))


@pytest.mark.parametrize("name", MADE)
def test_tables_contain_the_cells_of_the_experiment(name: str) -> None:
    results = read_results(RESULTS / name)
    tables = compare_tables(results)
    shown = {(table.id, row, column) for table in tables for row, column in table.cells}
    assert shown == {
        (cell.table_id, cell.row, cell.column)
        for cell in load_all_cells()
        if cell.experiment == name and cell.table_id in results["tables"] and cell.printed is not None
    }
    for table in tables:
        assert {row for row, _ in table.cells} == set(table.rows)
        assert {column for _, column in table.cells} == set(table.columns)


def test_cells_of_other_experiments_are_not_missing() -> None:
    first = compare_tables(read_results(RESULTS / "zhang_jin_2003/table3_univ6"))[0]
    assert list(first.rows) == ["Univ-6"]
    assert "missing" not in first.counts()


def test_cells_with_the_same_reason_share_one_note_and_join_their_evidence() -> None:
    """The words of a reason appear once, however many groups of cells with evidence of their own have it."""
    columns = {"a": "first figures", "b": "other figures", "c": "first figures"}
    cells = {
        ("r", name): ComparedCell("r", name, "80.0", "percent", 70.0, -10.0, "differs", "the same", evidence)
        for name, evidence in columns.items()
    }
    table, notes = number_notes(ComparedTable("p.t", "", ["r"], list(columns), cells))
    assert notes == ["the same"]
    assert {cell.note for cell in table.cells.values()} == {1}
    (group,) = group_deviations([table], noted=True)
    assert group["evidence"] == "first figures; other figures"
    assert group["cells"] == "p.t[r][a], p.t[r][b], p.t[r][c]"
