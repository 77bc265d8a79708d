"""The same documents are read from tables of every layout: separators, columns of marks, prefixed labels, two files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.cli.main import main
from textcat.corpora import open_corpus, open_vectors
from textcat.corpora.document import Document
from textcat.corpora.own.inspect import inspect_documents
from textcat.corpora.own.tables import guess_delimiter, parse_flag
from textcat.corpora.registry import fingerprint_corpus
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

LABELS = ("grain", "money", "sea")
YES, NO = ("1", "1.0", "true", "Yes", " TRUE "), ("0", "0.0", "False", "no", "")


class Labelled(NamedTuple):
    text: str
    labels: tuple[str, ...]


def make_documents(number: int = 40, first: int = 0) -> list[Labelled]:
    """Make documents of one to three labels, with text that holds every separator."""
    chosen = [
        labels for bits in range(1, 8) if (labels := [n for k, n in enumerate(LABELS) if bits >> k & 1])
    ]
    return [
        Labelled(f'the {" and ".join(labels)} report; no. {n}, "as is" | {n % 7} of 7', tuple(labels))
        for n in range(first, first + number)
        for labels in [chosen[n % 7]]
    ]


def run(arguments: list[str]) -> int | str | None:
    """Run the command line and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def write_cells(
    path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], delimiter: str = ","
) -> Path:
    with path.open("w", newline="") as opened:
        writer = csv.writer(opened, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def write_joined(path: Path, documents: Sequence[Labelled], delimiter: str = ",") -> Path:
    return write_cells(path, ["text", "labels"], [[d.text, " ".join(d.labels)] for d in documents], delimiter)


def declare(path: Path, line: str) -> Path:
    """Put a line before a table that says what separates its columns."""
    path.write_text(line + path.read_text())
    return path


def space_out(path: Path) -> Path:
    """Quote all fields, with a space after each comma between them."""
    with path.open(newline="") as opened:
        rows = [[field.replace('"', '""').join('""') for field in row] for row in csv.reader(opened)]
    path.write_text("".join(", ".join(row) + "\n" for row in rows))
    return path


def write_marks(path: Path, documents: Sequence[Labelled], yes: str = "1", no: str = "0") -> Path:
    rows = [[d.text, *(yes if label in d.labels else no for label in LABELS)] for d in documents]
    return write_cells(path, ["text", *LABELS], rows)


def write_json(path: Path, documents: Sequence[Labelled]) -> Path:
    lines = [json.dumps({"text": d.text, "labels": d.labels}) for d in documents]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def write_json_marks(path: Path, documents: Sequence[Labelled]) -> Path:
    lines = [json.dumps({"text": d.text} | {label: label in d.labels for label in LABELS}) for d in documents]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def write_lists(path: Path, documents: Sequence[Labelled], write: Callable[[Sequence[str]], str]) -> Path:
    return write_cells(path, ["text", "labels"], [[d.text, write(d.labels)] for d in documents])


def write_prefixed(path: Path, documents: Sequence[Labelled]) -> Path:
    path.write_text("".join(f"{' '.join(f'__label__{n}' for n in d.labels)} {d.text}\n" for d in documents))
    return path


LAYOUTS: dict[str, Callable[[Path, Sequence[Labelled]], Path]] = {
    "commas.csv": write_joined,
    "semicolons.csv": lambda path, documents: write_joined(path, documents, ";"),
    "bars.csv": lambda path, documents: write_joined(path, documents, "|"),
    "tabs.tsv": lambda path, documents: write_joined(path, documents, "\t"),
    "excel.csv": lambda path, documents: declare(write_joined(path, documents, ";"), "sep=;\r\n"),
    "excel.txt": lambda path, documents: declare(write_joined(path, documents, "\t"), "\ufeffsep=\t\n"),
    "marks.csv": write_marks,
    "spaced.csv": lambda path, documents: space_out(write_joined(path, documents)),
    "pandas.csv": lambda path, documents: write_lists(path, documents, lambda labels: str(list(labels))),
    "json.csv": lambda path, documents: write_lists(path, documents, json.dumps),
    "lists.jsonl": write_json,
    "marks.jsonl": write_json_marks,
    "prefixed.txt": write_prefixed,
}


def read_as_inspected(path: Path, test: Path | None = None, **others: Any) -> list[Document]:
    found = inspect_documents(path, test)
    return list(open_corpus(found.kind, path, **(dict(found.options) | others)).documents())


@for_each("layout", LAYOUTS)
def test_every_layout_gives_the_same_documents(layout: str, tmp_path: Path) -> None:
    documents = make_documents()
    path = LAYOUTS[layout](tmp_path / layout, documents)
    found = read_as_inspected(path, ratio=None)
    assert [(d.fields["text"], set(d.labels)) for d in found] == [(d.text, set(d.labels)) for d in documents]
    assert [d.id for d in found] == [str(number + 1) for number in range(len(documents))]
    kind = inspect_documents(path).kind
    assert open_corpus(kind, path, **inspect_documents(path).options).categories == LABELS


@for_each(("layout", "side_of_test"), [*product(LAYOUTS, ("a fifth", "half"))])
def test_a_file_of_test_documents_follows_the_training_documents(
    layout: str, side_of_test: str, tmp_path: Path
) -> None:
    """Ids go on in the second file, sides follow from the files, and the fingerprint covers both."""
    train, test = make_documents(30), make_documents(30 if side_of_test == "half" else 7, first=30)
    paths = [tmp_path / f"{side}-{layout}" for side in ("train", "test")]
    for path, documents in zip(paths, (train, test), strict=True):
        LAYOUTS[layout](path, documents)
    found = read_as_inspected(*paths)
    assert [d.fields["text"] for d in found] == [d.text for d in (*train, *test)]
    assert [d.split for d in found] == ["train"] * len(train) + ["test"] * len(test)
    assert [d.id for d in found] == [str(number + 1) for number in range(len(train) + len(test))]
    inspection = inspect_documents(*paths)
    assert inspection.options["test"] == paths[1].name
    assert (inspection.counts.sides["train"], inspection.counts.sides["test"]) == (len(train), len(test))
    before = fingerprint_corpus(inspection.kind, paths[0], **inspection.options)
    LAYOUTS[layout](paths[1], test[:-1])
    assert fingerprint_corpus(inspection.kind, paths[0], **inspection.options) != before


def test_ids_of_both_files_are_kept_apart(tmp_path: Path) -> None:
    """Files that number their documents from 0 on lose no test document."""
    for name in ("train", "test"):
        rows = [[str(n), d.text, d.labels[0]] for n, d in enumerate(make_documents(12))]
        write_cells(tmp_path / f"{name}.csv", ["id", "text", "label"], rows)
    found = read_as_inspected(tmp_path / "train.csv", tmp_path / "test.csv")
    assert [d.id for d in found] == [*map(str, range(12)), *(f"{n}#2" for n in range(12))]


def test_a_column_of_sides_gives_way_to_a_file_of_test_documents(tmp_path: Path) -> None:
    for name in ("train", "test"):
        rows = [[("train", "test")[n % 2], d.text, d.labels[0]] for n, d in enumerate(make_documents(12))]
        write_cells(tmp_path / f"{name}.csv", ["split", "text", "label"], rows)
    inspection = inspect_documents(tmp_path / "train.csv", tmp_path / "test.csv")
    assert "side" not in inspection.options
    assert "column split is not used as the split: test.csv has the test documents" in inspection.report
    assert inspection.counts.sides == {"train": 12, "test": 12}


def test_vectors_may_have_a_file_of_test_documents(tmp_path: Path) -> None:
    lines = [f"{'ab'[n % 2]} {n % 3 + 1}:1 {n % 5 + 4}:0.5" for n in range(20)]
    (tmp_path / "train.txt").write_text("\n".join(lines[:12]) + "\n")
    (tmp_path / "test.txt").write_text("\n".join(lines[12:]) + "\n")
    inspection = inspect_documents(tmp_path / "train.txt", tmp_path / "test.txt")
    assert inspection.counts.sides == {"train": 12, "test": 8}
    opened = open_vectors(inspection.kind, tmp_path / "train.txt", **inspection.options)
    assert list(opened.split) == ["train"] * 12 + ["test"] * 8


def test_faults_of_two_files_are_named(tmp_path: Path) -> None:
    documents = make_documents()
    table = write_joined(tmp_path / "d.csv", documents)
    lines = write_prefixed(tmp_path / "d.txt", documents)
    with pytest.raises(UsageError, match=r"fasttext, but .*d\.csv is csv"):
        inspect_documents(table, lines)
    with pytest.raises(DataNotAvailableError, match="no such file"):
        inspect_documents(table, tmp_path / "none.csv")
    other = write_cells(tmp_path / "other.csv", ["body", "labels"], [["a b c", "grain"]])
    with pytest.raises(BadDataError, match="no column 'text'; the columns are body, labels"):
        list(open_corpus("csv", table, label="labels", test=other.name).documents())
    with pytest.raises(UsageError, match=r"options\.test cannot be combined with options\.side"):
        open_corpus("csv", table, label="labels", test="other.csv", side="split")
    (tmp_path / "classes" / "a").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"options\.test cannot be combined with folders"):
        open_corpus("folders", tmp_path / "classes", test="other.csv")
    with pytest.raises(UsageError, match="--test names a file"):
        inspect_documents(tmp_path / "classes", table)


