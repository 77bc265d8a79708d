from __future__ import annotations

from collections import Counter

import pytest

from textcat.errors import UsageError
from textcat.published.load import all_cells, cells, load_paper, parse_paper
from textcat.published.verdicts import kind_of, read_printed

CELLS_PER_TABLE = {
    "zhang_oles_2001.table1": 6,
    "zhang_oles_2001.table2": 4 * 6,
    "zhang_oles_2001.table3": 10 * 6,
    "zhang_oles_2001.table4": 4 * 6,
    "zhang_oles_2001.table5": 7 * 5,
}


def test_every_printed_cell_is_there():
    assert Counter(cell.table_id for cell in all_cells()) == CELLS_PER_TABLE


def by_id() -> dict[str, str | None]:
    return {cell.id: cell.printed for cell in all_cells()}


def test_ids_are_unique():
    assert len(by_id()) == len(all_cells())


def test_printed_numbers_can_be_read_and_kinds_exist():
    for cell in all_cells():
        assert kind_of(cell.kind)
        for printed in (cell.printed, cell.spread):
            if printed is not None and cell.unit != "text":
                read_printed(printed, cell.unit)


def test_f1_of_zhang_oles_lies_between_its_precision_and_recall():
    printed = by_id()
    for table in ("table2", "table4"):
        for method in load_paper("zhang_oles_2001").tables[table].columns:
            p, r, f1 = (
                float(printed[f"zhang_oles_2001.{table}[{row}][{method}]"] or "nan")
                for row in ("Precision", "Recall", "F1")
            )
            assert f1 == pytest.approx(2 * p * r / (p + r), abs=0.11)


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
    found = cells(parse_paper(PAPER, "test"))
    assert [cell.run for cell in found] == ["lasso_cv", "lasso_norm", "ridge_cv", "ridge_norm"]
    assert [cell.measure for cell in found] == ["macro.f1", "macro.f1", "micro.f1", "micro.f1"]
    assert [cell.printed for cell in found] == ["1.0", None, "3.0", "4.0"]
    assert found[0].id == "some_paper.table1[lasso][CV]"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("unit: percent", "unit: percents", "does not fit"),
        ("kind: micro_f1", "kind: micro_f1\n    colour: red", "does not fit"),
        ("kind: micro_f1", "caption: again", "given twice"),
        ('    run: "{row.run}_{column.run}"\n', "", "both row and column give 'run'"),
        ("{row.run}", "{row.needs}", "does not say"),
        ("    kind: micro_f1\n", "", "gives kind"),
        ('["3.0", "4.0"]', '["3.0"]', "1 entries for 2 columns"),
        ("values: {lasso", "values: {lassso", "not the table's rows"),
        ("title: T", "title: [", "not readable"),
    ],
)
def test_mistakes_in_a_file_are_named(old, new, message):
    assert old in PAPER
    with pytest.raises(UsageError, match=message):
        cells(parse_paper(PAPER.replace(old, new), "test"))


def test_unknown_papers_are_refused():
    with pytest.raises(UsageError, match="no paper 'zhang_1999'"):
        load_paper("zhang_1999")
