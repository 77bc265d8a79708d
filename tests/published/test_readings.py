"""Readings files are valid, and the default reading follows from the support of the options alone."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.published.printed_tables import PAPERS
from textcat.published.readings import Readings, load_readings, read_readings


def write_question(options: str, extra: str = "") -> str:
    return (
        "questions:\n  words:\n    question: Which?\n    where: section 1\n    says: Nothing.\n"
        f"{extra}    options:\n{options}"
    )


def option(name: str, rest: str) -> str:
    return f"      {name}: {{patch: {{text.stem: {name}}}, because: x, {rest}}}\n"


@for_each("paper", PAPERS)
def test_every_paper_has_readings(paper: str) -> None:
    readings = load_readings(paper)
    assert readings.paper == paper
    assert len(readings.questions) >= 10
    for name, chosen in readings.literal.items():
        assert readings.questions[name].options[chosen].runs


def read_text(text: str) -> Readings:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mine.yaml"
        path.write_text(text)
        return read_readings(path)


def literal_of(text: str) -> str:
    return read_text(text).literal["words"]


def test_the_strongest_support_is_literal() -> None:
    text = write_question(
        option("a", "support: convention, simplest: true") + option("b", "support: training")
    )
    assert literal_of(text) == "b"
    assert literal_of(text.replace("convention", "author")) == "a"


def test_of_equal_support_the_simplest_and_then_the_first_is_literal() -> None:
    plain = option("a", "support: none") + option("b", "support: none")
    assert literal_of(write_question(plain)) == "a"
    assert literal_of(write_question(plain.replace("b: {", "b: {simplest: true, "))) == "b"


@for_each("mark", ["implemented: false", "contradicted: true"])
def test_an_option_that_is_not_tried_is_never_literal(mark: str) -> None:
    text = write_question(option("a", f"support: paper, {mark}") + option("b", "support: none"))
    assert literal_of(text) == "b"
    with pytest.raises(UsageError, match="at least one option"):
        read_text(text.replace("support: none", f"support: none, {mark}"))


@for_each(
    ("text", "message"),
    [
        (write_question(option("a", "support: none")), "at least 2"),
        (write_question(option("a", "support: rumour") + option("b", "support: none")), "mine.yaml:7"),
        (
            write_question(option("a", "support: none") + option("b", "support: none"), "    wher: x\n"),
            "wher: Extra inputs",
        ),
        (
            write_question(
                option("a", "support: none, simplest: true") + option("b", "support: none, simplest: true")
            ),
            "at most one option is the simplest",
        ),
    ],
)
def test_a_fault_is_one_message_with_its_place(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_text(text)


def test_two_questions_cannot_set_the_same_key_of_one_experiment(tmp_path: Path) -> None:
    one = write_question(option("a", "support: none") + option("b", "support: none"))
    second = one.partition("questions:\n")[2].replace("words:", "stems:")
    with pytest.raises(UsageError, match=r"mine.yaml:1:1: the questions words and stems both set text\.stem"):
        read_text(one + second)
    apart = one.replace("    options", "    experiments: [left]\n    options") + second.replace(
        "    options", "    experiments: [right]\n    options"
    )
    (tmp_path / "apart.yaml").write_text(apart)
    assert isinstance(read_readings(tmp_path / "apart.yaml"), Readings)


def test_an_unknown_paper_is_named() -> None:
    with pytest.raises(UsageError, match="nobody_1999"):
        load_readings("nobody_1999")
