from __future__ import annotations

from collections import Counter

import pytest

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.published.printed_tables import list_cells, load_all_cells, load_paper, validate_paper
from textcat.published.verdicts import find_measure_kind, read_printed
from textcat.yaml_reader import parse_yaml

CELLS_PER_TABLE = {
    "zhang_oles_2001.table1": 6,
    "zhang_oles_2001.table2": 4 * 6,
    "zhang_oles_2001.table3": 10 * 6,
    "zhang_oles_2001.table4": 4 * 6,
    "zhang_oles_2001.table5": 7 * 5,
    "zhang_oles_2001.table5_spread": 7 * 5,
    "zhang_oles_2001.text": 9,
    "zhang_jin_2003.table1": 5 * 4,
    "zhang_jin_2003.table2": 8 * 6,
    "zhang_jin_2003.whole_reuters": 2 * 2,
    "zhang_jin_2003.table3": 3 * 4,
    "genkin_2004.table1": 3 * 4,
    "genkin_2004.table2": 3 * 4,
    "genkin_2004.table3": 3 * 4,
    "genkin_2004.table4": 6 * 3,
    "genkin_2004.table5": 5 * 2,
    "genkin_2004.table6": 5 * 2,
    "genkin_2004.table7": 5 * 2,
    "genkin_2004.selected_features": 3 * 4,
    "genkin_2004.text": 5,
    "gao_2003.table1": 4 * 4,
    "gao_2003.table2": 6 * 4,
    "gao_2003.table3": 6 * 4,
    "gao_2003.table4": 12 * 3,
    "gao_2003.text": 7,
    "zhang_2000.table1": 12 * 6,
    "zhang_2000.table2": 12 * 6,
    "zhang_2000.webkb": 4,
    "zhang_2000.text": 3,
}


def test_number_of_cells_per_table():
    assert Counter(cell.table_id for cell in load_all_cells()) == CELLS_PER_TABLE


def by_id() -> dict[str, str | None]:
    return {cell.id: cell.printed for cell in load_all_cells()}


def test_ids_are_unique():
    assert len(by_id()) == len(load_all_cells())


def test_printed_numbers_can_be_read_and_kinds_exist():
    for cell in load_all_cells():
        assert find_measure_kind(cell.kind)
        if cell.printed is not None and cell.unit != "text":
            read_printed(cell.printed, cell.unit)


def test_only_one_cell_prints_nothing():
    absent = [cell.id for cell in load_all_cells() if cell.printed is None]
    assert absent == ["gao_2003.table4[Macro-avg (all 90)][Linear SVM]"]


def test_numbers_of_each_group():
    printed = Counter(cell.group for cell in load_all_cells() if cell.printed is not None)
    assert printed == {"tables": 576, "spreads": 35, "text": 9 + 5 + 7 + 3}
    judged = [
        cell for cell in load_all_cells() if cell.group == "tables" and find_measure_kind(cell.kind).gated
    ]
    assert len(judged) == 531


def test_numbers_of_the_running_text_say_where():
    assert all(cell.where for cell in load_all_cells() if cell.group == "text")
    for cell in load_all_cells():
        assert not (cell.not_run and cell.cannot_run)


def test_repeated_cells_print_the_number_they_repeat():
    cells = {cell.id: cell for cell in load_all_cells()}
    repeats = [cell for cell in cells.values() if cell.repeats]
    assert Counter(cell.table_id for cell in repeats) == {
        "zhang_2000.table1": 12,
        "zhang_2000.table2": 12,
        "genkin_2004.table4": 6,
        "gao_2003.table4": 2,
    }
    for cell in repeats:
        other = cells[str(cell.repeats)]
        assert other.counted
        decimals = len(str(cell.printed).partition(".")[2])
        assert cell.printed == f"{float(str(other.printed)):.{decimals}f}"


