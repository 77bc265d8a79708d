"""The papers' printed numbers agree with each other, except for those that are named here and in docs/readings.md."""

from __future__ import annotations

from tests.conftest import PROJECT
from tests.loops import for_each
from textcat.published.consistency import check_cells, find_contradictions
from textcat.published.printed_tables import load_all_cells

CELLS = load_all_cells()
KNOWN = {
    "zhang_oles_2001.table2[BEP][Naive Bayes]",
    "zhang_jin_2003.table2[CCAT][MLR-CG Training share]",
    "gao_2003.table1[Top-10 macro-avg][1,613 F1]",
}


def test_these_numbers_contradict_others_and_the_page_on_limits_names_them() -> None:
    assert {found.cell.id for found in find_contradictions()} == KNOWN
    page = (PROJECT / "docs" / "readings.md").read_text(encoding="utf-8")
    assert [cell for cell in KNOWN if f"`{cell}`" not in page] == []


@for_each(
    ("cell_id", "printed", "allowed"),
    [
        ("zhang_oles_2001.table2[F1][Lin Reg]", "86.2", "85.94 to 86.04"),
        ("zhang_oles_2001.table4[BEP][SVM]", "79.6", "63.25 to 79.45"),
        ("genkin_2004.table1[ridge vs SVM][equal]", "48", "47.00 to 47.00"),
        ("zhang_jin_2003.table2[acq][MLR-CG Test Error share]", "99.3", "98.37 to 99.18"),
        ("zhang_2000.table2[corn][NWin]", "76.9", "76.75 to 76.85"),
        ("zhang_2000.table1[Micro-Avg Top 10][SVM]", "91.4", "91.49 to 91.59"),
        ("gao_2003.table4[Micro-avg (all 90)][MFoM]", "0.885", "88.42 to 88.42"),
    ],
)
def test_a_number_that_is_printed_wrong_is_found(cell_id: str, printed: str, allowed: str) -> None:
    changed = [cell.model_copy(update={"printed": printed}) if cell.id == cell_id else cell for cell in CELLS]
    assert tuple(changed) != CELLS
    (found,) = [found for found in check_cells(changed) if found.cell.id == cell_id]
    assert f"is printed as {printed}" in str(found)
    assert str(found).endswith(allowed)
