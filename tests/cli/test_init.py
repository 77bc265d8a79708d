"""`textcat init` guesses right on tables of many kinds, and what it writes runs."""

from __future__ import annotations

import csv
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import lists, sampled_from

from tests.loops import for_each
from textcat.cli.main import main
from textcat.corpora import open_corpus, open_vectors
from textcat.corpora.own.inspect import inspect_documents
from textcat.errors import BadDataError, TextcatError
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.spec.schema import render_first_experiment

WORDS = {
    "grain": ["wheat", "harvest", "bushels"],
    "money": ["bank", "dollar", "rate"],
    "sea": ["port", "ship"],
}
Row = dict[str, Any]


def rows(number: int = 90, most: int = 2) -> list[Row]:
    """Documents of three categories, with one label or several."""
    draw = random.Random(5)
    found = []
    for place in range(number):
        labels = draw.sample(sorted(WORDS), draw.randint(1, most))
        words = [draw.choice(WORDS[label]) for label in labels for _ in range(3)]
        body = " ".join([*words, *draw.choices(["the", "of", "said", "in", "and"], k=6)])
        title = f"{words[0]} {words[-1]}"
        found.append({"n": f"d{place}", "title": title, "body": body, "labels": labels, "k": str(place % 7)})
    return found


def table(path: Path, separator: str, parted: str = "|", most: int = 2, extra: str = "") -> Path:
    lines = [separator.join(["id", "Title", "body", "topics", *filter(None, [extra])])]
    for place, row in enumerate(rows(most=most)):
        side = ["train", "train", "test"][place % 3]
        values = [
            row["n"],
            row["title"],
            row["body"],
            parted.join(row["labels"]),
            *filter(None, [extra and side]),
        ]
        lines.append(separator.join(f'"{value}"' for value in values))
    path.write_text("\n".join(lines) + "\n")
    return path


def jsonl(path: Path) -> Path:
    keep = ("n", "body", "labels")
    path.write_text("".join(json.dumps({k: row[k] for k in keep}) + "\n" for row in rows()))
    return path


def folders(path: Path) -> Path:
    for row in rows(most=1):
        (path / row["labels"][0]).mkdir(parents=True, exist_ok=True)
        (path / row["labels"][0] / row["n"]).write_text(row["body"])
    return path


def vectors(path: Path) -> Path:
    terms = sorted({word for words in WORDS.values() for word in words})
    lines = []
    for row in rows():
        counts = [(k + 1, row["body"].split().count(term)) for k, term in enumerate(terms)]
        pairs = " ".join(f"{k}:{n}" for k, n in counts if n)
        lines.append(f"{','.join(row['labels'])} {pairs}")
    path.write_text("\n".join(lines) + "\n")
    return path


def unnamed(path: Path) -> Path:
    """Columns whose names say nothing: only their values do."""
    lines = [
        "a\tb\tc",
        *(f"{row['k']}x{k}\t{row['body']}\t{row['labels'][0]}" for k, row in enumerate(rows())),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def latin(path: Path) -> Path:
    lines = ["text,label", *(f"caf\xe9 {row['body']},{row['labels'][0]}" for row in rows())]
    path.write_bytes("\n".join(lines).encode("latin-1"))
    return path


def ragged(path: Path) -> Path:
    lines = table(path, ",").read_text().splitlines()
    path.write_text("\n".join([*lines[:5], "one,two", *lines[5:]]) + "\n")
    return path


MADE: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "csv": ("mine.csv", lambda path: table(path, ",")),
    "tsv in a .txt": ("mine.txt", lambda path: table(path, "\t", "; ")),
    "split": ("mine.csv", lambda path: table(path, ",", ",", extra="split")),
    "single": ("mine.csv", lambda path: table(path, ",", most=1)),
    "spaces": ("mine.tsv", lambda path: table(path, "\t", " ")),
    "jsonl": ("mine.jsonl", jsonl),
    "folders": ("documents", folders),
    "svmlight": ("mine.svm", vectors),
    "unnamed": ("mine.tsv", unnamed),
    "latin": ("mine.csv", latin),
    "ragged": ("mine.csv", ragged),
    "hidden": (".mine 'odd' \"name\".csv", lambda path: table(path, ",")),
}


