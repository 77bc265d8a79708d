from __future__ import annotations

import json
import math

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import PROJECT
from tests.loops import for_each
from textcat.cli.check_command import check_command
from textcat.errors import UsageError
from textcat.published import check
from textcat.published.check import (
    Deviation,
    find_cell_intervals,
    find_cell_values,
    find_document_counts,
    judge_cells,
    load_deviations,
    load_pinned,
    render_pinned,
    summarize_differences,
    summarize_verdicts,
)
from textcat.published.printed_tables import load_all_cells
from textcat.published.verdicts import load_measure_kinds, read_printed
from textcat.report import gate

CELLS = load_all_cells()
BEP = "zhang_oles_2001.table2[BEP][Logistic Reg]"


def as_printed() -> dict[str, float | None]:
    """Measured values of a perfect reproduction."""
    return {
        cell.id: read_printed(cell.printed, cell.unit).value
        for cell in CELLS
        if cell.printed is not None and cell.unit != "text"
    }


def judged(measured, pinned=None, deviations=()):
    return {entry.cell.id: entry for entry in judge_cells(measured, CELLS, pinned or {}, deviations)}


def test_the_printed_numbers_themselves_are_all_reproduced():
    for entry in judge_cells(as_printed(), CELLS, {}):
        if entry.gated:
            assert entry.verdict == "reproduced", entry.cell.id
        assert not entry.failed


def test_cells_without_a_run_never_pass():
    entries = judge_cells({}, CELLS, as_printed())
    assert len(entries) == len(CELLS)
    assert {entry.verdict for entry in entries} == {"missing"}
    assert not any(entry.failed for entry in entries)
    assert {entry.state for entry in entries} == {"not run", "cannot run"}
    report = summarize_verdicts(entries)
    assert report["totals"]["share_reproduced"] == 0
    assert len(report["not_run"]) + len(report["cannot_run"]) == len(CELLS)


def test_a_cell_that_cannot_run_is_run_with_the_users_files():
    cell = next(cell for cell in CELLS if cell.cannot_run)
    assert judged({})[cell.id].state == "cannot run"
    assert judged({cell.id: 1.0})[cell.id].state == "run"


@for_each(
    ("now", "drifted", "lost"),
    [
        (86.4, False, False),
        (86.449, False, False),
        (86.46, True, False),
        (86.34, True, False),
        (85.0, True, True),
        (math.nan, True, True),
        (None, True, True),
    ],
)
def test_drift_from_the_pinned_value(now, drifted, lost):
    entry = judged({BEP: now}, {BEP: 86.4})[BEP]
    assert (entry.drifted, entry.lost, entry.failed) == (drifted, lost, drifted or lost)


def test_a_cell_at_the_edge_can_be_lost_without_drift():
    entry = judged({BEP: 85.84}, {BEP: 85.86})[BEP]
    assert (entry.drifted, entry.lost, entry.verdict) == (False, True, "close")
    assert (entry.cell.id, entry.failed) == (BEP, True)


def test_a_value_above_print_is_not_reproduced():
    entry = judged({BEP: 89.5}, {BEP: 87.0})[BEP]
    assert (entry.verdict, entry.lost) == ("above", True)


def test_p_values_and_lambdas_have_a_finer_drift():
    p_value = "genkin_2004.table1[lasso vs ridge][p-value]"
    assert judged({p_value: 0.02}, {p_value: 0.005})[p_value].drifted
    chosen = "zhang_oles_2001.table1[lambda][Lin Reg]"
    assert judged({chosen: 1e-4}, {chosen: 1e-3})[chosen].drifted
    assert not judged({chosen: 1e-3}, {chosen: 1e-3})[chosen].drifted


def test_seconds_never_drift():
    seconds = "zhang_jin_2003.table2[earn][MLR-CG Training]"
    entry = judged({seconds: 100.0}, {seconds: 1.0})[seconds]
    assert (entry.drifted, entry.failed, entry.gated) == (False, False, False)


def test_wins_and_losses_are_judged_together():
    fewer, more = (f"genkin_2004.table1[ridge vs SVM][{column}]" for column in ("fewer", "more"))
    entries = judged({fewer: 20.0, more: 25.0})
    assert entries[fewer].verdict == entries[more].verdict == "reproduced"
    entries = judged({fewer: 25.0, more: 20.0})
    assert entries[fewer].verdict == entries[more].verdict == "differs"
    assert judged({fewer: 25.0})[fewer].verdict == "missing"


