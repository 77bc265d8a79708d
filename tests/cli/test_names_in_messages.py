"""Messages about a wrong name say which names there are, or what to write."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize(
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


def test_documents_without_the_fields_say_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_experiment(tmp_path)
    path.write_text(path.read_text().replace("fields: [text]", "fields: [body]"))
    printed = message_of(capsys, "run", str(path), "--data", str(tmp_path / "data"))
    assert "`text: {fields: [text]}`" in printed


ROWS = {
    "one category only": ["wheat corn,a", "bank rate,a", "port ship,a"],
    "no header": ["wheat corn rose,a", "bank rate fell,b", "port ship came,a"],
}


@pytest.mark.parametrize(
    ("name", "header", "messages"),
    [
        ("one category only", "text,label", ["the only label 'a'", "Add documents of another category"]),
        ("no header", None, ["not like names of columns", "text,label"]),
    ],
)
def test_init_says_what_is_wrong_with_documents(
    name: str, header: str | None, messages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("\n".join([*([header] if header else []), *ROWS[name] * 9]) + "\n")
    printed = message_of(capsys, "init", str(path), "--to", str(tmp_path / "mine.yaml"))
    for message in messages:
        assert message in printed


def test_init_of_a_folder_without_classes_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1")
    printed = message_of(capsys, "init", str(folder), "--to", str(tmp_path / "mine.yaml"))
    assert "the folder has no subfolders" in printed
    assert "folder of the class's name" in printed


def test_single_and_unlearned_categories_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.csv"
    rows = [f"{'wheat corn' if k % 2 else 'bank rate'} {k},{'a' if k % 2 else 'b'},train" for k in range(20)]
    rows += ["port ship,rare,train", "oil gas,new,test", "wheat corn,a,test", "bank rate,b,test"]
    path.write_text("\n".join(["text,label,side", *rows]) + "\n")
    with pytest.raises(SystemExit):
        main(["init", str(path), "--to", str(tmp_path / "mine.yaml")])
    said = capsys.readouterr()
    assert "has no training document: new" in said.out + said.err
    run(str(tmp_path / "mine.yaml"), tmp_path)
    warned = capsys.readouterr().err
    assert "only in test documents" in warned
    assert "(new)" in warned
    assert "(rare)" in warned


def test_without_a_title_an_experiment_has_the_name_of_its_file(tmp_path: Path) -> None:
    assert load_experiment(write_experiment(tmp_path)).title == "my_news"


@pytest.mark.parametrize("command", ["init", "tune", "run"])
def test_a_missing_file_is_named_as_a_file(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = message_of(capsys, command, str(tmp_path / "news.csv"))
    assert re.search("no (such )?file", message)
    assert "experiment '" not in message


def test_messages_say_what_was_found_and_which_option_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_changed(old: str, new: str) -> str:
        path = write_experiment(tmp_path)
        path.write_text(path.read_text().replace(old, new))
        return message_of(capsys, "run", str(path), "--data", str(tmp_path / "data"))

    wrong = run_changed("label: labels", "label: labls")
    assert "no column 'labls'; the columns are" in wrong
    assert "Did you mean 'labels'? Name one of them as `label` in `corpus.options`." in wrong
    assert "name another column as `side`" in run_changed("side: split", "side: text")
    lost = run_changed("documents.csv", "lost.csv")
    assert "no such file or folder" in lost
    assert "`corpus.path`" in lost
    rows = [f"text {number},one,{'train' if number % 2 else 'test'}" for number in range(20)]
    (tmp_path / "same.csv").write_text("\n".join(["text,labels,split", *rows]) + "\n")
    same = run_changed("documents.csv", "same.csv")
    assert "every training document has the label 'one'" in same
    assert "`label` or `side` in `corpus.options`" in same
    assert "name another column of labels as `label`" in message_of(
        capsys, "init", str(tmp_path / "same.csv")
    )
