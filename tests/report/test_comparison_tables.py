"""The tables of an experiment hold its cells, and none of other experiments."""

from __future__ import annotations

import re
from pathlib import Path

from tests.loops import for_each
from textcat.experiment.run.results_file import read_results
from textcat.published.check import Deviation, Variant, judge_cells
from textcat.published.printed_tables import load_all_cells
from textcat.report.comparison_tables import (
    compare_tables,
    make_compared_table,
    number_notes,
    tables_as_markdown,
)
from textcat.report.experiment_page import group_deviations, name_cells
from textcat.report.reading_headlines import read_ranges
from textcat.report.writer import hash_report_code, write_report

RESULTS = Path(__file__).resolve().parents[2] / "results"
# Those of another copy, in local/, are not committed.
MADE = sorted(
    path.parent.relative_to(RESULTS).as_posix()
    for path in RESULTS.rglob("results.json")
    if RESULTS / "local" not in path.parents
)


@for_each("name", MADE)
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
    cells = [cell for cell in load_all_cells() if cell.table_id == "zhang_2000.table1" and cell.row == "earn"]
    deviations = [
        Deviation(
            cells=f"*[{column}]", reason="the same", evidence=(Variant(variant=name, figures={"n": 1}),)
        )
        for column, name in (("SVM", "first"), ("UWin", "other"), ("Perceptron", "first"))
    ]
    judged = judge_cells({cell.id: 10.0 for cell in cells}, cells, {}, deviations)
    table, notes = number_notes(make_compared_table(judged))
    assert notes == ["the same"]
    assert [cell.note for cell in table.cells.values()] == [1, 1, 1, None, None, None]
    (group,) = group_deviations(table)
    assert group["evidence"] == "first: n 1; other: n 1"
    assert group["cells"] == "earn: Perceptron, SVM, UWin"


def test_a_note_names_whole_columns_and_rows_in_words() -> None:
    cells = [cell for cell in load_all_cells() if cell.table_id == "zhang_oles_2001.table2"]
    table = make_compared_table(judge_cells({}, cells, {}))
    column = [place for place in table.cells if place[1] == "SVM"]
    row = [place for place in table.cells if place[0] == "BEP"]
    other = ("F1", "Lin Reg")
    assert name_cells(table, [*column, *row, other]) == "column SVM; row BEP; F1: Lin Reg"
    assert name_cells(table, list(table.cells)) == "all cells"


def test_the_page_of_an_experiment_shows_what_the_matrix_shows(tmp_path: Path) -> None:
    """Notes are linked from cells and named in words; ranges over readings, intervals and tolerances are shown."""
    results = read_results(RESULTS / "reuters_modapte")
    ranges = read_ranges(RESULTS, ["zhang_oles_2001"])
    write_report(tmp_path, results, compare_tables(results), {}, ranges=ranges)
    page = (tmp_path / "report.html").read_text()
    links = re.findall(r'href="#([^"]+)"', page)
    assert links
    assert set(links) == set(re.findall(r'<details class="why" id="([^"]+)"', page))
    named = re.findall(r"<summary>1\. ([^:]+):", page)
    assert named
    assert "[" not in "".join(named)
    assert re.search(
        r"<title>Recall, SVM: printed 84.0, difference \S+, over readings \S+ to \S+</title>", page
    )
    assert "printed numbers with a 95 % interval of our number are inside it" in page
    assert "Reproduced within: " in page
    assert hash_report_code(ranges) != hash_report_code()


def test_a_table_shows_sampling_errors_tolerances_and_contradictions() -> None:
    cells = [cell for cell in load_all_cells() if cell.table_id == "zhang_oles_2001.table2"]
    measured = {cell.id: 80.0 for cell in cells}
    ends = {"zhang_oles_2001.table2[BEP][Naive Bayes]": (79.0, 81.5)}
    shown, without = (
        tables_as_markdown([make_compared_table(judge_cells(measured, cells, {}, intervals=intervals))])
        for intervals in (ends, {})
    )
    assert "80.0 \u00b11.2 (75.8\u2021) +" in shown
    assert "\u00b1: half of the 95 % interval over 1,000 bootstrap resamples" in shown
    assert "\u00b1" not in without
    for text in (shown, without):
        assert "Reproduced within: precision, recall, micro F1, micro BEP: 1 point, close 2." in text
        assert "\u2021: the printed number contradicts others of its paper" in text
