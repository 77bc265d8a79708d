"""`textcat multiverse` from documents to page, on a small collection."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tests.experiment.place import Place
from tests.experiment.test_reading_plan import OWN
from tests.loops import for_each
from textcat.cli.main import group
from textcat.errors import StageFailedError, UsageError
from textcat.experiment.run import multiverse
from textcat.published.printed_tables import load_all_cells
from textcat.report.multiverse_page import read_summary
from textcat.store import Recipe
from textcat.store.artifacts import RecordingStore, Store

TABLE = """extends: trial.yaml
title: With printed cells
name: reuters_modapte
tables: [zhang_oles_2001.table2]
runs:
  naive_bayes: {learner: naive_bayes}
  least_squares: {learner: CLS}
  modified_least_squares: {learner: CMLS}
  logistic: {learner: CLG}
  svm: {learner: smo, parameters: {lam: 0.001}}
  modified_svm: {learner: modified-SVM}
  bayes: null
"""


class OwnReadings(Place):
    """The small collection with a file of readings."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.readings = folder / "own.yaml"
        self.readings.write_text(OWN)

    def run(self, *arguments: str, expect: int = 0) -> str:
        return self.textcat(
            "multiverse",
            str(self.experiment),
            "--readings",
            str(self.readings),
            "-j",
            "1",
            *arguments,
            expect=expect,
        )

    def summary(self, name: str = "trial") -> dict[str, Any]:
        summary = read_summary(self.results / name)
        assert summary is not None
        return summary


@pytest.fixture
def place(tmp_path: Path) -> OwnReadings:
    return OwnReadings(tmp_path)


NEIGHBOURS = [{}, {"words": "digits"}, {"words": "inner"}, {"rare": "kept"}, {"ties": "lowest"}]


def list_options(summary: dict[str, Any], name: str = "trial") -> list[dict[str, str]]:
    return [reading["options"] for reading in summary["experiments"][name]["readings"]]


def test_without_printed_numbers_each_single_change_is_measured(place: OwnReadings) -> None:
    printed = place.run()
    summary = place.summary()
    assert sorted(list_options(summary), key=str) == sorted(NEIGHBOURS, key=str)
    assert "readings" not in summary
    # The words of the collection hold no digits and no signs.
    assert "words       digits" in " ".join(printed.split("  ")) or "digits" in printed
    page = (place.results / "trial" / "multiverse.html").read_text()
    assert "What is a word?" in page
    assert "<script" not in page


def test_the_literal_reading_has_the_numbers_of_a_run_with_the_same_settings(place: OwnReadings) -> None:
    place.run("--budget", "0s")
    found = place.summary()["experiments"]["trial"]
    text = place.experiment.read_text()
    text = text.replace("fields: [title, body],", "tokenizer: alphabetic, fields: [title, body],")
    place.experiment.write_text(text.replace("{rule: tuned}", "{rule: tuned, point: midpoint}"))
    place.textcat("run", str(place.experiment), "-j", "1")
    runs = json.loads((place.report / "results.json").read_text())["runs"]
    [literal] = found["readings"]
    for cell, value in zip(found["cells"], literal["values"], strict=True):
        run, measure = cell.removeprefix("trial.runs[").removesuffix("]").split("][")
        assert value == pytest.approx(runs[run]["measures"][measure], abs=1e-4)


def test_the_summary_is_the_same_from_an_empty_cache_from_a_full_one_and_with_workers(
    place: OwnReadings,
) -> None:
    def forget_seconds(summary: dict[str, Any]) -> dict[str, Any]:
        return {
            **summary,
            "experiments": {name: {**each, "seconds": 0} for name, each in summary["experiments"].items()},
        }

    place.run()
    first = forget_seconds(place.summary())
    place.run("--replace")
    assert forget_seconds(place.summary()) == first
    shutil.rmtree(place.data)
    place.run("--replace", "--backend", "threads")
    assert forget_seconds(place.summary()) == first


