"""Messages about a wrong name say which names there are, or what to write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.experiment.own_table import table
from tests.loops import for_each
from textcat.cli.main import main

EXPERIMENT = """corpus:
  name: csv
  path: documents.csv
  options: {{text: {text}, label: {label}, side: split}}
text: {{fields: [{text}]}}
runs:
  one: {{learner: {learner}, parameters: {parameters}}}
"""


def message_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    assert caught.value.code
    return capsys.readouterr().err


def run(experiment: str, folder: Path) -> None:
    """Run an experiment; it ends without an error."""
    with pytest.raises(SystemExit) as caught:
        main(["run", experiment, "--data", str(folder / "data"), "--results", str(folder / "results")])
    assert not caught.value.code


def write_experiment(folder: Path, **names: str) -> Path:
    table(folder, documents=40)
    usual = {"text": "text", "label": "labels", "learner": "linear", "parameters": "{}"}
    path = folder / "my_news.yaml"
    path.write_text(EXPERIMENT.format(**usual | names))
    return path


@for_each(
    ("names", "messages"),
    [
        (
            {"text": "body"},
            ["no column 'body'", "the columns are id, text, labels, split", "documents.csv:2"],
        ),
        ({"label": "label"}, ["no column 'label'", "Did you mean 'labels'?", "id, text, labels, split"]),
        ({"parameters": "{loss: hingesquared}"}, ["did you mean 'squared_hinge'"]),
        ({"learner": "svm"}, ["learner: linear", "loss: squared_hinge", "cost: 1", "my_news.yaml:7"]),
        ({"learner": "LogisticRegression"}, ["learner: linear", "loss: logistic"]),
    ],
)
def test_wrong_names(
    names: dict[str, str], messages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_experiment(tmp_path, **names)
    printed = message_of(capsys, "tokenize", str(path), "--data", str(tmp_path / "data"))
    assert [each for each in messages if each not in printed] == [], printed


@for_each("command", ["predict", "explain"])
@for_each("mistyped", ["models/trial/logistik", "models/trail/logistic", "models/trial"])
def test_a_mistyped_model_names_the_models(
    command: str, mistyped: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("logistic", "svm"):
        folder = tmp_path / "models" / "trial" / name
        folder.mkdir(parents=True)
        (folder / "categorizer.json").write_text("{}")
    printed = message_of(capsys, command, str(tmp_path / mistyped), str(__file__))
    assert "there is no" in printed
    assert str(tmp_path / "models" / "trial" / "logistic") in printed
    assert str(tmp_path / "models" / "trial" / "svm") in printed


def test_an_unknown_format_names_the_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_experiment(tmp_path)
    path.write_text(path.read_text().replace("name: csv", "name: cvs"))
    printed = message_of(capsys, "run", str(path))
    assert "my_news.yaml:2:" in printed
    assert "no collection or format 'cvs'" in printed
    assert "Did you mean csv?" in printed
    assert "csv, tsv, jsonl, fasttext, folders" in printed


def test_a_file_of_documents_is_no_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = message_of(capsys, "run", str(table(tmp_path, documents=4)))
    assert "textcat init" in printed


def test_the_learner_that_a_message_proposes_can_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_experiment(tmp_path, learner="svm")
    proposed = re.search(r"`parameters: (\{.*\})`", message_of(capsys, "run", str(path)))
    assert proposed
    path = write_experiment(tmp_path, parameters=proposed[1])
    run(str(path), tmp_path)


@for_each("command", ["init", "tune", "run"])
def test_a_missing_file_is_named_as_a_file(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = message_of(capsys, command, str(tmp_path / "news.csv"))
    assert re.search("no (such )?file", message)
    assert "experiment '" not in message
