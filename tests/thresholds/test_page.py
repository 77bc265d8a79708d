"""The figures of docs/decisions.md are those of the results in the repository."""

from __future__ import annotations

import re
from pathlib import Path

from tests.loops import for_each
from textcat.experiment.run.results_file import get_run_measures, read_results
from textcat.experiment.spec.loading import load_experiment

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "decisions.md").read_text(encoding="utf-8")
COLLECTIONS = ("reuters", "ohsumed")
MEASURES = {
    name: get_run_measures(read_results(PROJECT / "results" / "practice" / f"thresholds_{name}"))
    for name in COLLECTIONS
}
ROWS = {
    found[1]: [cell.strip() for cell in found[2].strip(" |").split("|")]
    for found in re.finditer(r"^\| `([a-z0-9_]+)` \|(.*)$", PAGE, re.MULTILINE)
}
RULES = {name: cells for name, cells in ROWS.items() if len(cells) == 5}
CALIBRATED = {name: cells for name, cells in ROWS.items() if len(cells) == 2 and "Brier" in cells[0]}


def f1s(measures) -> str:
    return f"{measures['micro.f1']:.1f} / {measures['macro.f1']:.1f}"


def test_both_tables_are_found() -> None:
    assert len(RULES) == 12
    assert len(CALIBRATED) == 4


@for_each("rule", list(RULES))
def test_a_row_of_rules_is_what_was_measured(rule: str) -> None:
    expected = [
        f1s(MEASURES[collection][f"{learner}_{rule}"])
        for collection in COLLECTIONS
        for learner in ("logistic", "svm")
    ]
    assert RULES[rule][1:] == expected


@for_each("rule", list(RULES))
def test_a_row_names_the_settings_of_its_run(rule: str) -> None:
    settings = (
        load_experiment(PROJECT / "configs/practice/thresholds_reuters.yaml").runs[f"svm_{rule}"].threshold
    )
    said = RULES[rule][0]
    assert ("held out" in said) == settings.cross_validated
    for name, value in re.findall(r"(\w+): ([\w-]+)", said):
        assert str(getattr(settings, name)) == value


@for_each("run", list(CALIBRATED))
def test_a_row_of_calibrations_is_what_was_measured(run: str) -> None:
    for collection, cell in zip(COLLECTIONS, CALIBRATED[run], strict=True):
        measures = MEASURES[collection][run]
        brier, log_loss = measures["probability.brier"], measures["probability.log_loss"]
        assert cell == f"{f1s(measures)}, Brier {brier:.5f}, log loss {log_loss:.4f}"


def test_the_advice_holds() -> None:
    """PCut is the best or within 0.2 points in every column; RCut loses 4.0 to 7.5 points to it."""
    for collection in COLLECTIONS:
        for learner in ("logistic", "svm"):
            values = {rule: MEASURES[collection][f"{learner}_{rule}"]["micro.f1"] for rule in RULES}
            assert values["pcut"] >= max(values.values()) - 0.2
            assert 3.95 <= values["pcut"] - values["rcut"] <= 7.55


def test_held_out_thresholds_make_fewer_errors_than_those_of_training_scores() -> None:
    for measures in MEASURES.values():
        for learner in ("logistic", "svm"):
            errors = {rule: measures[f"{learner}_{rule}"]["micro.errors"] for rule in RULES}
            assert errors["tuned"] < errors["tuned_on_training"]