def test_an_interrupted_command_resumes_with_the_next_reading(
    place: OwnReadings, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    real = multiverse.collect_results

    def interrupt(plan: Any, context: Any) -> Any:
        if len(measured) == 3:
            raise KeyboardInterrupt
        measured.append(plan.experiment.name)
        return real(plan, context)

    monkeypatch.setattr(multiverse, "collect_results", interrupt)
    with pytest.raises(click.exceptions.Abort):
        place.run()
    assert place.stages()["reading"] == 3
    # Readings are compared by their numbers alone; resampling each of them would cost more than its measures.
    assert "intervals" not in place.stages()
    assert not (place.results / "trial" / "multiverse.json").exists()
    measured.clear()
    monkeypatch.setattr(multiverse, "collect_results", lambda p, c: (measured.append(p), real(p, c))[1])
    place.run()
    assert len(measured) == 2
    assert len(list_options(place.summary())) == 5


def test_a_smaller_search_never_loses_readings_unless_it_is_told_to(place: OwnReadings) -> None:
    place.run()
    whole = place.summary()
    shutil.rmtree(place.data)
    place.run("--budget", "0s")
    assert list_options(place.summary()) == list_options(whole)
    shutil.rmtree(place.data)
    place.run("--budget", "0s", "--replace")
    assert list_options(place.summary()) == [{}]


def test_earlier_readings_are_left_out_where_the_literal_one_has_other_numbers_now(
    place: OwnReadings,
) -> None:
    place.run()
    summary = place.summary()
    summary["experiments"]["trial"]["readings"][0]["values"][0] += 5.0
    (place.results / "trial" / "multiverse.json").write_text(json.dumps(summary))
    shutil.rmtree(place.data)
    place.run("--budget", "0s")
    assert list_options(place.summary()) == [{}]


@for_each("budget", ["20", "m", "20 minutes", "-3m"])
def test_a_budget_needs_a_unit(place: OwnReadings, budget: str) -> None:
    result = CliRunner().invoke(group, ["multiverse", "trial", "--budget", budget])
    assert result.exit_code == 2
    assert "90s, 20m or 2h" in result.output


def test_a_dry_run_lists_questions_and_makes_nothing(place: OwnReadings) -> None:
    printed = place.run("--dry-run")
    assert "words: letters (literal), digits, inner" in printed.splitlines()
    assert not place.data.exists()
    assert not place.results.exists()


def test_the_summary_is_printed_as_json(place: OwnReadings) -> None:
    assert json.loads(place.run("--json", "-q"))[""] == place.summary()


def test_printed_numbers_give_a_reconstructed_and_held_out_readings(place: OwnReadings) -> None:
    table = place.folder / "table.yaml"
    table.write_text(TABLE)
    printed = place.textcat("multiverse", str(table), "--readings", str(place.readings), "-j", "1")
    summary = read_summary(place.results / "local" / "reuters_modapte")
    assert summary is not None
    assert summary["complete"]
    assert summary["misfit"]["reconstructed"] <= summary["misfit"]["literal"]
    assert set(summary["readings"]["held_out"]) == {
        f"zhang_oles_2001.{name}" for name in ("table2", "table3", "text")
    }
    cell = summary["cells"]["zhang_oles_2001.table2[BEP][SVM]"]
    assert cell["range"][0] <= cell["literal"] <= cell["range"][1]
    assert set(summary["answers"]) == {"words", "rare", "ties"}
    assert "held-out" in printed
    page = (place.results / "local" / "reuters_modapte" / "multiverse.html").read_text()
    assert "without any cell of" in page


def test_a_question_of_one_table_alone_is_answered_without_the_run_that_is_judged(
    place: OwnReadings,
) -> None:
    table = place.folder / "table.yaml"
    table.write_text(TABLE.replace("name: reuters_modapte", "name: gao_2003/table1"))
    place.textcat("multiverse", str(table), "--readings", str(place.readings), "-j", "1")
    summary = read_summary(place.results / "local" / "gao_2003/table1")
    assert summary is not None
    [held_out] = summary["readings"]["held_out"].values()
    runs = {cell.run for cell in load_all_cells() if cell.experiment == "gao_2003/table1"}
    # What nothing else can answer is literal; a run that has no entry is judged under that reading.
    assert held_out["*"] == {}
    assert set(held_out) <= {"*", *runs}


def test_a_failed_reading_is_reported_and_the_others_go_on(
    place: OwnReadings, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = multiverse.collect_results

    def fail(plan: Any, context: Any) -> Any:
        if plan.experiment.text.tokenizer == "words":
            raise StageFailedError("it went wrong")
        return real(plan, context)

    monkeypatch.setattr(multiverse, "collect_results", fail)
    place.run(expect=4)
    found = place.summary()["experiments"]["trial"]
    assert len(found["readings"]) == 4
    assert [(each["options"]["words"], each["error"]) for each in found["failed"]] == [
        ("inner", "it went wrong")
    ]
    monkeypatch.setattr(multiverse, "collect_results", real)
    place.run()
    assert len(list_options(place.summary())) == 5


def test_a_failed_literal_reading_stops_the_command(
    place: OwnReadings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(plan: Any, context: Any) -> Any:
        raise StageFailedError("it went wrong")

    monkeypatch.setattr(multiverse, "collect_results", fail)
    with pytest.raises(StageFailedError, match="it went wrong"):
        place.run()


def test_an_experiment_of_no_paper_needs_readings(place: OwnReadings) -> None:
    with pytest.raises(UsageError, match="--readings"):
        place.textcat("multiverse", str(place.experiment))


def test_readings_that_make_no_valid_experiment_are_named(place: OwnReadings) -> None:
    place.readings.write_text(OWN.replace("text.tokenizer: words", "text.tokenizer: letters"))
    with pytest.raises(UsageError, match="under words=inner"):
        place.run()


def test_models_of_other_commands_stay(tmp_path: Path) -> None:
    early, late = Recipe("train", 1, {"n": 1}), Recipe("train", 1, {"n": 2})
    Store(tmp_path).build(early, lambda folder: None)
    store = RecordingStore(tmp_path)
    for recipe in (early, late):
        store.build(recipe, lambda folder: None)
    assert set(store.made) == {late.key}
    store.forget({early.key, late.key})
    assert Store(tmp_path).find(early)
    assert Store(tmp_path).find(late) is None
    assert not list((tmp_path / "train").glob(f"{late.key}*"))