def test_cells_that_cannot_run_are_those_without_data():
    kept_out = Counter(cell.table_id for cell in load_all_cells() if cell.cannot_run)
    assert kept_out == {
        "zhang_oles_2001.table4": 24,
        "zhang_oles_2001.table5": 21,
        "zhang_oles_2001.table5_spread": 21,
        "zhang_jin_2003.table1": 12,
        "zhang_jin_2003.table2": 24,
        "zhang_jin_2003.table3": 8,
        "genkin_2004.table2": 12,
        "genkin_2004.table3": 12,
        "genkin_2004.table4": 12,
        "genkin_2004.table6": 10,
        "genkin_2004.table7": 10,
        "genkin_2004.selected_features": 8,
    }
    assert all(cell.needs for cell in load_all_cells() if cell.cannot_run)


def test_the_same_runs_printed_in_two_tables_agree():
    printed = by_id()
    for method, row in (("lasso", "lasso all (18,978)"), ("ridge", "ridge all (18,978)")):
        in_table4 = printed[f"genkin_2004.table4[{method} default][ModApte]"]
        assert in_table4 == printed[f"genkin_2004.table5[{row}][CV]"]
    best = printed["gao_2003.table3[Dim 1613][2000ite]"]
    in_table4 = printed["gao_2003.table4[Micro-avg (all 90)][MFoM]"]
    assert best is not None
    assert in_table4 == f"{float(best):.3f}"


def test_plain_winnow_columns_are_equal():
    printed = by_id()
    for table in ("table1", "table2"):
        for row in load_paper("zhang_2000").tables[table].rows:
            assert printed[f"zhang_2000.{table}[{row}][UWin]"] == printed[f"zhang_2000.{table}[{row}][NWin]"]


PAPER = """
paper: some_paper
title: T
authors: [A]
venue: V
year: 2000
bibtex: "@misc{a}"
tables:
  table1:
    caption: C
    experiment: some_paper/table1
    unit: percent
    kind: micro_f1
    run: "{row.run}_{column.run}"
    columns: {CV: {run: cv}, norm: {run: norm}}
    rows: {lasso: {run: lasso, measure: macro.f1}, ridge: {run: ridge, measure: micro.f1}}
    values: {lasso: ["1.0", null], ridge: ["3.0", "4.0"]}
"""


def test_templates_combine_row_and_column():
    found = list_cells(validate_paper(parse_yaml(PAPER, "test").data, "test"))
    assert [cell.run for cell in found] == ["lasso_cv", "lasso_norm", "ridge_cv", "ridge_norm"]
    assert [cell.measure for cell in found] == ["macro.f1", "macro.f1", "micro.f1", "micro.f1"]
    assert [cell.printed for cell in found] == ["1.0", None, "3.0", "4.0"]
    assert found[0].id == "some_paper.table1[lasso][CV]"


@for_each(
    ("old", "new", "message"),
    [
        ("unit: percent", "unit: percents", "invalid tables"),
        ("kind: micro_f1", "kind: micro_f1\n    colour: red", "invalid tables"),
        ("kind: micro_f1", "caption: again", "given twice"),
        ('    run: "{row.run}_{column.run}"\n', "", "both row and column set 'run'"),
        ("{row.run}", "{row.needs}", "does not set"),
        ("    kind: micro_f1\n", "", "sets kind"),
        ('["3.0", "4.0"]', '["3.0"]', "1 entries for 2 columns"),
        ("values: {lasso", "values: {lassso", "not the table's rows"),
        ("title: T", "title: [", "not valid YAML"),
    ],
)
def test_invalid_tables_are_refused(old, new, message):
    assert old in PAPER
    with pytest.raises(UsageError, match=message):
        list_cells(validate_paper(parse_yaml(PAPER.replace(old, new), "test").data, "test"))


def test_unknown_papers_are_refused():
    with pytest.raises(UsageError, match="unknown paper 'zhang_1999'"):
        load_paper("zhang_1999")
