"""The matrix lists every cell and claim, whatever was run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.experiment.own_table import results_of
from tests.loops import for_each
from textcat.published.check import judge_cells
from textcat.published.claims import load_claims
from textcat.published.printed_tables import load_all_cells
from textcat.report.comparison_tables import format_cell, make_compared_table
from textcat.report.matrix import write_matrix
from textcat.report.writer import draw_figures


def test_without_any_results_every_cell_and_claim_is_listed_as_not_run(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, {})
    listed = [cell["id"] for table in matrix["tables"] for cell in table["cells"]]
    assert sorted(listed) == sorted(cell.id for cell in load_all_cells())
    assert matrix["totals"]["run"] == 0
    assert matrix["claims"]["not run"] == len([claim for claim in load_claims() if not claim.identity])
    assert [claim["outcome"] for claim in matrix["each_claim"]] == ["not run"] * len(load_claims())
    for table in matrix["tables"]:
        assert table["table"] in (tmp_path / "reproduction.md").read_text()
        assert table["table"] in (tmp_path / "reproduction.html").read_text()


def test_a_claim_on_existing_runs_has_an_outcome(tmp_path: Path) -> None:
    settings = {
        "name": "zhang_oles_2001/smoothing",
        "runs": {"lambda_1": {"learner": "naive_bayes"}, "lambda_1e-2": {"learner": "naive_bayes"}},
    }
    results = results_of(tmp_path, settings)
    matrix = write_matrix(tmp_path, {results["experiment"]: results})
    outcomes = {claim["id"]: claim["outcome"] for claim in matrix["each_claim"]}
    assert outcomes["zhang_oles_2001.little_smoothing_beats_laplace"] == "fails"


def test_every_printed_number_is_in_the_headline_once(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, {})
    for group in ("totals", "text", "spreads"):
        assert sum(matrix[group]["headline"].values()) == matrix[group]["counted"]
    text = (tmp_path / "reproduction.md").read_text()
    assert text.startswith("# Reproduction of the numbers of five papers\n\nOf 0 judged numbers with data")
    assert "Of the 576 numbers in tables 32 repeat another one." in text
    assert (tmp_path / "reproduction.svg").read_text().count("<rect") == 1 + 3 * 5 + 5
    assert "Not run: rank of the term-document matrix: the experiments take 1,613" in text
    assert "Of the 576 numbers in tables 32 repeat" in (tmp_path / "reproduction.html").read_text()


def test_cells_without_a_number_or_a_judgement_have_no_sign() -> None:
    share = "zhang_jin_2003.table2[earn][MLR-CG Training share]"
    cells = {cell.id: cell for cell in load_all_cells()}
    nwin = cells["zhang_2000.table1[grain][NWin]"]
    entries = judge_cells({share: 50.0, nwin.id: 80.1}, [cells[share], nwin], {}, (), {nwin.id: 149.0})
    ratio = make_compared_table(entries[:1]).cells["earn", "MLR-CG Training share"]
    assert format_cell(ratio) == "50 (795)"
    grain = make_compared_table(entries[1:]).cells["grain", "NWin"]
    assert format_cell(grain) == "80.1 (88.6; \u221213d) !\u2020"
    missing = make_compared_table(judge_cells({}, [nwin], {})).cells["grain", "NWin"]
    assert format_cell(missing) == "- (88.6) \u2020"


def test_the_json_has_every_cell_and_claim_and_no_text_twice(tmp_path: Path) -> None:
    matrix = write_matrix(tmp_path, {})
    text = (tmp_path / "reproduction.json").read_text()
    kept = json.loads(text)
    assert (kept["totals"], kept["claims"]) == (matrix["totals"], matrix["claims"])
    for given, table in zip(matrix["tables"], kept["tables"], strict=True):
        for cell, found in zip(given["cells"], table["cells"], strict=True):
            named = {
                "deviation": kept["deviations"].get(found.get("deviation")),
                "cannot_run": kept["reasons"].get(found.get("cannot_run")),
                "reason": kept["reasons"].get(found.get("reason")),
                "paper": table["table"].partition(".")[0],
                "table": table["table"].partition(".")[2],
            }
            assert {key: {**found, **named}.get(key) or None for key in cell} == {
                key: value or None for key, value in cell.items()
            }
    for claim, found in zip(matrix["each_claim"], kept["each_claim"], strict=True):
        places = [(e["experiment"], e["run"], e["measure"]) for e in claim["evidence"]]
        assert all(measure in found["evidence"][e][run] for e, run, measure in places)
    for reason in [*kept["deviations"].values(), *kept["reasons"].values()]:
        assert text.count(json.dumps(reason)) == 1


@for_each("figure", ["zhang_oles_2001.figure4", "gao_2003.figure2", "genkin_2004.figure1"])
def test_figures_are_reproducible_as_svg_and_png(figure: str, tmp_path: Path) -> None:
    results = results_of(tmp_path, {"figures": [figure], "runs": {"run": {"learner": "naive_bayes"}}})
    drawn = [draw_figures(tmp_path / place, results)[0].svg for place in ("one", "other")]
    assert drawn[0] == drawn[1]
    assert (tmp_path / "one" / f"{figure.replace('.', '_')}.png").read_bytes()[:4] == b"\x89PNG"