def test_deviations_cover_by_star_and_brackets_are_plain():
    deviation = Deviation(cells="zhang_oles_2001.table2[*][Logistic Reg]", reason="because", evidence=())
    entries = judged({BEP: 80.0}, deviations=[deviation])
    assert entries[BEP].deviation is deviation
    assert not entries[BEP].unexplained
    assert judged({BEP: 80.0})[BEP].unexplained
    assert entries["zhang_oles_2001.table2[BEP][SVM]"].deviation is None
    assert not Deviation(cells="zhang_oles_2001.table[123]*", reason="r", evidence=()).covers(BEP)


def test_values_are_found_by_experiment_run_and_measure():
    results = {
        "reuters_modapte": {"logistic": {"micro.bep": 85.5, "micro.f1": math.nan}},
        "zhang_jin_2003/table2_reuters": {
            "svm": {"category.earn.error_rate": 2.0},
            "mlr_cg": {"category.earn.error_rate": 2.1},
        },
    }
    found = find_cell_values(CELLS, results)
    assert found[BEP] == 85.5
    assert found["zhang_oles_2001.table2[F1][Logistic Reg]"] is None
    assert found["zhang_oles_2001.table2[Precision][Logistic Reg]"] is None
    assert "zhang_oles_2001.table2[BEP][SVM]" not in found
    assert found["zhang_jin_2003.table2[earn][MLR-CG Test Error share]"] == pytest.approx(105.0)
    assert found["zhang_jin_2003.table2[acq][MLR-CG Test Error share]"] is None
    assert "zhang_jin_2003.table1[Univ-6][features]" not in found


def test_summary_is_json_and_its_counts_add_up():
    measured = as_printed()
    for cell in CELLS[::3]:
        measured.pop(cell.id, None)
    for cell in CELLS[1::5]:
        if cell.id in measured:
            measured[cell.id] = 1.0
    report = json.loads(json.dumps(summarize_verdicts(judge_cells(measured, CELLS, {})), allow_nan=False))
    totals = report["totals"]
    groups = [report[name] for name in ("totals", "text", "spreads")]
    assert sum(group["cells"] for group in groups) == len(
        [cell for cell in CELLS if cell.printed is not None]
    )
    for group in groups:
        assert group["counted"] == group["run"] + group["not_run"] + group["cannot_run"]
        assert group["counted"] == group["cells"] - group["repeats"] == sum(group["headline"].values())
        verdicts, headline = group["verdicts"], group["headline"]
        assert headline["off"] == verdicts["above"] + verdicts["differs"]
    assert sum(totals["verdicts"].values()) == totals["runnable_gated"]
    for count in ("cells", "runnable_gated"):
        assert sum(part[count] for part in report["papers"].values()) == totals[count]
        assert sum(part[count] for part in report["tables"].values()) == sum(group[count] for group in groups)
    reproduced = [
        entry
        for entry in report["cells"]
        if entry["gated"] and entry["verdict"] == "reproduced" and not entry["repeats"]
    ]
    assert sum(group["verdicts"]["reproduced"] for group in groups) == len(
        [entry for entry in reproduced if entry["state"] != "cannot run"]
    )


NWIN, UWIN = (f"zhang_2000.table1[grain][{method}]" for method in ("NWin", "UWin"))


def test_a_number_that_repeats_another_is_judged_and_not_counted():
    found = summarize_verdicts(judge_cells({NWIN: 50.0, UWIN: 88.6}, CELLS, {}))
    assert next(cell for cell in found["cells"] if cell["id"] == NWIN)["verdict"] == "differs"
    table = found["tables"]["zhang_2000.table1"]
    assert (table["cells"], table["repeats"], table["run"]) == (72, 12, 1)
    assert table["headline"]["off"] == 0


def test_kinds_that_are_not_judged_have_no_verdict():
    share = "zhang_jin_2003.table2[earn][MLR-CG Training share]"
    assert judged({share: 50.0})[share].verdict == "ungated"


def test_a_number_without_an_experiment_is_not_run_though_its_run_exists():
    rank = "gao_2003.text[rank of the term-document matrix][Number]"
    entry = judged({rank: None})[rank]
    assert (entry.state, entry.verdict) == ("not run", "missing")
    assert "1,613 dimensions" in summarize_verdicts([entry])["cells"][0]["reason"]


def test_differences_of_single_topics_in_documents():
    bep, f1, error = (
        "zhang_2000.table1[grain][SVM]",
        "zhang_oles_2001.table3[Grain][SVM]",
        "zhang_jin_2003.table2[grain][SVM-light Test Error]",
    )
    counts = {"tp": 120.0, "fn": 29.0, "fp": 12.0, "tn": 2858.0}
    measures = {f"category.grain.{name}": value for name, value in counts.items()}
    results = {
        "zhang_2000/table1": {"svm": {**measures, "category.grain.bep": 87.9}},
        "reuters_modapte": {"svm": {**measures, "category.grain.f1": 89.6}},
        "zhang_jin_2003/table2_reuters": {"svm": {**measures, "category.grain.error_rate": 1.358}},
    }
    scales = find_document_counts(CELLS, results)
    assert scales[bep] == 149
    assert scales[f1] == 140.5
    assert scales[error] == 3019
    found = {v.cell.id: v for v in judge_cells(find_cell_values(CELLS, results), CELLS, {}, (), scales)}
    assert (found[bep].documents, found[f1].documents, found[error].documents) == (-4, 0, 18)