@for_each(
    ("kind", "text", "label", "separator", "single"),
    [
        ("csv", ("Title", "body"), "topics", "|", False),
        ("tsv in a .txt", ("Title", "body"), "topics", ";", False),
        ("split", ("Title", "body"), "topics", ",", False),
        ("single", ("Title", "body"), "topics", None, True),
        ("spaces", ("Title", "body"), "topics", " ", False),
        ("jsonl", ("body",), "labels", None, False),
        ("unnamed", ("b",), "c", None, True),
    ],
)
def test_columns_and_separators_are_guessed(
    kind: str, text: tuple[str, ...], label: str, separator: str | None, single: bool, tmp_path: Path
) -> None:
    name, make = MADE[kind]
    look = inspect_documents(make(tmp_path / name))
    assert (look.text, look.options["label"], look.options["label_separator"]) == (text, label, separator)
    assert look.single_label == single


@pytest.mark.parametrize("kind", list(MADE))
def test_what_is_written_runs(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, make = MADE[kind]
    make(tmp_path / name)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert leave("init", f"../{name}") == 0
    written = next(Path().glob("*.yaml"))
    printed = capsys.readouterr().out
    assert "3 categories" in printed
    assert f"textcat run {written}" in printed
    assert leave("run", str(written), "-q", "-j", "1") == 0
    results = json.loads(next(Path("results").rglob("results.json")).read_text())
    assert results["corpus"]["categories"] == 3
    for run in results["runs"].values():
        assert run["measures"]["micro.f1"] > 70


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_a_file_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path / "mine.csv", ",")
    target = tmp_path / "mine.yaml"
    target.write_text("precious")
    assert leave("init", str(tmp_path / "mine.csv"), "--to", str(target)) == 2
    assert "--to" in capsys.readouterr().err
    assert target.read_text() == "precious"


def test_it_says_nothing_when_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path / "mine.csv", ",")
    assert leave("init", str(tmp_path / "mine.csv"), "--to", str(tmp_path / "x.yaml"), "-q") == 0
    captured = capsys.readouterr()
    assert not captured.out + captured.err
    assert load_experiment(tmp_path / "x.yaml").corpus.name == "csv"


def test_copies_in_several_folders_are_one_document(tmp_path: Path) -> None:
    folders(tmp_path / "documents")
    assert "same_name" not in inspect_documents(tmp_path / "documents").options
    for place in ("sea", "money"):
        (tmp_path / "documents" / place / "twice").write_text("the same words")
    look = inspect_documents(tmp_path / "documents")
    assert look.options["same_name"] == "one"
    assert not look.single_label
    assert "1 files are copies in the folders of other classes" in "".join(look.report)
    corpus = open_corpus("folders", tmp_path / "documents", ratio=None, **look.options)
    assert ("money", "sea") in [document.labels for document in corpus.documents()]
    (tmp_path / "documents" / "sea" / "twice").write_text("other words")
    assert "same_name" not in inspect_documents(tmp_path / "documents").options
    with pytest.raises(BadDataError, match="differ"):
        list(open_corpus("folders", tmp_path / "documents", ratio=None, same_name="one").documents())


def test_folders_of_training_and_test_documents(tmp_path: Path) -> None:
    for side in ("training", "test"):
        folders(tmp_path / "documents" / side)
    look = inspect_documents(tmp_path / "documents")
    assert look.options["side"] == "folders"
    found = list(open_corpus("folders", tmp_path / "documents", **look.options).documents())
    assert {document.split for document in found} == {"train", "test"}
    assert {label for document in found for label in document.labels} == {"grain", "money", "sea"}
    (tmp_path / "documents" / "more" / "sea").mkdir(parents=True)
    (tmp_path / "documents" / "more" / "sea" / "one").write_text("words")
    with pytest.raises(BadDataError, match="'more' is neither"):
        list(open_corpus("folders", tmp_path / "documents", side="folders").documents())
    look = inspect_documents(tmp_path / "documents")
    assert look.options["policy"] == {"unknown-side": "skip"}
    assert "'more' is neither" in "".join(look.report)
    assert len(list(open_corpus("folders", tmp_path / "documents", **look.options).documents())) == len(found)


