"""Lists and details agree with what is installed; output is valid JSON, or text that cannot steer a terminal."""

from __future__ import annotations

import json
import math
import unicodedata
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.cli.main import group, main
from textcat.cli.options import Duration
from textcat.cli.output import make_visible, print_json
from textcat.corpora import list_corpora, load_card
from textcat.corpora.registry import OWN_FORMATS, list_reader_options
from textcat.errors import UsageError
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.learners.parameters import LEARNERS
from textcat.published.printed_tables import load_all_cells


def run(*arguments: str) -> str:
    given_ = CliRunner().invoke(group, arguments, standalone_mode=False)
    if given_.exception:
        raise given_.exception
    return given_.output


LISTED = {
    "corpora": ("name", list(list_corpora())),
    "experiments": ("name", list(find_experiment_files())),
    "tables": ("table", sorted({cell.table_id for cell in load_all_cells()})),
    "learners": ("learner", list(LEARNERS)),
}


@for_each("kind", LISTED)
def test_a_list_has_every_name_once_as_text_and_as_json(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    key, names = LISTED[kind]
    rows = json.loads(run("list", kind, "--json"))
    assert sorted(row[key] for row in rows) == sorted(names)
    text = run("list", kind)
    header, _, *lines = text.splitlines()
    assert header.split()[0] == key
    assert set(names) <= {word for line in lines for word in line.split()[:1]}


@for_each("kind", [*LISTED, "methods"])
@for_each("width", [80, 120, 200])
def test_a_list_fits_the_terminal(kind: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = run("list", kind)
    assert max(map(len, text.splitlines())) <= width
    assert all(name in text for name in (LISTED[kind][1] if kind in LISTED else ["information_gain"]))


def test_the_list_of_tables_counts_printed_numbers() -> None:
    rows = json.loads(run("list", "tables", "--json"))
    printed = [cell for cell in load_all_cells() if cell.printed is not None]
    assert sum(row["cells"] for row in rows) == len(printed)


@for_each("name", [*LEARNERS, *OWN_FORMATS, *list_corpora()])
def test_details_are_the_same_as_yaml_and_as_json(name: str) -> None:
    facts = json.loads(run("show", name, "--json"))
    assert yaml.safe_load(run("show", name)) == facts
    if name in LEARNERS:
        assert facts["what"] == LEARNERS[name].title
        assert set(facts["parameters"]) == set(LEARNERS[name].parameters.model_fields)
    else:
        defaults = list_reader_options(name)
        assert {option: fact["default"] for option, fact in facts["options"].items()} == {
            option: json.loads(json.dumps(defaults[option])) for option in facts["options"]
        }
        assert all(fact["what"] for fact in facts["options"].values())
    if name in list_corpora():
        assert facts["title"] == load_card(name).title
        assert facts["here"]


@for_each("name", list(find_experiment_files())[::9])
def test_a_shown_experiment_can_be_run_again(name: str) -> None:
    """What `show` prints is a complete experiment file with the same settings."""
    shown = yaml.safe_load(run("show", name))
    experiment = load_experiment(name)
    assert Experiment.model_validate(shown).model_dump() == experiment.model_dump()


def test_a_shown_experiment_has_its_open_questions_and_their_answers() -> None:
    questions = {
        each["name"]: each for each in json.loads(run("show", "zhang_2000/table1", "--json"))["questions"]
    }
    assert set(questions) >= {"scope", "stop_list", "document_order"}
    assert "page_title" not in questions
    assert {"this file", "literal"} <= set(questions["stop_list"]["options"]["none"])
    assert questions["stop_list"]["options"]["smart"] == []
    text = run("show", "zhang_2000/table1")
    for each in questions.values():
        assert f"# {each['name']}: {each['question']}" in text


@for_each(
    ("name", "said"),
    [
        (
            "zhang_2000",
            ["Large Margin Winnow Methods", "zhang_2000.table1: ", "zhang_2000/table1: ", "scope: "],
        ),
        ("chi_square", ["equation 30", "selection: {score: chi_square}"]),
        ("macro_f1", ["macro.f1", "mean of the categories' F1"]),
        ("hinge", ["max(0, 1 - r)", "loss: hinge"]),
        ("scut", ["best F1", "threshold: {rule: scut}"]),
    ],
)
def test_papers_and_methods_are_shown(name: str, said: list[str]) -> None:
    text = run("show", name)
    assert not [part for part in said if part not in text]


def test_a_name_that_nothing_has_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="nothing is called 'chi_sqare'") as caught:
        run("show", "chi_sqare")
    assert "chi_square" in caught.value.hint


@for_each("table", LISTED["tables"][1][::6])
def test_a_shown_table_has_its_cells(table: str) -> None:
    facts = json.loads(run("show", table, "--json"))
    assert facts["table"] == table
    cells = [cell for cell in load_all_cells() if cell.table_id == table]
    assert len(facts["cells"]) == len(cells)


def test_show_needs_a_name_or_the_schema() -> None:
    with pytest.raises(click.UsageError, match="or use --schema"):
        run("show")
    assert json.loads(run("show", "--schema"))["title"] == "textcat experiment"


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(values, st.booleans())
def test_printed_json_has_null_in_place_of_what_json_does_not_have(value: Any, ensure_ascii: bool) -> None:
    @click.command()
    def command() -> None:
        print_json(value, ensure_ascii=ensure_ascii)

    def without_nan(part: Any) -> Any:
        if isinstance(part, float):
            return part if math.isfinite(part) else None
        if isinstance(part, dict):
            return {key: without_nan(inner) for key, inner in part.items()}
        return [without_nan(inner) for inner in part] if isinstance(part, list) else part

    output = CliRunner().invoke(command).output
    assert json.loads(output) == without_nan(value)
    assert not ensure_ascii or output.isascii()


@given(st.text(st.characters(codec="utf-8")))
def test_visible_text_has_no_character_that_steers_a_terminal(text: str) -> None:
    """Each such character has a sign, so that places in the text stay the same; other text is unchanged."""
    shown = make_visible(text)
    assert len(shown) == len(text)
    assert make_visible(shown) == shown
    for before, after in zip(text, shown, strict=True):
        steers = (
            unicodedata.category(before) == "Cc"
            or before in "\u061c\u200e\u200f\u2028\u2029"
            or ("\u202a" <= before <= "\u202e" or "\u2066" <= before <= "\u2069")
        )
        assert (before != after) == steers
        assert unicodedata.category(after) != "Cc"


def test_documents_keep_their_line_ends_and_tabs() -> None:
    facts = {"id\x1b": "a\tb\n", "document": {"bo\x07dy": "a\tb\r\nc\x1b[0m"}, "words": ["x\n", ("y\t",)]}
    assert make_visible(facts) == {
        "id\u241b": "a\u2409b\u240a",
        "document": {"bo\u2407dy": "a\tb \nc\u241b[0m"},
        "words": ["x\u240a", ["y\u2409"]],
    }


@for_each(
    ("text", "seconds"), [("90s", 90.0), ("20m", 1200.0), ("2h", 7200.0), ("1.5h", 5400.0), ("0.5s", 0.5)]
)
def test_times_have_a_unit(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@for_each("text", ["90", "1 h", "h", "-5m", "1d", ".5h", "5.m", "", "1h30m"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a time such as 90s, 20m or 2h"):
        Duration().convert(text, None, None)


def test_files_of_other_programs_in_configs_do_not_end_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "logging.yaml").write_text("version: 1\nhandlers: {}\n")
    listed = CliRunner().invoke(group, ["list", "experiments", "--json"])
    assert listed.exit_code == 0
    assert "reuters_modapte" in {row["name"] for row in json.loads(listed.stdout)}
    assert "Left out: configs/logging.yaml:1:1" in listed.stderr


def test_no_command_prints_what_steers_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    labels = ["gr\x1b]0;mine\x07ain", "s\x9b2Jea\u202e"]
    words = [["wheat\x9b", "corn"], ["port", "ship"]]
    rows = [
        f"{' '.join(words[n % 2])} {n},{labels[n % 2]},{['train', 'test'][n % 5 == 0]}" for n in range(40)
    ]
    # Named by init, run and tune: labels that differ in case, and a label that only test documents have.
    rows += [f"corn,{labels[0].upper()},{side}" for side in ("train", "test")] + ["ship,new\u2066,test"]
    Path("own.csv").write_text("\n".join(["text,label,split", *rows]) + "\n")
    small = ["--configurations", "1", "--folds", "2", "--jobs", "1"]
    for command in (
        ["init", "own.csv"],
        ["train", "own.yaml"],
        ["run", "own.yaml"],
        ["explain", "data/models/own/svm", "own.csv", "-v"],
        ["explain", "data/models/own/svm", "-c", labels[0]],
        ["explain", "data/models/own/svm", "-c", "absent\x1b"],
        ["predict", "data/models/own/svm", "own.csv", "-v"],
        ["tune", "own.csv", *small],
    ):
        with pytest.raises(SystemExit):
            main(command)
        printed = capfd.readouterr()
        shown = printed.err if command[0] == "predict" else printed.out + printed.err
        steers = {each for each in shown if unicodedata.category(each) in ("Cc", "Cf") and each not in "\n\t"}
        assert steers == set(), command
    with pytest.raises(SystemExit):
        main(["explain", "data/models/own/svm", "own.csv", "--json"])
    # What a program reads is exact.
    assert json.loads(capfd.readouterr().out)[0]["category"] in labels
