"""The table of runs: one accuracy instead of four equal measures where each document has one category."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import PROJECT
from tests.experiment.own_table import carried_out
from tests.loops import for_each
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.results_file import read_results
from textcat.report.comparison_tables import choose_headline_columns, format_headline_numbers, runs_as_text
from textcat.report.escaping import escape_markdown
from textcat.report.writer import format_for_terminal, write_report

RUNS = {"bayes": {"learner": "naive_bayes"}}


def results_of(folder: Path, **corpus: Any) -> dict[str, Any]:
    plan, context, _ = carried_out(folder, {"runs": RUNS, "corpus": corpus}, single=True)
    return collect_results(plan, context)


def test_one_label_has_one_accuracy_and_counts_a_document_once(tmp_path: Path) -> None:
    results = results_of(tmp_path, single_label=True)
    assert choose_headline_columns(results) == ["accuracy", "macro F1", "wrong"]
    measures = results["runs"]["bayes"]["measures"]
    tests = results["corpus"]["test_documents"]
    wrong = round(tests * (1 - measures["accuracy"] / 100))
    assert wrong > 0
    assert format_headline_numbers(measures, ["wrong"]) == [str(wrong)]
    assert measures["micro.errors"] == 2 * wrong
    printed = format_for_terminal(results, [])
    write_report(tmp_path / "report", results, [], {})
    for text in (printed, (tmp_path / "report" / "report.html").read_text()):
        assert "accuracy" in text
        assert "micro P" not in text
        assert "BEP" not in text


def test_other_experiments_have_every_column(tmp_path: Path) -> None:
    several = results_of(tmp_path, single_label=False)
    assert {"micro P", "micro R", "micro F1", "BEP", "errors"} <= set(choose_headline_columns(several))


@for_each("name", ["zhang_oles_2001/table5_webkb", "genkin_2004/table5", "genkin_2004/figure2"])
def test_tables_of_the_papers_keep_their_columns(name: str) -> None:
    folder = PROJECT / "results" / name
    results = read_results(folder)
    rows = runs_as_text(results, escape_markdown, every=bool(results["paper"])).splitlines()
    assert set(rows) <= set((folder / "table.md").read_text().splitlines())