@for_each(("yes", "no"), [*product(YES, NO)])
def test_marks_are_read_in_all_their_spellings(yes: str, no: str, tmp_path: Path) -> None:
    assert parse_flag(yes) is True
    assert parse_flag(no) is False
    documents = make_documents()
    path = write_marks(tmp_path / "d.csv", documents, yes, no)
    assert [set(d.labels) for d in read_as_inspected(path, ratio=None)] == [set(d.labels) for d in documents]


@for_each("policy", ["error", "skip"])
def test_a_cell_that_is_no_mark_is_reported_with_its_line(policy: str, tmp_path: Path) -> None:
    path = write_marks(tmp_path / "d.csv", make_documents(9))
    path.write_text(path.read_text() + "one more report,1,-1,0\n")
    corpus = open_corpus("csv", path, label=list(LABELS), ratio=None, policy={"malformed": policy})
    if policy == "skip":
        assert len(list(corpus.documents())) == 9
        return
    with pytest.raises(BadDataError, match="'-1' in column 'money' is neither yes nor no") as caught:
        list(corpus.documents())
    assert caught.value.where == f"{path}:11"


@for_each("marks", range(4))
def test_a_column_named_label_wins_over_columns_of_marks(marks: int, tmp_path: Path) -> None:
    """One column of marks is a label with two classes; several are labels, unless a column has a label's name."""
    names = LABELS[:marks]
    documents = make_documents()
    rows = [[d.text, *(str(int(name in d.labels)) for name in names)] for d in documents]
    if marks:
        found = inspect_documents(write_cells(tmp_path / "d.csv", ["text", *names], rows))
        assert found.options["label"] == (list(names) if marks > 1 else names[0])
        assert found.single_label == (marks == 1)
    named = [[*row, d.labels[0]] for row, d in zip(rows, documents, strict=True)]
    found = inspect_documents(write_cells(tmp_path / "n.csv", ["text", *names, "topic"], named))
    assert found.options["label"] == "topic"


