"""Odd options and odd documents of a user's own: a message with its place, never a fault of textcat or a hang."""

from __future__ import annotations

import os
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from tests.loops import for_each
from textcat.cli.main import group
from textcat.corpora import registry
from textcat.corpora.collection_files import DocumentTree
from textcat.corpora.registry import (
    find_option_fault,
    list_known_corpora,
    list_reader_options,
)
from textcat.errors import BadDataError, TextcatError, UsageError
from textcat.experiment.spec.loading import load_experiment

ODD: list[tuple[str, str, Any]] = [
    ("csv", "label_separator", ""),
    ("csv", "label_separator", 3),
    ("csv", "seed", -1),
    ("csv", "seed", "one"),
    ("csv", "seed", True),
    ("csv", "encoding", 3),
    ("csv", "encoding", "undefined"),
    ("csv", "encoding", "a\0b"),
    ("csv", "encoding", "rot13"),
    ("csv", "encoding", "utf-16"),
    ("csv", "ratio", 1e308),
    ("csv", "ratio", 0),
    ("csv", "ratio", "4"),
    ("csv", "categories", "bc"),
    ("csv", "categories", []),
    ("csv", "categories", ["a", "a"]),
    ("csv", "categories", [1]),
    ("csv", "text", []),
    ("csv", "text", {"a": 1}),
    ("csv", "label", ["a", "a"]),
    ("csv", "id", 7),
    ("csv", "side", []),
    ("csv", "validation", "validation"),
    ("csv", "policy", "error"),
    ("csv", "policy", {"empty": 1}),
    ("csv", "policy", {"empty": "explode"}),
    ("csv", "policy", {"emptiness": "skip"}),
    ("csv", "split", "modapte"),
    ("csv", "lable", "a"),
    ("folders", "same_name", None),
    ("svmlight", "test", ["a"]),
    ("svmlight", "seed", 1.5),
    ("reuters21578", "labels", ["topics"]),
    ("reuters21578", "unprocessed", True),
    ("20newsgroups", "headers", "keep"),
    ("webkb", "classes", "course"),
    ("webkb", "sites", ["harvard"]),
    ("ohsumed", "min_train", "many"),
    ("ohsumed", "complete_only", "yes please"),
    ("rcv1", "labels", "colours"),
    ("rcv1-subset", "ratio", -2),
    ("industry-sector", "anything", 1),
]


@for_each(("kind", "key", "value"), ODD)
def test_odd_options_are_refused_with_their_place(tmp_path: Path, kind: str, key: str, value: Any) -> None:
    written = {
        "title": "odd",
        "corpus": {"name": kind, "path": "documents", "options": {key: value}},
        "runs": {"svm": {"learner": "linear", "parameters": {"loss": "hinge"}}},
    }
    path = tmp_path / "odd.yaml"
    path.write_text(yaml.safe_dump(written))
    with pytest.raises(UsageError, match=key) as caught:
        load_experiment(path)
    where = Path(caught.value.where).name.split(":")
    assert where[0] == "odd.yaml"
    line = path.read_text().splitlines()[int(where[1]) - 1]
    assert key in line or line.lstrip().startswith("-")


@for_each("name", sorted(list_known_corpora()))
def test_every_reader_has_types_for_its_options(name: str) -> None:
    reader = registry._COLLECTIONS[name].open
    taken = [each for each in signature(reader).parameters.values() if each.kind is each.KEYWORD_ONLY]
    defaults = {each.name: each.default for each in taken if each.name != "split"}
    assert list_reader_options(name) == defaults
    assert find_option_fault(name, defaults) is None


def write_experiment(folder: Path, kind: str, path: str, **options: Any) -> Path:
    written = {
        "title": "own",
        "corpus": {"name": kind, "path": path, "options": options},
        "text": {"fields": ["text"]},
        "runs": {"svm": {"learner": "linear", "parameters": {"loss": "hinge"}}},
    }
    (folder / "own.yaml").write_text(yaml.safe_dump(written))
    return folder / "own.yaml"


def run(experiment: Path) -> Result:
    folder = experiment.parent
    arguments = ["run", str(experiment), "--data", str(folder / "data"), "--results", str(folder / "results")]
    return CliRunner().invoke(group, [*arguments, "-j", "1"])


@for_each("kind", ["csv", "jsonl", "folders", "svmlight"])
def test_documents_without_any_label_are_a_message(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "documents"
    if kind == "folders":
        path.mkdir()
        (path / "loose.txt").write_text("wheat")
    elif kind == "svmlight":
        path.write_text(" 1:1.0\n 2:1.0\n" * 10)
    elif kind == "csv":
        path.write_text("text,label\n" + "wheat,\n" * 10)
    else:
        path.write_text('{"text": "wheat", "label": []}\n' * 10)
    result = run(write_experiment(tmp_path, kind, "documents"))
    assert isinstance(result.exception, TextcatError), result.exception
    assert result.exception.hint


@for_each("kind", ["csv", "jsonl", "svmlight", "folders"])
def test_pipes_in_place_of_documents_do_not_hang(tmp_path: Path, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    result = run(write_experiment(tmp_path, kind, "pipe"))
    assert isinstance(result.exception, TextcatError)
    assert result.exception.exit_code == 3


def test_a_pipe_in_a_folder_of_documents_is_named(tmp_path: Path) -> None:
    (tmp_path / "documents" / "grain").mkdir(parents=True)
    (tmp_path / "documents" / "grain" / "1.txt").write_text("wheat")
    os.mkfifo(tmp_path / "documents" / "grain" / "pipe")
    tree = DocumentTree(tmp_path / "documents")
    with pytest.raises(BadDataError, match="regular file") as caught:
        list(tree.contents(tree.names))
    assert caught.value.where.endswith("grain/pipe")


@for_each("name", [b"gr\xe4in/1.txt", b"grain/\xff.txt"])
def test_names_that_are_not_utf_8_are_named(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / "documents" / os.fsdecode(name)
    path.parent.mkdir(parents=True)
    path.write_text("wheat")
    result = run(write_experiment(tmp_path, "folders", "documents"))
    assert isinstance(result.exception, BadDataError), result.exception
    assert "\\x" in str(result.exception)
    str(result.exception).encode()
