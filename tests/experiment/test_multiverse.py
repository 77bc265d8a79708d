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
from tests.experiment.small import write_small_collection
from tests.experiment.test_reading_plan import OWN
from textcat.cli.main import group
from textcat.errors import StageFailedError, UsageError
from textcat.experiment.run import multiverse
from textcat.experiment.spec.loading import load_experiment
from textcat.report.multiverse_page import read_summary
from textcat.store.artifacts import Store

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


def test_all_readings_from_documents_to_page(place: OwnReadings) -> None:
    place.run()
    found = place.summary()["experiments"]["trial"]
    assert found["possible"] == len(found["readings"]) == 12
    assert found["complete"]
    assert found["default"]["options"] == {"words": "letters", "rare": "dropped", "ties": "midpoint"}
    assert found["nearest"] is None
    assert set(found["effects"]) == {"words", "rare", "ties"}
    # The words of the collection hold no digits and no signs.
    assert found["effects"]["words"]["effect"] == 0.0
    assert found["effects"]["ties"]["effect"] > 0.0
    for cell in found["cells"].values():
        assert cell["min"] <= cell["default"] <= cell["max"]
    page = (place.results / "trial" / "multiverse.html").read_text()
    assert "What is a word?" in page
    assert "<script" not in page


def test_the_default_reading_has_the_numbers_of_a_run_with_the_same_settings(place: OwnReadings) -> None:
    place.run("--sample", "1")
    found = place.summary()["experiments"]["trial"]
    text = place.experiment.read_text()
    text = text.replace("fields: [title, body],", "tokenizer: alphabetic, fields: [title, body],")
    place.experiment.write_text(text.replace("{rule: tuned}", "{rule: tuned, point: midpoint}"))
    place.textcat("run", str(place.experiment), "-j", "1")
    results = json.loads((place.report / "results.json").read_text())
    for cell in found["cells"].values():
        assert cell["default"] == results["runs"][cell["row"]]["measures"][cell["column"]]


def test_the_summary_is_the_same_from_an_empty_cache_and_from_a_full_one(place: OwnReadings) -> None:
    place.run("--sample", "5")
    folder = place.results / "trial"
    files = ["multiverse.json", "multiverse.html", "multiverse/trial_trial_runs.svg"]
    first = {name: (folder / name).read_bytes() for name in files}
    place.run("--sample", "5")
    assert {name: (folder / name).read_bytes() for name in files} == first


def test_models_of_finished_readings_are_deleted_and_those_of_other_commands_stay(place: OwnReadings) -> None:
    place.textcat("run", str(place.experiment), "-j", "1")
    before = place.stages()
    place.run()
    after = place.stages()
    assert after.pop("reading") == 12
    assert after.pop("tokenize") > before.pop("tokenize")
    assert after == before
    place.run("--keep", "--seed", "2", "--sample", "2")


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
    assert len(measured) == 9
    assert len(place.summary()["experiments"]["trial"]["readings"]) == 12


def test_a_budget_that_is_over_leaves_the_default_reading(place: OwnReadings) -> None:
    place.run("--budget", "0s")
    found = place.summary()["experiments"]["trial"]
    assert not found["complete"]
    assert [reading["options"] for reading in found["readings"]] == [found["default"]["options"]]
    place.run("--budget", "10m")
    assert len(place.summary()["experiments"]["trial"]["readings"]) == 12
    place.run("--budget", "0s")
    found = place.summary()["experiments"]["trial"]
    assert (found["complete"], len(found["readings"])) == (True, 12)


def test_a_budget_that_is_over_runs_the_default_reading_of_one_experiment(place: OwnReadings) -> None:
    other = place.folder / "other" / "other.yaml"
    other.parent.mkdir()
    write_small_collection(other.parent, documents=120, seed=3)
    other.write_text(place.experiment.read_text())
    place.run(str(other), "--budget", "0s")
    assert list(place.summary()["experiments"]) == ["trial"]
    place.run(str(other), "--budget", "10m")
    experiments = place.summary()["experiments"]
    assert [len(each["readings"]) for each in experiments.values()] == [12, 12]
    shutil.rmtree(place.data)
    place.run(str(other), "--budget", "0s")
    found = place.summary()["experiments"]
    assert len(found["trial"]["readings"]) == 1
    assert found["other"] == experiments["other"]


@pytest.mark.parametrize("budget", ["20", "m", "20 minutes", "-3m"])
def test_a_budget_needs_a_unit(place: OwnReadings, budget: str) -> None:
    result = CliRunner().invoke(group, ["multiverse", "trial", "--budget", budget])
    assert result.exit_code == 2
    assert "90s, 20m or 2h" in result.output


def test_a_dry_run_lists_readings_and_makes_nothing(place: OwnReadings) -> None:
    printed = place.run("--dry-run", "--sample", "4")
    assert printed.splitlines()[0] == "trial: default reading"
    assert printed.splitlines()[-1] == "4 runs; 12 readings are possible."
    listed = json.loads(place.run("--dry-run", "--sample", "4", "--json"))
    assert [job["experiment"] for job in listed["readings"]] == ["trial"] * 4
    assert not place.data.exists()
    assert not place.results.exists()


def test_the_summary_is_printed_as_json(place: OwnReadings) -> None:
    assert json.loads(place.run("--sample", "2", "--json", "-q")) == place.summary()