labels_of_lines = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=6)
texts_of_lines = st.text(st.characters(categories=["L", "N", "P"], include_characters=" "), max_size=30)


@given(st.lists(st.tuples(st.lists(labels_of_lines, max_size=3, unique=True), texts_of_lines), max_size=8))
@settings(max_examples=80, deadline=None)
def test_prefixed_labels_are_read_back(tmp_path_factory: pytest.TempPathFactory, lines: Any) -> None:
    lines = [(labels, text.strip()) for labels, text in lines if "__label__" not in text]
    path = tmp_path_factory.mktemp("lines") / "d.txt"
    path.write_text(
        "".join(" ".join([*(f"__label__{label}" for label in labels), text]) + "\n" for labels, text in lines)
    )
    read = list(open_corpus("fasttext", path, ratio=None).documents())
    kept = [(labels, text) for labels, text in lines if labels or text]
    assert [(list(d.labels), d.fields["text"]) for d in read] == kept


@for_each(
    ("header", "delimiter"),
    [
        ("text,label", ","),
        ("text;label", ";"),
        ("text|label", "|"),
        ('"a;b;c",label', ","),
        ('"a, b, or c";label', ";"),
        ("text", ","),
        ("a,b;c", ","),
    ],
)
def test_the_delimiter_is_the_most_frequent_outside_of_quotes(header: str, delimiter: str) -> None:
    assert guess_delimiter(header) == delimiter


