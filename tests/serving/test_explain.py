"""The words behind a decision: numbers that add up, places in the text, colours only where they are seen."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import textcat
from tests.serving.small_model import platt, small_model
from textcat.cli.main import group
from textcat.serving.categorizer import write_categorizer

STORY = "Wheat leaves PORT; the rate\nof wheat and corn."


@pytest.fixture
def model(tmp_path: Path) -> str:
    write_categorizer(tmp_path / "model", small_model(loss="logistic"))
    (tmp_path / "story.txt").write_text(STORY)
    return str(tmp_path / "model")


def explain(*arguments: str) -> str:
    result = CliRunner().invoke(group, ["explain", *arguments], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.output


@pytest.mark.parametrize("line", ['{"id": "7", "title": "", "body": "wheat"}', "id,title,body\n7,,wheat"])
def test_documents_of_a_table_are_read_as_by_predict(model: str, line: str, tmp_path: Path) -> None:
    """Otherwise the names of columns would be words of the document."""
    (tmp_path / "new").write_text(line + "\n")
    facts = json.loads(explain(model, str(tmp_path / "new"), "-c", "grain", "--json", "--id", "7"))[0]
    assert facts["document"]["body"] == "wheat"


def test_the_numbers_add_up_to_the_score(model: str, tmp_path: Path) -> None:
    story = str(tmp_path / "story.txt")
    for number in ("1", "15"):
        facts = json.loads(explain(model, story, "-c", "grain", "--json", "-n", number))[0]
        shown = [*facts["for"].values(), *facts["against"].values()]
        assert sum(shown) + facts["other_words"] + facts["constant"] == pytest.approx(facts["score"])
    assert facts["score"] == 1.5
    assert facts["accepted"] is True
    assert facts["heading"] == "grain: accepted, score 1.500, threshold 0.000, probability 0.818"


@pytest.mark.parametrize("rule", ["pcut", "expected-f1"])
def test_a_rule_over_all_documents_is_not_applied_to_one(tmp_path: Path, rule: str) -> None:
    model, story = tmp_path / "model", tmp_path / "story.txt"
    write_categorizer(model, small_model(calibration=platt(), threshold={"rule": rule}))
    story.write_text(STORY)
    facts = json.loads(explain(str(model), str(story), "--json"))
    assert [(each["category"], each["accepted"]) for each in facts] == [("grain", None)]
    assert "accepted" not in facts[0]["heading"]
    assert f"{rule} over all documents" in facts[0]["heading"]


def test_words_are_marked_in_the_text(model: str, tmp_path: Path) -> None:
    facts = json.loads(explain(model, str(tmp_path / "story.txt"), "-c", "grain", "--json"))[0]
    marked = [(facts["document"]["body"][w["start"] : w["end"]], w["weight"]) for w in facts["words"]]
    assert marked == [("Wheat", 2.0), ("rate", -0.5), ("wheat", 2.0), ("corn", 1.0)]


def test_without_a_terminal_marks_are_plain_text(model: str, tmp_path: Path) -> None:
    output = explain(model, str(tmp_path / "story.txt"), "-c", "grain")
    assert "[+Wheat] leaves PORT; the [-rate]\nof [+wheat] and [+corn]." in output
    assert "\x1b" not in output


def seen_in_a_terminal(*arguments: str, **environment: str) -> str:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    command = "from textcat.cli.main import main; main()"
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    subprocess.run(
        [sys.executable, "-c", command, "explain", *arguments],
        stdout=theirs,
        check=True,
        env={**plain, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 65536):
            pieces.append(piece)
    except OSError:
        pass  # Linux ends a terminal without writers with an error.
    finally:
        os.close(ours)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_unless_they_are_off(model: str, tmp_path: Path) -> None:
    arguments = (model, str(tmp_path / "story.txt"), "-c", "grain")
    coloured = seen_in_a_terminal(*arguments)
    assert "\x1b[32m\x1b[1mWheat\x1b[0m leaves PORT; the \x1b[31m\x1b[1mrate\x1b[0m" in coloured
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = seen_in_a_terminal(*arguments, **environment)
        assert "\x1b" not in plain
        assert "[+Wheat] leaves" in plain


def test_a_document_is_chosen_by_its_id(model: str, tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text('{"id": "a", "title": "Vessel"}\n{"id": "b", "title": "Wheat", "body": "corn"}\n')
    assert json.loads(explain(model, str(path), "--json"))[0]["category"] == 'ships "100%"'
    facts = json.loads(explain(model, str(path), "--id", "b", "--json"))[0]
    assert facts["document"] == {"title": "Wheat", "body": "corn"}
    assert [word["field"] for word in facts["words"]] == ["title", "body"]
    with pytest.raises(Exception, match="no document 'c'"):
        explain(model, str(path), "--id", "c")
    with pytest.raises(Exception, match="no document 'b'"):
        explain(model, str(tmp_path / "story.txt"), "--id", "b")


def test_a_misspelt_category_gets_a_hint(model: str) -> None:
    with pytest.raises(Exception, match="no category 'grian'") as caught:
        explain(model, "-c", "grian")
    assert caught.value.hint == "Did you mean grain?"


def test_hashed_features_are_named_with_the_n_grams_of_the_document(tmp_path: Path) -> None:
    texts = ["wheat and corn prices", "corn exports rose", "bank rate cut", "the bank cut rates"] * 3
    groups = [{"ngrams": [1, 2], "bits": 12}, {"analyzer": "char", "ngrams": [3, 3], "bits": 16}]
    model = textcat.Categorizer.fit(
        texts, ["grain", "grain", "money", "money"] * 3, {"text": {"groups": groups}}
    )
    model.save(tmp_path / "model")
    (tmp_path / "new.txt").write_text("corn exports rose")
    facts = json.loads(explain(str(tmp_path / "model"), str(tmp_path / "new.txt"), "-c", "grain", "--json"))[
        0
    ]
    named = {part.partition(" (")[0]: part.partition(" (")[2].rstrip(")") for part in facts["for"]}
    words = {ngrams for feature, ngrams in named.items() if feature.startswith("word1-2#")}
    assert "corn exports" in words and {"corn", "rose"} & words
    assert all(re.fullmatch(r"word1-2#[0-9a-f]{3}|char3-3#[0-9a-f]{4}", feature) for feature in named)
    marked = {facts["document"]["text"][word["start"] : word["end"]] for word in facts["words"]}
    assert "corn" in marked
    shown = sum(facts["for"].values()) + sum(facts["against"].values())
    assert shown + facts["other_words"] + facts["constant"] == pytest.approx(facts["score"], abs=1e-3)
    category = json.loads(explain(str(tmp_path / "model"), "-c", "grain", "--json"))[0]
    assert all("#" in feature and "(" not in feature for feature in category["for"])


def test_a_category_below_its_threshold_is_said_to_be_given(tmp_path: Path) -> None:
    model = tmp_path / "model"
    write_categorizer(model, small_model(threshold={"rule": "scut", "at_least_one": True}))
    (tmp_path / "new.csv").write_text("id,title,body\nnone,,rate\nboth,,wheat\n")
    found = {
        name: json.loads(explain(str(model), str(tmp_path / "new.csv"), "--id", name, "--json"))[0]
        for name in ("none", "both")
    }
    assert [(each["accepted"], each["at_least_one"]) for each in found.values()] == [
        (True, True),
        (True, False),
    ]
    given = "accepted because no category reaches its threshold, score -0.750, threshold 0.250"
    assert found["none"]["heading"] == f'ships "100%": {given}'
    assert found["both"]["heading"] == "grain: accepted, score 1.000, threshold 0.000"
    other = json.loads(explain(str(model), str(tmp_path / "new.csv"), "-c", "grain", "--json"))[0]
    assert (other["accepted"], other["at_least_one"]) == (False, False)
    predict = CliRunner().invoke(group, ["predict", str(model), str(tmp_path / "new.csv")])
    lines = [json.loads(line) for line in predict.output.splitlines()]
    assert lines[0] == {
        "id": "none",
        "labels": ['ships "100%"'],
        "at_least_one": True,
        "scores": {'ships "100%"': -0.75},
    }
    assert "at_least_one" not in lines[1]