def test_printed_cells_have_a_nearest_reading_that_is_labelled(place: OwnReadings) -> None:
    table = place.folder / "table.yaml"
    table.write_text(TABLE)
    place.textcat("multiverse", str(table), "--readings", str(place.readings), "-j", "1", "--sample", "5")
    summary = read_summary(place.results / "reuters_modapte")
    assert summary is not None
    found = summary["experiments"]["reuters_modapte"]
    assert found["nearest"]["note"] == "fitted to test results"
    least = min(reading["mean_difference"] for reading in found["readings"])
    assert found["nearest"]["mean_difference"] == least
    cell = found["cells"]["zhang_oles_2001.table2[BEP][SVM]"]
    assert cell["printed"] == "86.5"
    assert cell["within_tolerance"] is not None
    page = (place.results / "reuters_modapte" / "multiverse.html").read_text()
    assert page.count("fitted to test results") >= 2


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
    assert len(found["readings"]) == 8
    assert [each["options"]["words"] for each in found["failed"]] == ["inner"] * 4
    assert {each["error"] for each in found["failed"]} == {"it went wrong"}
    monkeypatch.setattr(multiverse, "collect_results", real)
    place.run()
    assert len(place.summary()["experiments"]["trial"]["readings"]) == 12


def test_a_failed_default_reading_stops_the_command(
    place: OwnReadings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(plan: Any, context: Any) -> Any:
        raise StageFailedError("it went wrong")

    monkeypatch.setattr(multiverse, "collect_results", fail)
    with pytest.raises(StageFailedError, match="it went wrong"):
        place.run()


def test_workers_give_the_same_summary(place: OwnReadings) -> None:
    place.run("--sample", "4")
    alone = place.summary()
    shutil.rmtree(place.data)
    place.run("--sample", "4", "--backend", "threads")
    assert place.summary() == alone


def test_an_experiment_of_no_paper_needs_readings(place: OwnReadings) -> None:
    with pytest.raises(UsageError, match="--readings"):
        place.textcat("multiverse", str(place.experiment))


def test_readings_that_make_no_valid_experiment_are_named(place: OwnReadings) -> None:
    place.readings.write_text(OWN.replace("text.tokenizer: words", "text.tokenizer: letters"))
    with pytest.raises(UsageError, match="under words=inner"):
        place.run("--dry-run")
    assert load_experiment(place.experiment).name == "trial"


def test_two_experiments_of_one_summary_stay_side_by_side(place: OwnReadings) -> None:
    from textcat.report.multiverse_page import merge_summaries

    one = {"paper": "p", "questions": {"a": 1}, "experiments": {"x": 1, "y": 1}, "claims": {"c": 1}}
    two = one | {"experiments": {"y": 2}, "claims": {}}
    assert merge_summaries(one, two) == one | {"experiments": {"x": 1, "y": 2}}
    assert merge_summaries(one, two | {"questions": {"a": 2}})["experiments"] == {"y": 2}
    assert merge_summaries(None, two) == two


def test_experiments_of_different_folders_read_their_own_documents(place: OwnReadings) -> None:
    other = place.folder / "other" / "other.yaml"
    other.parent.mkdir()
    write_small_collection(other.parent, documents=120, seed=3)
    other.write_text(place.experiment.read_text())
    both, alone = (
        ("--sample", "1"),
        (str(other), "--readings", str(place.readings), "-j", "1", "--sample", "1"),
    )
    place.run(str(other), *both)
    together = place.summary()["experiments"]
    place.textcat("multiverse", *alone)
    assert place.summary("other")["experiments"] == {"other": together["other"]}
    assert together["other"]["cells"] != together["trial"]["cells"]


def test_a_recording_store_deletes_only_what_it_made(tmp_path: Path) -> None:
    from textcat.store import Recipe
    from textcat.store.artifacts import RecordingStore

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


def test_extend_keeps_the_readings_of_the_file_and_runs_others(place: OwnReadings) -> None:
    place.run("--sample", "12")
    whole = place.summary()["experiments"]["trial"]
    path = place.results / "trial" / "multiverse.json"
    place.run("--sample", "3")
    few = place.summary()
    before = [reading["options"] for reading in few["experiments"]["trial"]["readings"]]
    # A number that no run can give shows that a kept reading is not run again.
    few["experiments"]["trial"]["readings"][1]["values"][0] = 12.5
    path.write_text(json.dumps(few))
    place.run("--sample", "6", "--extend")
    found = place.summary()["experiments"]["trial"]
    options = [reading["options"] for reading in found["readings"]]
    assert len(options) == len({tuple(each.values()) for each in options}) >= 6
    assert all(each in options for each in before)
    assert found["readings"][options.index(before[1])]["values"][0] == 12.5
    values = {tuple(each["options"].values()): each["values"] for each in whole["readings"]}
    for reading in found["readings"]:
        if reading["options"] != before[1]:
            assert reading["values"] == values[tuple(reading["options"].values())]


def test_readings_of_a_file_whose_default_reading_has_other_numbers_are_left_out(place: OwnReadings) -> None:
    place.run("--sample", "3")
    summary = place.summary()
    summary["experiments"]["trial"]["readings"][0]["values"][0] += 5.0
    (place.results / "trial" / "multiverse.json").write_text(json.dumps(summary))
    place.run("--sample", "1", "--extend")
    assert len(place.summary()["experiments"]["trial"]["readings"]) == 1
