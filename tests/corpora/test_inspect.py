"""What inspection reports about documents agrees with reading them by the settings that it chose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.corpora import open_corpus
from textcat.corpora.document import find_similar_labels
from textcat.corpora.own.inspect import MANY_LABELS, Inspection, inspect_documents
from textcat.corpora.own.label_counts import LabelCounts
from textcat.errors import BadDataError, UsageError

PROSE = "wheat prices rose again in the week"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def line_about(inspection: Inspection, start: str) -> str:
    return next(line for line in inspection.report if line.startswith(start))


documents = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["earn", "acq", "corn"]), max_size=3, unique=True),
        st.sampled_from(["train", "test", "unused"]),
    ),
    max_size=20,
)


@given(documents)
def test_labels_are_counted_as_by_hand(rows: list[tuple[list[str], str]]) -> None:
    """Unused documents count as documents of their side, and their labels do not count."""
    counts = LabelCounts()
    for number, (labels, side) in enumerate(rows):
        counts.add(f"f:{number}", labels, side)
    used = [(number, labels) for number, (labels, side) in enumerate(rows) if side != "unused"]
    assert counts.used == len(used)
    assert counts.sides.total() == len(rows)
    assert counts.labels == sum(len(labels) for _, labels in used)
    assert counts.number_of_categories == len({label for _, labels in used for label in labels})
    # A fiftieth of the documents may lack a label; the drawn examples are smaller than fifty.
    assert counts.is_single_label == (bool(used) and all(len(labels) == 1 for _, labels in used))
    several = [number for number, labels in used if len(labels) > 1]
    unlabelled = [number for number, labels in used if not labels]
    assert (counts.several, counts.first_several) == (len(several), f"f:{several[0]}" if several else "")
    assert (counts.unlabelled, counts.first_unlabelled) == (
        len(unlabelled),
        f"f:{unlabelled[0]}" if unlabelled else "",
    )
    text = counts.report()
    assert text.startswith(f"{counts.number_of_categories} categories, ")
    assert ("have several" in text) == bool(several)
    assert ("have none" in text or "has none" in text) == bool(unlabelled)
    rare = [name for name in ("acq", "corn", "earn") if sum(name in labels for _, labels in used) == 1]
    assert counts.report_doubts() == (
        []
        if not rare
        else [
            f"{'1 category has' if len(rare) == 1 else f'{len(rare)} categories have'} a single document, "
            f"which cannot be both learned and tested: {', '.join(rare)}"
        ]
    )


@for_each(
    ("names", "groups"),
    [
        (["b", "B", "a"], [["b", "B"]]),
        (["x y", "x  y", "\u00e9", "e\u0301"], [["x y", "x  y"], ["\u00e9", "e\u0301"]]),
        (["1", "01", "1.0", "1.5", "10", "v1"], [["1", "01", "1.0"]]),
        (["0", "00", "", "stra\u00dfe", "STRASSE"], [["0", "00"], ["stra\u00dfe", "STRASSE"]]),
    ],
)
def test_labels_that_may_be_the_same_are_found(
    names: list[str], groups: list[list[str]], tmp_path: Path
) -> None:
    assert find_similar_labels(names) == groups
    rows = [
        {"text": f"{PROSE} {n}", "label": ["nan", "None", *names][n % (len(names) + 2)]} for n in range(40)
    ]
    found = inspect_documents(write(tmp_path / "d.jsonl", rows))
    assert all(repr(label) in line_about(found, "categories that may be the same") for label in groups[0])
    assert line_about(found, "categories that may stand for a missing label").endswith(": None, nan")


def test_test_documents_without_labels_are_refused(tmp_path: Path) -> None:
    rows = [{"text": f"{PROSE} {n}", "label": "" if n > 20 else "ab"[n % 2]} for n in range(30)]
    train, test = write(tmp_path / "train.jsonl", rows[:20]), write(tmp_path / "test.jsonl", rows[21:])
    with pytest.raises(BadDataError, match="no test document has a label") as caught:
        inspect_documents(train, test)
    assert "textcat predict" in caught.value.hint
    assert inspect_documents(train, write(tmp_path / "some.jsonl", rows[20:])).counts.sides["test"] == 10


@for_each("sides", [True, False])
def test_texts_on_both_sides_are_counted(sides: bool, tmp_path: Path) -> None:
    texts = [*range(30), *range(20, 40), 25]
    rows: list[dict[str, Any]] = [{"text": f"{PROSE} {n}", "label": "ab"[n % 2]} for n in texts]
    if sides:
        rows = [{**row, "split": "test" if k < 25 else "train"} for k, row in enumerate(rows)]
    found = inspect_documents(write(tmp_path / "d.jsonl", rows))
    expected = (
        "5 test documents have the text of a training"
        if sides
        else "11 documents have the text of an earlier"
    )
    assert line_about(found, expected)


@for_each(
    ("labels", "message"),
    [
        ([[], []], "no document has a label"),
        ([["a"], ["a"]], "every document has the only label 'a'"),
        ([["a"], []], None),
        ([["a"], ["b"]], None),
    ],
)
def test_there_must_be_something_to_learn(labels: list[list[str]], message: str | None) -> None:
    counts = LabelCounts()
    for each in labels:
        counts.add("f", each, "train")
    if message is None:
        counts.check_categories("f")
    else:
        with pytest.raises(BadDataError, match=message):
            counts.check_categories("f")


@given(
    rows=st.lists(
        st.tuples(
            st.lists(st.sampled_from(["earn", "acq", "corn"]), min_size=1, max_size=2, unique=True),
            st.sampled_from(["train", "test", "dev", "unused"]),
        ),
        min_size=12,
        max_size=24,
    )
)
@settings(max_examples=30, deadline=None)
def test_documents_are_read_as_the_report_says(tmp_path_factory, rows) -> None:
    """The chosen options read the file; numbers of documents, labels and sides agree with the report."""
    given_ = [
        {"text": f"{PROSE} {number}", "labels": labels, "split": side}
        for number, (labels, side) in enumerate(rows)
    ]
    path = write(tmp_path_factory.mktemp("rows") / "d.jsonl", given_)
    try:
        found = inspect_documents(path)
    except BadDataError:
        return
    read = list(open_corpus("jsonl", path, **found.options).documents())
    assert len(read) == found.counts.sides.total() == len(rows)
    if "side" not in found.options:
        assert line_about(found, "split:").startswith("split: none given")
        return
    sides = [document.split for document in read]
    counted = {side: sides.count(side) for side in ("train", "test", "unused")}
    assert line_about(found, "split:") == (
        f"split: from column split; {counted['train']} training, {counted['test']} test and "
        f"{counted['unused']} unused documents"
    )
    used = [document for document in read if document.split != "unused"]
    assert found.counts.number_of_categories == len({label for document in used for label in document.labels})
    assert found.single_label == all(len(document.labels) == 1 for document in used)
    validation = sum(side == "dev" for _, side in rows)
    expected = (
        {} if not validation else {"validation": "unused" if any(s == "test" for _, s in rows) else "test"}
    )
    assert {key: found.options[key] for key in found.options if key == "validation"} == expected


@for_each(
    ("header", "message"),
    [
        (f"{PROSE},grain", "looks like a document"),
        ("text,grain", "looks like a document.*'grain'"),
        ("text,label", None),
    ],
)
def test_a_table_without_a_header_is_noticed(header: str, message: str | None, tmp_path: Path) -> None:
    """By a text in the first line, or by a label of other rows there."""
    rows = [f"{PROSE} {n},{('grain', 'crude')[n % 2]}" for n in range(10)]
    (tmp_path / "d.csv").write_text("\n".join([header, *rows]) + "\n")
    if message is None:
        assert inspect_documents(tmp_path / "d.csv").text == ("text",)
    else:
        with pytest.raises(UsageError, match=message) as caught:
            inspect_documents(tmp_path / "d.csv")
        assert caught.value.where.endswith("d.csv:1")


@for_each(("labels", "many"), [(MANY_LABELS, False), (MANY_LABELS + 1, True)])
def test_many_labels_are_ranked_where_documents_have_several(labels: int, many: bool, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"text": f"{PROSE} {n}", "labels": [f"l{n % labels}"]} for n in range(2 * labels)
    ]
    assert not inspect_documents(write(tmp_path / "one.jsonl", rows)).many_labels
    rows[0]["labels"] = ["l0", "l1"]
    assert inspect_documents(write(tmp_path / "several.jsonl", rows)).many_labels == many


def test_damage_and_missing_values_are_part_of_the_settings(tmp_path: Path) -> None:
    """Rows that cannot be read are skipped by a policy that the file states."""
    rows: list[dict[str, Any]] = [
        {"id": f"d{n}", "text": f"{PROSE} {n}", "label": "ab"[n % 2], "side": ("train", "test")[n % 2]}
        for n in range(40)
    ]
    rows[3]["text"] = None
    rows[5]["side"] = "later"
    rows[7]["id"] = "d6"
    path = write(tmp_path / "d.jsonl", rows)
    path.write_text(path.read_text() + "{broken\n")
    found = inspect_documents(path)
    assert found.options["policy"] == {
        "malformed": "skip",
        "missing": "skip",
        "unknown-side": "skip",
        "duplicate-id": "rename",
    }
    assert line_about(found, "ids:").startswith("ids: column id repeats")
    read = [document.id for document in open_corpus("jsonl", path, **found.options).documents()]
    assert len(read) == found.counts.sides.total() == 38
    assert {"d6", "d6#2"} <= set(read)


def test_vectors_have_labels_and_no_text(tmp_path: Path) -> None:
    path = tmp_path / "d.svm"
    path.write_text("a 1:0.5\na,b 2:1\nb 3:1\n")
    found = inspect_documents(path)
    assert (found.kind, found.text, found.options, found.weighted) == ("svmlight", (), {}, True)
    assert found.report[0] == "svmlight: 3 vectors"
    assert "first: " in line_about(found, "labels:")
    assert f"{path}, vector 2" in line_about(found, "labels:")
    assert line_about(found, "split:").startswith("split: none given, drawn at random: 2 training and 1 test")


@for_each("names", [["train/a/1", "train/b/2", "test/a/3"], ["a/1", "b/2", "a/deep/3"]])
def test_folders_are_sides_only_with_classes_below_them(names: list[str], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{PROSE} {name}")
    found = inspect_documents(tmp_path)
    sided = names[0].startswith("train")
    assert found.options == ({"side": "folders"} if sided else {})
    assert line_about(found, "split:").startswith(
        "split: from the first folder" if sided else "split: none given"
    )
    assert found.counts.sides.total() == 3
    assert found.counts.number_of_categories == 2


def test_labels_with_marks_are_found(tmp_path: Path) -> None:
    rows = [{"text": PROSE, "cats": {"spam": n % 2, "urgent": n % 3 == 0}} for n in range(40)]
    inspection = inspect_documents(write(tmp_path / "d.jsonl", rows))
    assert inspection.options["label"] == "cats"
    assert inspection.counts.categories["train"] == {"spam", "urgent"}


def test_documents_that_lack_a_title_are_kept(tmp_path: Path) -> None:
    rows = [
        {"title": None if n == 3 else "News of the day", "body": PROSE, "label": "xy"[n % 2]}
        for n in range(60)
    ]
    inspection = inspect_documents(write(tmp_path / "d.jsonl", rows))
    assert inspection.text == ("title", "body")
    assert inspection.counts.used == 60
