"""Rows, lines and encodings of tables, and guesses of columns, on made tables of every form."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.corpora import open_corpus
from textcat.corpora.document import find_similar_labels
from textcat.corpora.own.formats import (
    choose_encoding,
    detect_encoding,
    detect_format,
    guess_columns,
    guess_separator,
    summarize_columns,
)
from textcat.corpora.own.inspect import inspect_documents
from textcat.corpora.own.problems import POLICIES, Problems
from textcat.corpora.own.tables import TableRow, decode_lines, parse_list, read_rows
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

values = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=12)
names = st.lists(
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=6), min_size=1, max_size=4, unique=True
)


def read(lines: Iterable[bytes], form: Any, problems: Problems | None = None) -> list[TableRow]:
    return list(read_rows(lines, form, "f", "utf-8", problems or Problems.with_policy(None)))


@given(names, st.data(), st.sampled_from([",", "\t"]), st.booleans(), st.integers(0, 2))
@settings(max_examples=80, deadline=None)
def test_written_rows_are_read_with_the_lines_on_which_they_begin(
    header: list[str], data: st.DataObject, delimiter: str, mark: bool, blank: int
) -> None:
    """Quoted line ends, a byte-order mark and blank lines before the header change neither values nor lines."""
    rows = data.draw(st.lists(st.lists(values, min_size=len(header), max_size=len(header)), max_size=5))
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    stream.write("\n" * blank)
    writer.writerow(header)
    begins = []
    for row in rows:
        begins.append(stream.getvalue().count("\n") + 1)
        writer.writerow(row)
    content = (b"\xef\xbb\xbf" if mark and not blank else b"") + stream.getvalue().encode()
    found = read(content.splitlines(keepends=True), "tsv" if delimiter == "\t" else "csv")
    assert [list(row.values.values()) for row in found] == rows
    assert all(list(row.values) == header for row in found)
    assert [row.where for row in found] == [f"f:{line}" for line in begins]


@given(
    st.lists(
        st.dictionaries(values, values | st.none() | st.lists(values, max_size=2), max_size=3), max_size=5
    )
)
@settings(max_examples=80, deadline=None)
def test_json_lines_are_read_as_they_were_written(rows: list[dict[str, Any]]) -> None:
    lines = [json.dumps(row).encode() + b"\n\n" for row in rows]
    found = read(b"".join(lines).splitlines(keepends=True), "jsonl")
    assert [row.values for row in found] == rows
    assert [row.number for row in found] == [2 * number + 1 for number in range(len(rows))]


@given(st.lists(st.binary(max_size=8).filter(lambda line: b"\n" not in line), max_size=8))
@settings(max_examples=100, deadline=None)
def test_lines_that_are_not_utf8_are_replaced_or_skipped_and_counted(lines: list[bytes]) -> None:
    def is_utf8(number: int, line: bytes) -> bool:
        try:
            line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            return False
        return True

    good = [number for number, line in enumerate(lines, 1) if is_utf8(number, line)]
    for action in ("replace", "skip"):
        problems = Problems.with_policy({"encoding": action})
        found = list(decode_lines(lines, "f", "utf-8", problems))
        assert [number for number, _ in found] == (good if action == "skip" else [*range(1, len(lines) + 1)])
        assert problems.counts["encoding"] == len(lines) - len(good)
        for number, text in found:
            codec = "utf-8-sig" if number == 1 else "utf-8"
            assert text == lines[number - 1].decode(codec, errors="replace")
    if len(good) < len(lines):
        with pytest.raises(BadDataError, match="is not utf-8"):
            list(decode_lines(lines, "f", "UTF_8", Problems.with_policy({"encoding": "error"})))


@for_each("kind", ["csv", "tsv", "jsonl", "folders"])
def test_a_byte_order_mark_is_no_part_of_a_document(kind: str, tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    if kind == "folders":
        path = tmp_path
        (tmp_path / "x").mkdir()
        (tmp_path / "x" / "1.txt").write_bytes(mark + b"corn")
    else:
        path = tmp_path / f"d.{kind}"
        content = {"csv": b"text,label\ncorn,x\n", "tsv": b"text\tlabel\ncorn\tx\n"}
        path.write_bytes(mark + content.get(kind, b'{"text": "corn", "label": "x"}\n'))
    (document,) = open_corpus(kind, path, ratio=None).documents()
    assert document.fields == {"text": "corn"}


def test_every_problem_can_be_made_an_error_and_one_of_them_allowed() -> None:
    strict = Problems.with_policy({"all": "error", "empty": "skip"})
    assert strict.policy == dict.fromkeys(POLICIES, "error") | {"empty": "skip", "long-field": "keep"}
    given_ = {"all": "error"}
    Problems.with_policy(given_)
    assert given_ == {"all": "error"}
    with pytest.raises(BadDataError) as caught:
        Problems.with_policy({"all": "error"}, hint="Ask.").report("empty", "what", "where", hint="Other.")
    assert caught.value.hint == "Ask."


def test_a_damaged_quote_is_one_malformed_row() -> None:
    """The rows before and after it are read, with their own lines."""
    lines = [b"text,label\n", b"one,x\n", b'"two" 2,x\n', b"three,x\n"]
    problems = Problems.with_policy({"malformed": "skip"})
    assert [(row.where, row.values["text"]) for row in read(lines, "csv", problems)] == [
        ("f:2", "one"),
        ("f:4", "three"),
    ]
    assert problems.counts == {"malformed": 1}
    assert problems.examples[0].startswith("f:3: cannot be parsed")


LABELLED = ["one,x", "two,y", "three,x", "four,y", "five,x"]


@for_each("form", ["csv", "tsv"])
def test_an_open_quote_is_an_error_with_its_line(form: str) -> None:
    """Rows up to the next quote are joined: that is reported if they are many."""
    delimiter = "," if form == "csv" else "\t"

    def make(*rows: str) -> list[bytes]:
        return [f"{row}\n".replace(",", delimiter).encode() for row in ("text,label", *LABELLED, *rows)]

    for rows, what in (
        (['"Open,x', "a,y"], "a quote is not closed"),
        (['"Open,x', '"a",y'], f"'{delimiter}' expected"),
    ):
        with pytest.raises(BadDataError, match=what) as caught:
            read(make(*rows), form)
        assert caught.value.where == "f:7"
        assert "policy: {malformed: skip}" in caught.value.hint
    problems = Problems.with_policy({"all": "error"})
    found = read(make('"Open,x', *["a,y"] * 60, 'disk",x', "b,y"), form, problems)
    assert [row.values["text"] for row in found][6:] == ["b"]
    assert problems.examples == ["f:7: a field goes on to line 68 (keep)"]
    assert "(is a quote not closed?)" in problems.summary()


@for_each(
    "text",
    [
        "Dear Sir,\nI paid, but\nno, nothing came",
        "one\ntwo\n\nthree",
        'He said "x,y"\nand "left",\nafter all',
        "a list:\nx\ny\nx",
        " x,y \n y , x",
        "8\n9, ten",
        "\n",
        "\n".join(f"line {k}, still the same text" for k in range(200)),
    ],
)
@for_each("place", [0, 3, 6])
def test_quoted_fields_may_have_many_lines(text: str, place: int) -> None:
    for header in (["text", "label"], ["label", "text"], ["id", "text", "label"]):
        rows = [{"text": f"word {k}", "label": "xy"[k % 2], "id": str(k + 7)} for k in range(6)]
        rows.insert(place, {"text": text, "label": "y", "id": "3"})
        stream = io.StringIO()
        writer = csv.DictWriter(stream, header, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        found = read(stream.getvalue().encode().splitlines(keepends=True), "csv")
        assert [row.values["text"] for row in found] == [row["text"] for row in rows]


@for_each(
    "text",
    ["a\tb\nc", '"no"', 'say "no"\tor\n\nyes', "one\ntwo", "\t\n", '5" disk', "x\r\ny\tz"],
)
def test_a_table_with_tabs_is_read_as_python_writes_it(text: str) -> None:
    """A quoted text with a tab before a line break is one text, not several rows."""
    rows = [{"text": text if k % 2 else f"word {k}", "label": "xy"[k % 2]} for k in range(4)]
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, ["text", "label"], delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    found = read(io.BytesIO(stream.getvalue().encode()), "tsv")
    assert [dict(row.values) for row in found] == rows


@for_each(
    ("bad", "what"),
    [
        ('"a" b', "f:3: cannot be parsed: "),
        ('"x"', "f:3: 1 fields where the header has 2"),
        ('"x"\ty\tz', "f:3: 3 fields where the header has 2"),
    ],
)
def test_a_bad_line_of_a_table_with_tabs_takes_no_other_with_it(bad: str, what: str) -> None:
    problems = Problems.with_policy({"malformed": "skip"})
    lines = ["text\tlabel", "one\tx", bad, "", "two\ty", 'three\t"x"']
    rows = read([f"{line}\n".encode() for line in lines], "tsv", problems)
    assert [(row.where, row.values["text"]) for row in rows] == [
        ("f:2", "one"),
        ("f:5", "two"),
        ("f:6", "three"),
    ]
    assert [row.number for row in rows] == [1, 3, 4]
    assert problems.counts == {"malformed": 1}
    assert problems.examples[0].startswith(what)


@for_each("line", [b'{"text": "\\ud800"}', b'{"text": ["\\udfff"]}'])
def test_half_of_a_surrogate_pair_is_malformed(line: bytes) -> None:
    with pytest.raises(BadDataError, match="half of a surrogate pair"):
        read([line], "jsonl")
    assert read([b'{"text": "\\ud83d\\ude00"}'], "jsonl")[0].values == {"text": "\U0001f600"}


def guess(rows: list[dict[str, Any]]) -> Any:
    return guess_columns(summarize_columns(rows))


PROSE = "wheat prices rose again in the week"


@for_each(
    ("text", "label", "own_id", "side"),
    list(itertools.product(["Text", "review "], ["topic", "CLASS"], ["uid"], ["split", "Set"])),
)
def test_columns_are_found_by_their_names_in_any_case_and_order(
    text: str, label: str, own_id: str, side: str
) -> None:
    rows = [
        {text: f"{PROSE} {n}", label: "ab"[n % 2], own_id: f"d{n}", side: ("train", "test")[n % 2]}
        for n in range(12)
    ]
    for order in itertools.permutations([text, label, own_id, side]):
        found = guess([{name: row[name] for name in order} for row in rows])
        assert [column.name for column in found.text] == [text]
        assert (found.labels[0].name, found.id.name, found.side.column.name) == (label, own_id, side)
        assert found.side.rows == {"train": 6, "test": 6}
        assert found.separator is None
        assert found.not_sides == {}


def test_an_id_is_unique_and_present_in_every_row() -> None:
    base = [{"text": f"{PROSE} {n}", "label": "ab"[n % 2], "id": str(n)} for n in range(10)]
    assert guess(base).id.name == "id"
    assert guess([*base, {**base[0]}]).id is None
    assert guess([*base, {**base[0], "id": None}]).id is None
    assert guess([*base, {**base[0], "id": ["9"]}]).id is None


def test_a_title_that_is_often_missing_is_left_out() -> None:
    """A column of text must be present in nearly every row."""
    rows: list[dict[str, Any]] = [
        {"title": "Corn up", "body": f"{PROSE} {n}", "label": "ab"[n % 2]} for n in range(40)
    ]
    assert [column.name for column in guess(rows).text] == ["title", "body"]
    for row in rows[:3]:
        row["title"] = None
    assert [column.name for column in guess(rows).text] == ["body"]


@given(
    st.lists(
        st.lists(st.sampled_from(["earn", "acq", "grain", "corn"]), min_size=1, max_size=3, unique=True),
        min_size=8,
        max_size=30,
    ),
    st.sampled_from(["|", ";", ","]),
)
@settings(max_examples=60, deadline=None)
def test_the_separator_is_the_one_that_joined_the_labels(rows: list[list[str]], separator: str) -> None:
    summary = summarize_columns([{"label": separator.join(labels)} for labels in rows])
    (column,) = summary.columns
    values_ = {separator.join(labels) for labels in rows}
    alone = {label for labels in rows for label in labels}
    expected = separator if any(len(labels) > 1 for labels in rows) and len(alone) < len(values_) else None
    assert guess_separator(column) == expected


@for_each(
    ("value", "items"),
    [
        ("['a', 'b c']", ["a", "b c"]),
        (' ["it\'s", "x, y"] ', ["it's", "x, y"]),
        ("('a', 'b')", "('a', 'b')"),
        ("[3, 17]", ["3", "17"]),
        ("[]", []),
        ("[removed]", "[removed]"),
        ("['a', b]", "['a', b]"),
        ('{"a": 1}', '{"a": 1}'),
        ("a, b", "a, b"),
        (["a"], ["a"]),
        (3, 3),
        ("[" + "1" * 5000 + " x", "[" + "1" * 5000 + " x"),
        ("[" + "1 " * 5000 + "x", "[" + "1 " * 5000 + "x"),
    ],
)
def test_lists_that_a_program_wrote_as_text_are_lists(value: Any, items: Any) -> None:
    assert parse_list(value) == items


def test_spaces_separate_only_labels_that_occur_alone() -> None:
    def separator(labels: list[str]) -> str | None:
        return guess_separator(summarize_columns([{"label": each} for each in labels]).columns[0])

    known = ["earn", "acq", "corn", "earn acq", "corn earn", "acq corn", "earn corn"]
    assert separator(known) == " "
    assert separator(["New York", "New Delhi", "New York", "Los Angeles", "Los Alamos"]) is None


@for_each(("words", "found"), [(4, "name"), (5, None)])
def test_labels_have_fewer_than_five_words(words: int, found: str | None) -> None:
    """A column of repeated values that are as long as text is no column of labels."""
    values_ = [" ".join([letter] * words) for letter in "ab"]
    guessed = guess([{"body": f"{PROSE} {n}", "name": values_[n % 2]} for n in range(20)])
    assert (guessed and guessed.labels[0].name) == found


@for_each(
    ("damaged", "whole", "expected"), [(1, 2, "utf-8"), (1, 1, "utf-8"), (2, 1, "latin-1"), (1, 0, "latin-1")]
)
def test_most_lines_decide_the_encoding(damaged: int, whole: int, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(b"plain\n" * 5 + b"caf\xe9\n" * damaged + "caf\u00e9\n".encode() * whole)
    assert detect_encoding(path) == expected


@for_each("text", ["\u0153uvre", "\u201equoted\u201c", "5 \u20ac"])
def test_letters_of_windows_are_read_as_they_were_written(text: str) -> None:
    pieces = [text.encode("cp1252"), b"plain"]
    assert pieces[0].decode(choose_encoding(pieces)) == text
    assert choose_encoding([*pieces, b"\x81"]) == "latin-1"


@for_each(
    ("name", "content", "expected"),
    [
        ("d.csv", "text,label\na,b\n", "csv"),
        ("d.txt", "\n\ntext\tlabel\n", "tsv"),
        ("d.csv", "a,b\tc,d\n", "csv"),
        ("d.data", '{"text": 1}\n', "jsonl"),
        ("d.json", ' {"text": 1}\n', "jsonl"),
        ("d.svm", "a,b 1:0.5 2:1\n", "svmlight"),
        ("d.csv", "+1 1:0.5 # note\n", "svmlight"),
    ],
)
def test_the_format_is_that_of_the_first_line_with_content(
    name: str, content: str, expected: str, tmp_path: Path
) -> None:
    for mark in ("", "\ufeff"):
        (tmp_path / name).write_text(mark + content, encoding="utf-8")
        assert detect_format(tmp_path / name) == expected


@for_each(
    ("name", "content", "message"),
    [
        ("d.json", b'[{"text": 1}]', "a JSON list"),
        ("d.csv", b"only words here\n", "neither a header"),
        ("d.csv", b" \n\n", "the file is empty"),
        ("d.csv", b"t\0e\0x\0t\0", "utf-16"),
        ("d.XLSX", b"text,label\n", "cannot read .xlsx files"),
        ("d.csv.gz", b"", "cannot read .gz files"),
    ],
)
def test_other_files_are_refused_with_a_reason(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((UsageError, BadDataError), match=message):
        detect_format(tmp_path / name)
    with pytest.raises(DataNotAvailableError):
        detect_format(tmp_path / "absent.csv")


@for_each(
    ("folders", "refused"),
    [
        (["earn", "acq"], False),
        (["train", "test"], False),
        (["train", "dev"], False),
        (["train", "earn"], True),
        (["test"], True),
        ([".hidden"], True),
        ([], True),
    ],
)
def test_folders_are_classes_or_all_sides(folders: list[str], refused: bool, tmp_path: Path) -> None:
    for name in folders:
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").write_text("beside")
    if refused:
        with pytest.raises(UsageError):
            detect_format(tmp_path)
    else:
        assert detect_format(tmp_path) == "folders"


@for_each("kind", ["csv", "tsv"])
def test_spreadsheets_write_empty_columns_and_rows(kind: str, tmp_path: Path) -> None:
    """The rows without any value would be documents without labels, and the documents no longer have one label each."""
    table = ["text,label,,", *(f"{text},," for text in LABELLED), ",,,", ",,,"]
    path = tmp_path / f"t.{kind}"
    path.write_text("\n".join(table).replace(",", "\t" if kind == "tsv" else ",") + "\n")
    inspection = inspect_documents(path)
    assert inspection.single_label and inspection.counts.used == 5
    documents = list(open_corpus(kind, path, **inspection.options).documents())
    assert [document.fields["text"] for document in documents] == ["one", "two", "three", "four", "five"]
    path.write_text(path.read_text() + "six,x,,note\n".replace(",", "\t" if kind == "tsv" else ","))
    with pytest.raises(BadDataError, match="without a name"):
        list(open_corpus(kind, path, ratio=None).documents())


def test_labels_that_differ_in_a_plus_sign_may_be_the_same() -> None:
    assert find_similar_labels(["+1", "-1", "1", "a+1", "+"]) == [["+1", "1"]]