def test_mean_differences_are_in_points():
    entries = judge_cells(
        {"zhang_2000.table1[grain][SVM]": 91.6, "zhang_2000.table1[ship][SVM]": 82.4, NWIN: 0.0}, CELLS, {}
    )
    assert summarize_differences(entries) == {"cells": 2, "signed": -1.0, "absolute": 2.0}
    assert summarize_differences([]) is None


@settings(deadline=None, max_examples=30)
@given(st.dictionaries(st.sampled_from([cell.id for cell in CELLS]), st.floats(allow_nan=True)))
def test_the_pinned_file_round_trips(measured):
    text = render_pinned(measured, [cell.id for cell in CELLS])
    read = yaml.safe_load(text) or {}
    finite = {key: value for key, value in measured.items() if math.isfinite(value)}
    assert read.keys() == finite.keys()
    for key, value in finite.items():
        assert isinstance(read[key], float | int)
        assert read[key] == pytest.approx(value, rel=1e-3, abs=5e-5)


def test_pinned_values_and_deviations_name_published_cells():
    ids = {cell.id for cell in CELLS}
    assert set(load_pinned()) <= ids
    for deviation in load_deviations():
        assert any(deviation.covers(cell_id) for cell_id in ids), deviation.cells
        assert deviation.evidence


@for_each("load", [load_pinned, load_deviations])
def test_wrong_pinned_values_and_deviations_are_refused(load, monkeypatch):
    monkeypatch.setattr(check, "read_packaged_yaml", lambda name: {BEP: "high"})
    with pytest.raises(UsageError, match=r"(pinned|deviations)\.yaml: invalid"):
        load()


def test_every_kind_of_tolerance_is_used():
    assert {cell.kind for cell in CELLS} == set(load_measure_kinds())


@for_each(("pins", "left"), [({}, 6), ({"zhang_oles_2001.table1[lambda][SVM]": 0.001}, 5)])
def test_numbers_without_a_pin_are_said(
    pins: dict[str, float], left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a damaged file of pinned values would pass every check."""
    command = [str(PROJECT / "results" / "zhang_oles_2001" / "table1")]
    assert CliRunner().invoke(check_command, command, standalone_mode=False).stderr == ""
    monkeypatch.setattr(gate, "load_pinned", lambda: dict(pins))
    done = CliRunner().invoke(check_command, command, standalone_mode=False)
    assert (
        f"without a pinned value to compare with: {left}, such as zhang_oles_2001.table1[lambda]"
        in done.stderr
    )


def test_pins_that_are_no_table_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "read_packaged_yaml", lambda name: [])
    with pytest.raises(UsageError, match="invalid pinned values"):
        load_pinned()


@for_each(
    ("interval", "inside"),
    [((86.0, 86.84), False), ((86.0, 86.85), True), ((86.95, 88.0), True), ((86.96, 88.0), False)],
)
def test_a_printed_number_is_inside_an_interval_that_holds_a_number_rounding_to_it(interval, inside) -> None:
    """86.9 is printed for all numbers from 86.85 to 86.95."""
    published = [cell for cell in CELLS if cell.id == BEP]
    (entry,) = judge_cells({BEP: 86.0}, published, {}, intervals={BEP: interval})
    assert entry.holds_printed is inside
    totals = summarize_verdicts([entry])["totals"]
    assert (totals["with_interval"], totals["in_interval"]) == (1, int(inside))
    (without,) = judge_cells({BEP: 86.0}, published, {})
    assert without.holds_printed is None
    assert summarize_verdicts([without])["totals"]["with_interval"] == 0


def test_intervals_of_results_reach_the_cells_of_their_run_and_measure_in_the_printed_unit() -> None:
    published = [cell for cell in CELLS if cell.table_id == "gao_2003.table3"]
    ends = {"gao_2003/table2": {"f1_400_500": {"micro.f1": [86.0, 87.5], "macro.f1": [1.0, 2.0]}}}
    found = find_cell_intervals(published, ends)
    assert list(found) == ["gao_2003.table3[Dim 400][500ite]"]
    judged = judge_cells(dict.fromkeys(found, 87.0), published, {}, intervals=found)
    assert [entry.spread for entry in judged if entry.spread] == ["\u00b10.0075"]
