"""Messages about a wrong name say which names there are, or what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiment.own_table import table
from textcat.cli.main import main
from textcat.experiment.spec.loading import load_experiment

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


def write_experiment(folder: Path, **names: str) -> Path:
    table(folder, documents=40)
    usual = {"text": "text", "label": "labels", "learner": "linear", "parameters": "{}"}
    path = folder / "my_news.yaml"
    path.write_text(EXPERIMENT.format(**usual | names))
    return path


@pytest.mark.parametrize(
    ("names", "messages"),
    [
        (
            {"text": "body"},
            ["no column 'body'", "the columns are id, text, labels, split", "documents.csv:2"],
        ),
        ({"label": "label"}, ["no column 'label'", "Did you mean 'labels'?", "id, text, labels, split"]),
        ({"parameters": "{loss: hingesquared}"}, ["did you mean 'squared_hinge'"]),
        ({"learner": "svm"}, ["learner: linear", "loss: squared_hinge", "my_news.yaml:7"]),
        ({"learner": "LogisticRegression"}, ["learner: linear", "loss: logistic"]),
    ],
)
def test_wrong_names(
    names: dict[str, str], messages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_experiment(tmp_path, **names)
    printed = message_of(capsys, "tokenize", str(path), "--data", str(tmp_path / "data"))
    assert [each for each in messages if each not in printed] == [], printed


@pytest.mark.parametrize("command", ["predict", "explain"])
@pytest.mark.parametrize("mistyped", ["models/trial/logistik", "models/trail/logistic", "models/trial"])
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


def test_without_a_title_an_experiment_has_the_name_of_its_file(tmp_path: Path) -> None:
    assert load_experiment(write_experiment(tmp_path)).title == "my_news"