@for_each(("number", "missing"), [*product((49, 50, 100, 150), range(4))])
def test_few_documents_without_a_label_are_left_out(number: int, missing: int, tmp_path: Path) -> None:
    """Up to 2 % may lack a label; with more, documents are ones with none or one of several labels."""
    rows = [[d.text, "" if n < missing else d.labels[0]] for n, d in enumerate(make_documents(number))]
    found = inspect_documents(write_cells(tmp_path / "d.csv", ["text", "label"], rows))
    assert found.single_label == (50 * missing <= number)
    assert found.leaves_out == (0 < 50 * missing <= number)
    assert any("left out" in line for line in found.report) == found.leaves_out
    written = tmp_path / "d.yaml"
    assert run(["init", str(tmp_path / "d.csv"), "--to", str(written), "-q"]) == 0
    assert ("documents: labelled" in written.read_text()) == found.leaves_out


def test_two_files_of_a_layout_are_tuned_and_new_lines_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From two files of fastText's lines and of semicolons to the labels of the same lines."""
    monkeypatch.chdir(tmp_path)
    single = [Labelled(d.text, d.labels[:1]) for d in make_documents(60)]
    write_prefixed(tmp_path / "train.txt", single)
    write_prefixed(tmp_path / "test.txt", single[:20])
    options = ["--configurations", "1", "--folds", "2", "--output", "tuned", "-q", "--data", "cache"]
    code = run(["tune", "train.txt", "--test", "test.txt", *options])
    assert code == 0
    assert json.loads((tmp_path / "tuned" / "tune.json").read_text())["documents"]["test"] == 20
    capsys.readouterr()
    write_joined(tmp_path / "new.csv", single[:20], ";")
    answers = []
    (tmp_path / "new.dat").write_bytes((tmp_path / "new.csv").read_bytes())
    for arguments in (["test.txt", "--format", "fasttext"], ["test.txt"], ["new.csv"], ["new.dat"]):
        assert run(["predict", "tuned/model", *arguments]) == 0
        answers.append([json.loads(line)["labels"] for line in capsys.readouterr().out.splitlines()])
    assert answers[1:] == answers[:1] * 3
    assert len(answers[0]) == 20


def test_two_files_of_different_encodings_are_refused(tmp_path: Path) -> None:
    for encoding, name in (("utf-8", "caf\u00e9"), ("latin-1", "caf\u00e9"), ("ascii", "cafe")):
        rows = "".join(f"at the {name} or {k} in this town,{'ab'[k % 2]}\n" for k in range(20))
        (tmp_path / f"{encoding}.csv").write_bytes(f"text,label\n{rows}".encode(encoding))
    for train, test, expected in (("ascii", "latin-1", "latin-1"), ("utf-8", "ascii", "utf-8")):
        found = inspect_documents(tmp_path / f"{train}.csv", tmp_path / f"{test}.csv")
        assert found.options.get("encoding", "utf-8") == expected
    for train, test in (("latin-1", "utf-8"), ("utf-8", "latin-1")):
        with pytest.raises(UsageError, match=r"different encodings: .*utf-8"):
            inspect_documents(tmp_path / f"{train}.csv", tmp_path / f"{test}.csv")