def write_rows(path: Path, rows: list[Row]) -> Path:
    """A table or JSON Lines with a line for each row, by the name of the file."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path
    with path.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
    return path


def sorted_by_side(counts: dict[str, int], column: str = "split", **more: Any) -> list[Row]:
    """Rows of three categories, sorted by side as files are that were put together from several."""
    labels = sorted(WORDS)
    return [
        {
            "text": f"{' '.join(WORDS[labels[k % 3]])} said of the",
            "label": labels[k % 3],
            column: side,
            **more,
        }
        for side, number in counts.items()
        for k in range(number)
    ]


@for_each("ending", ["csv", "tsv", "jsonl"])
@for_each("column", ["Split", "subset", "SET", "partition", "fold"])
def test_a_split_is_found_in_a_long_file_sorted_by_side(ending: str, column: str, tmp_path: Path) -> None:
    rows = sorted_by_side({"Train": 6000, "test": 900}, column)
    look = inspect_documents(write_rows(tmp_path / f"mine.{ending}", rows))
    assert look.options["side"] == column
    assert f"from column {column}; 6,000 training, 900 test and 0 unused" in "\n".join(look.report)


@for_each(
    ("column", "counts", "why"),
    [
        ("split", {"train": 90}, "column split is not used as the split: it has only train rows"),
        ("fold", {"0": 30, "1": 30, "2": 30}, "such as '0', '1', '2', name no side"),
        ("set", {"train": 9, "test": 9, "other": 72}, "72 of its values name no side"),
    ],
)
def test_a_column_that_is_no_split_is_said(
    column: str, counts: dict[str, int], why: str, tmp_path: Path
) -> None:
    look = inspect_documents(write_rows(tmp_path / "mine.csv", sorted_by_side(counts, column)))
    assert "side" not in look.options
    assert look.options["label"] == "label"
    assert why in "\n".join(look.report)
    assert "drawn at random: 72 training and 18 test documents" in "\n".join(look.report)


@for_each("several", [["grain", "sea"], "grain|sea"])
def test_labels_are_looked_at_in_the_whole_file(several: Any, tmp_path: Path) -> None:
    rows = sorted_by_side({"train": 6000, "test": 900})
    rows[5500]["label"] = several
    path = write_rows(tmp_path / ("mine.csv" if isinstance(several, str) else "mine.jsonl"), rows)
    look = inspect_documents(path)
    assert not look.single_label
    where = f"{path}:{5502 if path.suffix == '.csv' else 5501}"
    assert f"3 categories, 1.00 labels per document; 1 documents have several (first: {where})" in "\n".join(
        look.report
    )


def test_damage_late_in_a_file_is_seen(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "mine.csv", sorted_by_side({"train": 6000, "test": 900}))
    lines = ["caf\u00e9 and the rest,sea,test\n".encode()] * 3 + [b"one,two\n", b"caf\xe9 of old,sea,test\n"]
    path.write_bytes(path.read_bytes() + b"".join(lines))
    look = inspect_documents(path)
    assert "encoding" not in look.options
    assert look.options["policy"] == {"malformed": "skip"}
    report = "\n".join(look.report)
    assert f"{path}:6905: 2 fields where the header has 3 (skip)" in report
    assert f"{path}:6906: byte 4 of the line is not utf-8 (replace)" in report


PIECES = [
    b"text",
    b"label",
    b",",
    b"\t",
    b"\n",
    b'"',
    b"a b c d e f",
    b"x|y",
    b"{",
    b"}",
    b":",
    b"1:2",
    b"\xff",
    b"[]",
]
PIECES += [
    b'{"text": "a b c d e f", "label": ["x"]}',
    b"null",
    b"\r\n",
    b"\xef\xbb\xbf",
    b"id",
    b" ",
    b"0",
    b"'",
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=lists(sampled_from(PIECES), max_size=40),
    ending=sampled_from([".csv", ".tsv", ".jsonl", ".svm", ".json", ".txt", ""]),
)
def test_any_file_is_guessed_or_refused_and_what_is_written_can_be_read(
    pieces: list[bytes], ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"any{ending}"
    path.write_bytes(b"".join(pieces))
    try:
        look = inspect_documents(path)
    except TextcatError as error:
        assert error.hint
        return
    written = tmp_path / "any.yaml"
    written.write_text(render_first_experiment(look, "any", path.name), encoding="utf-8")
    experiment = load_experiment(written)
    assert experiment.corpus.name == look.kind
    opener = open_vectors if look.weighted else open_corpus
    opened: Any = opener(look.kind, path, **experiment.corpus.options)
    number = opened.X.shape[0] if look.weighted else sum(1 for _ in opened.documents())
    assert number == look.counts.sides.total() > 0


@for_each(("words", "short"), [(12, True), (80, False)])
def test_short_texts_get_parts_of_words_as_features(tmp_path: Path, words: int, short: bool) -> None:
    lines = [f"{' '.join(['bank' if place % 2 else 'port'] * words)},{place % 2}" for place in range(40)]
    path = tmp_path / "texts.csv"
    path.write_text("text,label\n" + "\n".join(lines) + "\n")
    inspection = inspect_documents(path)
    assert inspection.short_texts is short
    written = tmp_path / "texts.yaml"
    written.write_text(render_first_experiment(inspection, "texts", path.name))
    groups = load_experiment(written).text.groups
    found = [(group.analyzer, group.ngrams, group.first_words) for group in groups]
    assert found == (
        [("word", (1, 2), None), ("char_wb", (2, 5), None)]
        if short
        else [("word", (1, 1), None), ("word", (2, 2), None), ("word", (1, 2), 10), ("word", (1, 2), 40)]
    )


@pytest.mark.parametrize("single", [True, False])
def test_with_thousands_of_labels_small_weights_are_dropped(
    tmp_path: Path, single: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/decisions.md recommends it; the limit is lowered, so that few documents have more."""
    path = write_labels(tmp_path / "texts.csv", single=single)
    monkeypatch.setattr("textcat.corpora.own.inspect.THOUSANDS", 2)
    inspection = inspect_documents(path)
    written = tmp_path / "texts.yaml"
    written.write_text(render_first_experiment(inspection, "texts", path.name))
    experiment = load_experiment(written)
    assert experiment.runs["svm"].parameters["prune"] == 0.02
    assert experiment.runs["label_tree"].learner == "label_tree" and len(experiment.runs) == 2
    assert not experiment.text.groups
    data = yaml.safe_load(written.read_text())
    assert "calibration" not in data
    assert data.get("threshold", {}).get("rule") == (None if single else "scut-fbr")
    monkeypatch.setattr("textcat.corpora.own.inspect.THOUSANDS", 1000)
    assert not inspect_documents(path).thousands


