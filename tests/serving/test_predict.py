"""Lines of JSON from documents as they come: batches, formats, numbers, and rules that look at all documents."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.serving.small_model import CATEGORIES, platt, small_model
from textcat.cli.main import group
from textcat.errors import BadDataError, DataNotAvailableError
from textcat.serving.categorizer import read_categorizer, write_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.predict import predict_lines
from textcat.thresholds.calibration import Isotonic, Platt

TEXTS = ["wheat corn", "vessel in port", "rate", "", "corn", "wheat vessel", "été \u2028 wheat"]
DOCUMENTS = [NewDocument(f"d{n}", {"title": "", "body": text}) for n, text in enumerate(TEXTS)]


def answers(categorizer, documents=DOCUMENTS, **options) -> list[dict]:
    return [json.loads(line) for line in predict_lines(categorizer, documents, **options)]


def test_labels_with_their_numbers() -> None:
    found = answers(small_model(calibration=platt()))
    assert found[0] == {
        "id": "d0",
        "labels": ["grain"],
        "scores": {"grain": 2.0},
        "probabilities": {"grain": 0.982014},
    }
    assert found[1]["labels"] == [CATEGORIES[1]]
    assert found[2] == {"id": "d2", "labels": [], "scores": {}, "probabilities": {}}
    assert found[5]["labels"] == CATEGORIES


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("at_a_time", [1, 2, 3, 100])
def test_batches_do_not_matter(every, at_a_time) -> None:
    model = small_model(calibration=platt())
    assert answers(model, at_a_time=at_a_time, every_category=every) == answers(model, every_category=every)


def test_every_category_has_its_numbers_with_every_category() -> None:
    found = answers(small_model(calibration=platt()), every_category=True)
    for answer in found:
        assert list(answer["scores"]) == list(answer["probabilities"]) == CATEGORIES
    assert found[3]["scores"] == {CATEGORIES[0]: -1.0, CATEGORIES[1]: -0.5}


def test_probabilities_are_calibrated_logistic_or_absent() -> None:
    own = answers(small_model(loss="logistic"))
    assert own[0]["probabilities"]["grain"] == pytest.approx(1 / (1 + np.exp(-2.0)), rel=1e-5)
    steps = Isotonic(np.array([-1.0, 1.0, 0.0]), np.array([0.1, 0.9, 0.25]), np.array([0, 2, 3]))
    stepped = answers(small_model(calibration=steps), every_category=True)
    assert stepped[0]["probabilities"] == {CATEGORIES[0]: 0.9, CATEGORIES[1]: 0.25}
    assert stepped[2]["probabilities"][CATEGORIES[0]] == 0.1
    assert "probabilities" not in answers(small_model())[0]


@pytest.mark.parametrize("rule", ["pcut", "expected-f1"])
def test_rules_over_all_documents_see_all_documents(rule) -> None:
    model = small_model(calibration=platt(), threshold={"rule": rule})
    scores = model.scores(DOCUMENTS)
    whole = model.decisions(scores)
    found = answers(model, at_a_time=2)
    labels = [[CATEGORIES[k] for k in np.flatnonzero(row)] for row in whole]
    assert [answer["labels"] for answer in found] == labels
    alone = [model.decisions(scores[[row]])[0].tolist() for row in range(len(scores))]
    assert alone != whole.tolist()
    assert answers(model, []) == []


IDS = {"marked.csv": ["x", "y"]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("new.txt", "wheat corn\nvessel in port\n"),
        ("new.csv", "id,title,body\n1,wheat,corn\n2,vessel,in port\n"),
        ("marked.csv", "\ufeffid,body\nx,wheat corn\ny,vessel in port\n"),
        ("new.tsv", "body\twheat\nwheat corn\tx\nvessel in port\tx\n"),
        ("new.jsonl", '{"text": "wheat corn"}\n\n{"id": 2, "body": "vessel in port"}\n'),
    ],
)
def test_every_format_is_read(tmp_path: Path, name: str, content: str) -> None:
    write_categorizer(tmp_path / "model", small_model())
    (tmp_path / name).write_text(content)
    result = CliRunner().invoke(group, ["predict", str(tmp_path / "model"), str(tmp_path / name)])
    assert result.exit_code == 0, result.output
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["labels"] for answer in found] == [["grain"], [CATEGORIES[1]]]
    assert [answer["id"] for answer in found] == IDS.get(name, ["1", "2"])


def test_a_pipe_is_answered_line_by_line(tmp_path: Path) -> None:
    write_categorizer(tmp_path / "model", small_model())
    command = "from textcat.cli.main import main; main()"
    arguments = ["predict", str(tmp_path / "model"), "-", "--at-a-time", "1"]
    with subprocess.Popen(
        [sys.executable, "-c", command, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        for line, label in (("wheat", "grain"), ("vessel été", CATEGORIES[1]), ("corn wheat", "grain")):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["labels"] == [label]
        process.stdin.close()
        assert process.wait() == 0


def test_a_broken_record_is_located(tmp_path: Path) -> None:
    write_categorizer(tmp_path / "model", small_model())
    (tmp_path / "new.jsonl").write_text('{"body": "wheat"}\n{"body": \n')
    command = "from textcat.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "predict", str(tmp_path / "model"), str(tmp_path / "new.jsonl")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "new.jsonl:2: not JSON" in done.stderr


@pytest.mark.parametrize("command", ["predict", "explain"])
@pytest.mark.parametrize(
    ("missing", "what"),
    [("modle", "no such folder"), (".", "no model in this folder"), ("new.txt", "this is a file")],
)
def test_without_a_model_data_are_not_available(
    command: str, missing: str, what: str, tmp_path: Path
) -> None:
    write_categorizer(tmp_path / "model", small_model())
    (tmp_path / "new.txt").write_text("wheat\n")
    done = CliRunner().invoke(group, [command, str(tmp_path / missing), str(tmp_path / "new.txt")])
    assert isinstance(done.exception, DataNotAvailableError)
    assert done.exception.exit_code == 3
    assert what in str(done.exception)
    assert f"Models here: {tmp_path / 'model'}." in str(done.exception)


@pytest.mark.parametrize("calibration", [None, platt(), Isotonic(np.zeros(2), np.ones(2) / 2, np.arange(3))])
def test_a_model_directory_gives_the_same_answers(tmp_path: Path, calibration) -> None:
    threshold = {"rule": "rcut", "per_document": "tuned"} if calibration is None else None
    model = small_model(calibration=calibration, threshold=threshold)
    write_categorizer(tmp_path / "model", model)
    assert answers(read_categorizer(tmp_path / "model")) == answers(model)


@pytest.mark.parametrize(
    ("header", "ids"), [("Id", ["0", "1"]), ("doc_id", ["0", "1"]), ("number", ["1", "2"])]
)
def test_ids_have_usual_names(header: str, ids: list[str], tmp_path: Path) -> None:
    """A row number beside ids from 0 on would be taken for the id of another document."""
    write_categorizer(tmp_path / "model", small_model())
    (tmp_path / "new.csv").write_text(f"{header},title,body\n0,,wheat corn\n1,,vessel\n")
    result = CliRunner().invoke(group, ["predict", str(tmp_path / "model"), str(tmp_path / "new.csv")])
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == ids


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_documents_in_another_encoding(command: str, tmp_path: Path) -> None:
    write_categorizer(tmp_path / "model", small_model(loss="logistic"))
    new = tmp_path / "new.csv"
    new.write_bytes("id,title,body\né,,wheat corn\n".encode("cp1252"))
    arguments = [command, str(tmp_path / "model"), str(new)]
    refused = CliRunner().invoke(group, arguments)
    assert isinstance(refused.exception, BadDataError)
    assert "--encoding" in refused.exception.hint
    read = CliRunner().invoke(group, [*arguments, "--encoding", "cp1252"])
    assert read.exit_code == 0
    assert ('"id": "é"' if command == "predict" else "wheat") in read.stdout
    for wrong in ("nonsense", "utf-16"):
        assert CliRunner().invoke(group, [*arguments, "--encoding", wrong]).exit_code == 2


@pytest.mark.parametrize("reject", [[], ["--reject", "0"]])
def test_the_label_of_a_document_with_one_is_the_most_probable(reject: list[str], tmp_path: Path) -> None:
    model = small_model(calibration=Platt(np.array([0.1, 1.0]), np.array([0.0, -5.0])))
    rule = replace(model.decision_rule, single_label=True)
    write_categorizer(tmp_path / "model", replace(model, decision_rule=rule))
    (tmp_path / "new.txt").write_text("nothing known\nwheat\n")
    run = CliRunner().invoke(
        group, ["predict", "--scores", str(tmp_path / "model"), str(tmp_path / "new.txt"), *reject]
    )
    for line in map(json.loads, run.stdout.splitlines()):
        assert line["labels"] == [max(line["probabilities"], key=line["probabilities"].get)]
    assert json.loads(run.stdout.splitlines()[0])["labels"] == [CATEGORIES[0]]
