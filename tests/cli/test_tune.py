"""`textcat tune` from documents to a model that predicts, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.browser import dom
from tests.experiment.tune.tuning import write_questions
from tests.loops import for_each
from textcat.cli.main import group, main
from textcat.errors import StageFailedError, UsageError
from textcat.experiment.tune.evaluation import Evaluator


def textcat(*arguments: str) -> Any:
    """Run a command; errors are raised."""
    result = CliRunner().invoke(group, [*arguments], standalone_mode=False)
    if result.exception:
        raise result.exception
    assert not result.return_value, result.output
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


FEW = ("--configurations", "2", "--folds", "2", "--jobs", "1")


def test_two_commands_lead_from_a_table_to_labels(folder: Path) -> None:
    write_questions(folder / "questions.csv")
    printed = textcat("tune", "questions.csv", *FEW)
    report = json.loads((folder / "questions-tuned" / "tune.json").read_text())
    best = report["best"]
    assert f"{best['value']:.2f} in cross-validation" in printed.stdout
    # The number is that of the threshold rule beside it.
    assert best["value"] == best["held_out"][best["threshold"]] != best["search_value"]
    assert re.search(
        r"\[1 configuration\] best so far [\d.]+ on (part of a fold|\d folds?): ", printed.stderr
    )
    (folder / "new.txt").write_text("why is my cash machine withdraw\n")
    labelled = textcat("predict", "questions-tuned/model", "new.txt").stdout
    assert json.loads(labelled.splitlines()[0])["labels"] == ["blue"]


def test_documents_of_one_name_in_two_folders_do_not_share_a_model(folder: Path) -> None:
    for name in ("first", "second"):
        (folder / name).mkdir()
        write_questions(folder / name / "train.csv")
    textcat("tune", "first/train.csv", *FEW)
    kept = (folder / "train-tuned" / "train.yaml").read_text()
    with pytest.raises(UsageError, match=r"it holds the search of first/train\.csv") as caught:
        textcat("tune", "second/train.csv", *FEW)
    assert caught.value.where == "train-tuned"
    assert (folder / "train-tuned" / "train.yaml").read_text() == kept
    textcat("tune", "second/train.csv", *FEW, "--output", "other")
    # An experiment on the same documents goes on in the folder.
    textcat("init", "first/train.csv")
    textcat("tune", "train.yaml", *FEW)
    (folder / "first" / "train.csv").unlink()
    textcat("tune", "second/train.csv", *FEW)
    assert "second/train.csv" in (folder / "train-tuned" / "train.yaml").read_text()


def test_run_repeats_the_tuned_experiment_and_a_second_tune_continues(folder: Path) -> None:
    write_questions(folder / "questions.csv")
    textcat("init", "questions.csv")
    textcat("tune", "questions.yaml", *FEW)
    report = json.loads((folder / "questions-tuned" / "tune.json").read_text())
    textcat("run", "questions-tuned/tuned.yaml", "--data", "another")
    results = json.loads((folder / "results" / "questions-tuned" / "results.json").read_text())
    measured = results["runs"]["tuned"]["measures"]
    # results.json leaves out what follows from other measures, and rounds to ten digits.
    reported = report["test"]["measures"]
    assert {"accuracy", "macro.f1", "probability.calibration_error"} <= measured.keys()
    assert {name for name, value in measured.items() if value is None} <= {
        name for name, value in reported.items() if value is None
    }
    numbers = {name: value for name, value in measured.items() if value is not None}
    assert numbers == pytest.approx({name: reported[name] for name in numbers}, rel=1e-8, abs=1e-8)
    again = json.loads(textcat("tune", "questions.yaml", *FEW, "--json", "-q").stdout)
    assert again["candidates"] == report["candidates"]


def test_the_page_has_what_the_report_has_and_escapes_it(folder: Path) -> None:
    write_questions(folder / "questions.csv")
    text = (folder / "questions.csv").read_text()
    marked = text.replace("machine", "<script>alert(1)</script>").replace("blue", "<b>blue")
    (folder / "questions.csv").write_text(marked)
    textcat("tune", "questions.csv", *FEW, "-q")
    report = json.loads((folder / "questions-tuned" / "tune.json").read_text())
    page = folder / "questions-tuned" / "tune.html"
    source = page.read_text()
    assert "<script" not in source
    assert "&lt;b&gt;blue" in source
    assert report["learning_curve"]["answer"] in source
    known = any(effect for options in report["effects"].values() for effect in options.values())
    assert ("do not show what a single choice is worth" in source) != known
    figures = ["score_against_time", "learning_curve", "calibration", *(["effects"] if known else [])]
    for name in figures:
        assert (folder / "questions-tuned" / "figures" / f"{name}.svg").exists()
    shown = dom(page, folder)
    assert shown.count("<img") == len(figures)
    assert f"{report['best']['value']:.2f}" in shown


def test_an_interrupt_leaves_the_best_so_far_and_exits_with_0(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_questions(folder / "questions.csv")
    evaluate, calls = Evaluator.evaluate, list[object]()

    def stop_at_second(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return evaluate(*arguments)

    monkeypatch.setattr(Evaluator, "evaluate", stop_at_second)
    textcat("tune", "questions.csv", "--folds", "2", "-q")
    report = json.loads((folder / "questions-tuned" / "tune.json").read_text())
    assert report["stopped_by"] == "interrupt"
    assert (folder / "questions-tuned" / "model" / "categorizer.json").exists()
    # Before the first configuration is measured there is nothing to keep.
    calls[:] = [None]
    with pytest.raises(SystemExit) as ended:
        main(["tune", "questions.csv", "--folds", "2", "--output", "other", "-q"])
    assert ended.value.code == 130


@pytest.mark.usefixtures("hears_interrupts")
@pytest.mark.parametrize("when", ["training", "learning curve", "figures"])
def test_the_first_interrupt_after_the_search_keeps_the_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    from textcat.experiment.tune import findings, session
    from textcat.report import tune_page

    write_questions(folder / "questions.csv")
    module, name = {
        "training": (session, "run_experiment"),
        "learning curve": (findings, "measure_learning_curve"),
        "figures": (tune_page, "draw_figures"),
    }[when]
    own, called = getattr(module, name), list[bool]()

    def interrupt(*arguments: Any) -> Any:
        called.append((folder / "questions-tuned" / "model").exists())
        if len(called) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return own(*arguments)

    monkeypatch.setattr(module, name, interrupt)
    textcat("tune", "questions.csv", *FEW, "-q")
    assert called[0] == (when != "training")
    report = json.loads((folder / "questions-tuned" / "tune.json").read_text())
    assert (report["learning_curve"] is None) == (when != "figures")
    page = folder / "questions-tuned" / "tune.html"
    assert page.exists() == (when != "figures")
    if when != "figures":
        assert "Ctrl-C: the learning curve was left out, and the figures" in page.read_text()
    labelled = textcat("predict", "questions-tuned/model", "questions.csv").stdout
    assert json.loads(labelled.splitlines()[0])["labels"]


def test_the_cache_is_not_cleared_while_a_search_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_questions(folder / "questions.csv")
    evaluate, refused = Evaluator.evaluate, list[str]()

    def clear(*arguments: Any) -> Any:
        with pytest.raises(StageFailedError, match="is working with this cache") as caught:
            textcat("cache", "clear", "--all")
        refused.append(str(caught.value))
        return evaluate(*arguments)

    monkeypatch.setattr(Evaluator, "evaluate", clear)
    textcat("tune", "questions.csv", "--configurations", "1", "--folds", "2", "-q")
    assert refused


def test_a_dry_run_searches_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_questions(folder / "questions.csv")
    monkeypatch.setattr(Evaluator, "evaluate", None)
    printed = textcat("tune", "questions.csv", "--dry-run", *FEW)
    assert "2 configurations" in printed.stdout
    assert not (folder / "questions-tuned").exists()


@for_each(
    ("arguments", "code"),
    [(("missing.csv",), 2), (("questions.csv", "--time", "5"), 2), (("questions.csv", "--metric", "f2"), 2)],
)
def test_wrong_arguments_are_usage_errors(folder: Path, arguments: tuple[str, ...], code: int) -> None:
    write_questions(folder / "questions.csv")
    with pytest.raises(SystemExit) as ended:
        main(["tune", *arguments, "-q"])
    assert ended.value.code == code


def test_the_tuned_experiment_has_only_keys_that_differ_from_defaults(folder: Path) -> None:
    write_questions(folder / "questions.csv", several=True)
    textcat("tune", "questions.csv", *FEW, "--metric", "p@3", "-q")
    data = yaml.safe_load((folder / "questions-tuned" / "tuned.yaml").read_text())
    assert data["evaluation"] == {"zero_division": "skip", "ranking": [3]}
    assert "threshold" not in data
    assert set(data["runs"]) == {"tuned"}


def test_the_page_proposes_another_label_only_where_it_is_more_probable(folder: Path) -> None:
    documents = Path(__file__).resolve().parents[2] / "docs" / "documents.csv"
    (folder / "documents.csv").write_bytes(documents.read_bytes())
    textcat("tune", "documents.csv", *FEW)
    report = json.loads((folder / "documents-tuned" / "tune.json").read_text())
    wrong = [each for each in report["label_errors"] if each["kind"] == "wrong"]
    better = [each for each in wrong if each["probability"] > each["of_label"]]
    assert len(better) < len(wrong)
    page = (folder / "documents-tuned" / "tune.html").read_text()
    likely = [each for each in better if each["probability"] >= 0.5]
    assert 0 < len(likely) < len(better)
    assert page.count("; likely:") == len(likely)
    assert page.count("; most probable:") == len(better) - len(likely)


def test_settings_that_the_search_leaves_out_are_named(folder: Path) -> None:
    write_questions(folder / "questions.csv")
    textcat("init", "questions.csv")
    assert "Warning" not in textcat("tune", "questions.yaml", "--dry-run").stderr
    path = folder / "questions.yaml"
    path.write_text(path.read_text() + "reject: {coverage: 0.9}\nselection: {features: 30}\n")
    printed = textcat("tune", "questions.yaml", "--dry-run").stderr
    assert "Warning: questions.yaml: `selection` and `reject` are no part of the search" in printed


def test_files_of_a_killed_search_are_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_questions(folder / "questions.csv")
    left = [
        folder / "questions-tuned" / name for name in (".tune.json.x.part", ".model.x.part/model/coef.npy")
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def stop(*_: object) -> None:
        raise UsageError("stopped")

    monkeypatch.setattr("textcat.experiment.tune.session.tune_experiment", stop)
    with pytest.raises(UsageError, match="stopped"):
        textcat("tune", "questions.csv", *FEW)
    assert list((folder / "questions-tuned").rglob("*.part")) == []