def write_labels(path: Path, *, without: int = 0, single: bool = False) -> Path:
    """Write 40 documents, of which some have no label, and which otherwise have one or two."""
    lines = ["text,label"]
    for place, row in enumerate(rows(40, most=1 if single else 2)):
        labels = [] if place < without else row["labels"]
        lines.append(f'{row["body"]},"{"|".join(labels)}"')
    path.write_text("\n".join(lines) + "\n")
    return path


def test_thresholds_are_those_that_were_best_on_training_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/decisions.md has the measurements."""

    def find_threshold(**which: Any) -> dict[str, Any] | None:
        inspection = inspect_documents(write_labels(tmp_path / "t.csv", **which))
        (tmp_path / "t.yaml").write_text(render_first_experiment(inspection, "t", "t.csv"))
        load_experiment(tmp_path / "t.yaml")
        text = (tmp_path / "t.yaml").read_text()
        assert ("the fewer documents" in text) == ("shrinkage" in text)
        return yaml.safe_load(text).get("threshold")

    plain = {"rule": "pcut", "per_document": "tuned", "cross_validated": True}
    assert find_threshold() == {**plain, "shrinkage": 5, "at_least_one": True}
    assert find_threshold(without=3) == plain
    assert find_threshold(single=True) is None
    monkeypatch.setattr("textcat.corpora.own.inspect.MOST_SCORES", 40 * 3 - 1)
    assert find_threshold() == plain


def test_a_name_that_is_not_utf8_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"caf\xe9.csv")
    Path(name).write_text("text,label\nwheat,grain\nport,sea\n")
    with pytest.raises(SystemExit) as stopped:
        main(["init", name])
    assert stopped.value.code == 4
    assert (
        capsys.readouterr().err
        == "Error: caf\\xe9.csv: the name of a file or folder is not UTF-8\nRename it.\n"
    )
    assert [os.fsencode(each) for each in Path().iterdir()] == [b"caf\xe9.csv"]
