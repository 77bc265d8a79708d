"""A user's own documents: formats, problems by kind and policy, places with file and line, random sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.loops import for_each
from textcat.corpora import Document, open_corpus, open_vectors
from textcat.corpora.collection_files import DocumentTree
from textcat.corpora.own.inspect import inspect_documents
from textcat.corpora.own.problems import POLICIES, PROBLEM_DESCRIPTIONS
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

ROWS = [
    {"id": "a", "text": "Wheat, up\nagain", "label": "grain,wheat", "side": "train"},
    {"id": "b", "text": 'He said "corn"', "label": "corn", "side": "test"},
    {"id": "c", "text": "Nothing", "label": "", "side": "unused"},
]
WANTED = [
    Document("a", {"text": "Wheat, up\nagain"}, ("grain", "wheat"), "train"),
    Document("b", {"text": 'He said "corn"'}, ("corn",), "test"),
    Document("c", {"text": "Nothing"}, (), "unused"),
]


def as_table(delimiter: str) -> str:
    def quoted(value: str) -> str:
        return '"' + value.replace('"', '""') + '"'

    lines = [delimiter.join(ROWS[0])]
    lines += [delimiter.join(quoted(value) for value in row.values()) for row in ROWS]
    return "\n".join(lines) + "\n"


TEXTS = {
    "csv": as_table(","),
    "tsv": as_table("\t"),
    "jsonl": "\n".join(json.dumps(row) for row in ROWS) + "\n\n",
}


def read(path: Path, kind: str, content: str | bytes, **options: Any):
    content = content.encode() if isinstance(content, str) else content
    (path / f"own.{kind}").write_bytes(content)
    return open_corpus(kind, path / f"own.{kind}", **options)


@for_each("kind", TEXTS)
@for_each("start", [b"", b"\xef\xbb\xbf"])
@for_each("line_end", [b"\n", b"\r\n"])
def test_tables_and_json_lines_read_the_same(
    tmp_path: Path, kind: str, start: bytes, line_end: bytes
) -> None:
    content = start + TEXTS[kind].encode().replace(b"\n", line_end)
    corpus = read(tmp_path, kind, content, id="id", side="side")
    found = [
        Document(
            each.id, {k: v.replace("\r\n", "\n") for k, v in each.fields.items()}, each.labels, each.split
        )
        for each in corpus.documents()
    ]
    assert found == WANTED
    assert corpus.categories == ("corn", "grain", "wheat")
    assert not corpus.problems.counts


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    hidden = (".git/3.txt", "acq/.old/1.txt", "acq/.DS_Store", "earn/Thumbs.db", "earn/desktop.ini")
    for name in ("earn/1.txt", "earn/deep/2.txt", "acq/1.txt", "beside.txt", *hidden):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    corpus = open_corpus("folders", tmp_path, ratio=None)
    found = {document.id: document for document in corpus.documents()}
    assert set(found) == {"acq/1.txt", "earn/1.txt", "earn/deep/2.txt"}
    assert found["earn/deep/2.txt"].labels == ("earn",)
    assert found["acq/1.txt"].fields == {"text": "text of acq/1.txt"}


def write_files(folder: Path, files: dict[str, bytes]) -> Path:
    """Write the files of a folder for each class."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


PAGE = b"<html><head><title>Prices &amp; ports</title><script>var x;</script></head><body><p>wheat</p></body>"


def test_pages_in_folders_are_read_without_markup(tmp_path: Path) -> None:
    files = {"a/1.html": PAGE, "a/2.HTM": b"<p>corn", "b/1.txt": b"a <b> c", "b/2": PAGE}
    corpus = open_corpus("folders", write_files(tmp_path / "pages", files), ratio=None)
    found = {document.id: document.fields["text"] for document in corpus.documents()}
    assert found["a/1.html"].split() == ["Prices", "&", "ports", "wheat"]
    assert found["a/2.HTM"] == "corn"
    assert found["b/1.txt"] == "a <b> c"
    assert found["b/2"] == PAGE.decode()
    inspection = inspect_documents(tmp_path / "pages")
    assert "HTML, read without markup: 2 files" in inspection.report
    # Counts of earlier versions held the tags.
    plain = DocumentTree(tmp_path / "pages").fingerprint()
    assert corpus.fingerprint() != plain
    (tmp_path / "pages" / "a" / "1.html").unlink()
    (tmp_path / "pages" / "a" / "2.HTM").unlink()
    rest = open_corpus("folders", tmp_path / "pages", ratio=None)
    assert rest.fingerprint() == DocumentTree(tmp_path / "pages").fingerprint()


LETTERS = "Größe, café — “naïve”"


@for_each("others", [1, 5])
def test_files_of_different_encodings_are_read_each_as_it_is(others: int, tmp_path: Path) -> None:
    files = {f"a/{k}.txt": f"{LETTERS} {k}".encode() for k in range(3)}
    files |= {f"b/{k}.txt": f"{LETTERS} {k}".encode("cp1252") for k in range(others)}
    files |= {"b/plain.txt": b"plain", "c/latin.txt": "Größe".encode("latin-1")}
    files["c/damaged.txt"] = f"{LETTERS} {LETTERS}".encode() + b" \xff"
    folder = write_files(tmp_path / "mixed", files)
    inspection = inspect_documents(folder)
    assert inspection.options["encoding"] == "each-file"
    (line,) = [line for line in inspection.report if line.startswith("encodings: ")]
    assert line.startswith(f"encodings: 4 files are utf-8 and {others + 1} are cp1252 or latin-1")
    corpus = open_corpus("folders", folder, ratio=None, **inspection.options)
    found = {document.id: document.fields["text"] for document in corpus.documents()}
    assert all(found[name] == f"{LETTERS} {name[2]}" for name in files if name[2].isdigit())
    assert (found["b/plain.txt"], found["c/latin.txt"]) == ("plain", "Größe")
    assert found["c/damaged.txt"] == f"{LETTERS} {LETTERS} \ufffd"
    assert corpus.problems.examples == [f"{folder}/c/damaged.txt:1: a byte is not utf-8 (replace)"]


def test_a_file_of_another_encoding_than_stated_is_named(tmp_path: Path) -> None:
    files = {"a/1.txt": LETTERS.encode(), "b/2.txt": LETTERS.encode("cp1252"), "b/3.txt": b"plain"}
    folder = write_files(tmp_path / "mixed", files)
    for encoding, name in (("cp1252", "a/1.txt"), ("utf-8", "b/2.txt")):
        corpus = open_corpus("folders", folder, ratio=None, encoding=encoding)
        assert len(list(corpus.documents())) == 3
        assert len(corpus.problems.examples) == 1
        assert corpus.problems.examples[0].startswith(f"{folder}/{name}")
        skipping = open_corpus("folders", folder, ratio=None, encoding=encoding, policy={"encoding": "skip"})
        assert len(list(skipping.documents())) == 2
    with pytest.raises(UsageError, match="is for folders"):
        open_corpus("csv", tmp_path / "own.csv", encoding="each-file")


def test_values_that_are_missing_or_lists_are_not_read_as_their_names(tmp_path: Path) -> None:
    lines = """{"text": ["one\\ntwo", null, {"more": "three"}], "label": ["x", null, NaN]}
{"text": NaN, "label": ["x"]}
{"text": "four", "label": NaN}
"""
    corpus = read(tmp_path, "jsonl", lines, ratio=None, policy={"missing": "skip"})
    assert list(corpus.documents()) == [Document("1", {"text": "one\ntwo\nthree"}, ("x",), "train")]
    assert corpus.problems.counts == {"missing": 2}


CASES = {
    "encoding": (b"id,text,label\na,caf\xe9,x\nb,fine,x\n", 2),
    "malformed": (b"id,text,label\na,one,x,extra\nb,fine,x\n", 2),
    "unknown-label": (b'id,text,label\na,one,"x,y"\nb,fine,x\n', 2),
    "unknown-side": (b"id,text,label,side\na,one,x,later\nb,fine,x,Train\n", 2),
    "duplicate-id": (b'id,text,label\nb,"one\ntwo",x\nb,fine,x\n', 4),
    "empty": (b"id,text,label\nb,fine,x\na, ,x\n", 3),
}
KEPT = {
    ("encoding", "replace"): ["a", "b"],
    ("encoding", "skip"): ["b"],
    ("malformed", "skip"): ["b"],
    ("unknown-label", "drop"): ["a", "b"],
    ("unknown-label", "skip"): ["b"],
    ("unknown-side", "skip"): ["b"],
    ("duplicate-id", "skip"): ["b"],
    ("duplicate-id", "rename"): ["b", "b#2"],
    ("empty", "keep"): ["b", "a"],
    ("empty", "skip"): ["b"],
}


@for_each(("kind", "action"), [(kind, action) for kind in CASES for action in POLICIES[kind]])
def test_each_problem_meets_each_policy(tmp_path: Path, kind: str, action: str) -> None:
    content, line = CASES[kind]
    options = {"id": "id", "categories": ["x"], "ratio": None, "policy": {kind: action}}
    if kind == "unknown-side":
        options["side"] = "side"
    corpus = read(tmp_path, "csv", content, **options)
    place = f"{tmp_path}/own.csv:{line}"
    if action == "error":
        with pytest.raises(BadDataError) as caught:
            list(corpus.documents())
        assert caught.value.where == place
        return
    for _ in range(2):
        assert [document.id for document in corpus.documents()] == KEPT[kind, action]
        assert corpus.problems.counts == {kind: 1}
    assert corpus.problems.examples[0].startswith(place)
    assert PROBLEM_DESCRIPTIONS[kind] in corpus.problems.summary()
    assert place in corpus.problems.summary()


@for_each("kind", ["csv", "jsonl"])
def test_missing_columns(tmp_path: Path, kind: str) -> None:
    with pytest.raises(BadDataError, match="no column 'topic'"):
        list(read(tmp_path, kind, TEXTS[kind], label="topic", ratio=None).documents())
    lenient = read(tmp_path, kind, TEXTS[kind], label="topic", ratio=None, policy={"missing": "skip"})
    assert list(lenient.documents()) == []
    assert lenient.problems.counts == {"missing": 3}


@for_each("line", ["{", "[1]", "3"])
def test_bad_json_lines(tmp_path: Path, line: str) -> None:
    content = TEXTS["jsonl"].replace("\n\n", "\n") + line
    with pytest.raises(BadDataError, match=r"own\.jsonl:4"):
        list(read(tmp_path, "jsonl", content, ratio=None).documents())
    lenient = read(tmp_path, "jsonl", content, ratio=None, policy={"malformed": "skip"})
    assert len(list(lenient.documents())) == 3


@for_each(
    "line",
    ['{"text": "a", "label": "c", "text": "b"}', '{"text": "a", "label": {"c": 1, "text": 0, "text": 1}}'],
)
def test_a_key_of_json_given_twice_is_malformed(tmp_path: Path, line: str) -> None:
    content = '{"text": "a text", "label": "c"}\n' + line + "\n"
    with pytest.raises(BadDataError, match=r"own\.jsonl:2: the key 'text' is given twice"):
        list(read(tmp_path, "jsonl", content, ratio=None).documents())
    lenient = read(tmp_path, "jsonl", content, ratio=None, policy={"malformed": "skip"})
    assert [document.labels for document in lenient.documents()] == [("c",)]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=r"own\.csv:1.*two columns are called 'text'"):
        list(read(tmp_path, "csv", "text,text,label\na,b,c\n", ratio=None).documents())


@for_each(
    "options",
    [
        {"policy": {"typo": "skip"}},
        {"policy": {"empty": "replace"}},
        {"policy": {"all": "skip"}},
        {"encoding": "utf-9"},
        {"encoding": "utf-16"},
        {"validation": "dev"},
        {"colour": "red"},
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read(tmp_path, "csv", TEXTS["csv"], **options)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataNotAvailableError, match="no such file"):
        list(open_corpus("csv", tmp_path / "none.csv").documents())
    with pytest.raises(DataNotAvailableError, match="no such file"):
        open_vectors("svmlight", tmp_path / "none.svm")


SIDES = ["Training", "VAL", "test ", "dev", "Unused", "validation", "Testing", "valid", "train"]


@for_each("validation", ["train", "test", "unused"])
def test_words_of_sides(validation: str, tmp_path: Path) -> None:
    wanted = ["train", validation, "test", validation, "unused", validation, "test", validation, "train"]
    content = "text,label,part\n" + "".join(f"word,x,{side}\n" for side in SIDES)
    corpus = read(tmp_path, "csv", content, side="part", validation=validation)
    assert [document.split for document in corpus.documents()] == wanted
    for number, side in enumerate(SIDES):
        (tmp_path / "tree" / side.strip() / "x").mkdir(parents=True)
        (tmp_path / "tree" / side.strip() / "x" / f"{number}").write_text("word")
    tree = open_corpus("folders", tmp_path / "tree", side="folders", validation=validation)
    found = {document.id.partition("/")[0]: document.split for document in tree.documents()}
    assert found == {side.strip(): split for side, split in zip(SIDES, wanted, strict=True)}


def test_null_is_no_id(tmp_path: Path) -> None:
    line = '{"id": null, "text": "a", "label": "x"}\n'
    corpus = read(tmp_path, "jsonl", line * 2, ratio=None)
    assert [document.id for document in corpus.documents()] == ["1", "2"]
    empty = read(tmp_path, "csv", "id,text,label\n,a,x\n0,b,x\n,c,x\n", ratio=None)
    assert [document.id for document in empty.documents()] == ["1", "0", "3"]


def test_svmlight_with_several_labels(tmp_path: Path) -> None:
    (tmp_path / "train.svm").write_text("a,b 1:0.5 3:2 # first\n\n# nothing\nb 2:1e-1\n 3:1\n")
    (tmp_path / "test.svm").write_text("c 4:1\n")
    corpus = open_vectors("svmlight", tmp_path / "train.svm", test="test.svm")
    assert corpus.categories == ("a", "b", "c")
    assert corpus.Y.toarray().astype(int).tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert corpus.split.tolist() == ["train", "train", "train", "test"]
    assert np.allclose(corpus.X.toarray(), [[0.5, 0, 2, 0], [0, 0.1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    alone = open_vectors("svmlight", tmp_path / "train.svm", ratio=None, categories=["b"])
    assert alone.split.tolist() == ["train"] * 3
    assert alone.Y.toarray().tolist() == [[True], [True], [False]]
    (tmp_path / "train.svm").write_text("a 1:0.5\nb 2:x\n")
    with pytest.raises(BadDataError, match=r"train\.svm:2"):
        open_vectors("svmlight", tmp_path / "train.svm")


def test_training_and_test_files_that_are_exchanged_are_other_documents(tmp_path: Path) -> None:
    """The cache would give the results of the other division."""
    first, second = tmp_path / "train.csv", tmp_path / "test.csv"
    first.write_text("text,label\nwheat,x\n")
    second.write_text("text,label\ncorn,y\n")
    before = open_corpus("csv", first, test="test.csv").fingerprint()
    contents = first.read_text(), second.read_text()
    second.write_text(contents[0])
    first.write_text(contents[1])
    assert open_corpus("csv", first, test="test.csv").fingerprint() != before


def test_labels_of_an_object_are_those_with_a_mark(tmp_path: Path) -> None:
    rows = [
        {"text": "one", "cats": {"spam": 1, "urgent": 0}},
        {"text": "two", "cats": {"spam": True, "urgent": True}},
        {"text": "three", "cats": {}},
    ]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    read = open_corpus("jsonl", tmp_path / "d.jsonl", label="cats", ratio=None).documents()
    assert [document.labels for document in read] == [("spam",), ("spam", "urgent"), ()]
    (tmp_path / "d.jsonl").write_text('{"text": "one", "cats": [["spam", null], ["urgent"]]}')
    (document,) = open_corpus("jsonl", tmp_path / "d.jsonl", label="cats", ratio=None).documents()
    assert document.labels == ("spam", "urgent")
    (tmp_path / "d.jsonl").write_text('{"text": "one", "cats": [{"id": 3, "name": "spam"}]}')
    with pytest.raises(BadDataError, match=r"the label \{'id': 3, 'name': 'spam'\} is an object"):
        list(open_corpus("jsonl", tmp_path / "d.jsonl", label="cats", ratio=None).documents())
    (tmp_path / "d.jsonl").write_text('{"text": "one", "cats": {"spam": "often"}}')
    with pytest.raises(BadDataError, match="'often' in column 'spam' is neither yes nor no"):
        list(open_corpus("jsonl", tmp_path / "d.jsonl", label="cats", ratio=None).documents())


def test_a_document_that_lacks_one_of_its_texts_is_kept_where_missing_values_are_known(
    tmp_path: Path,
) -> None:
    rows = [{"title": None, "body": "a", "label": "x"}, {"body": "b", "label": "x"}, {"title": "c", "label": "x"},
            {"title": None, "body": None, "label": "x"}, {"title": "d", "body": "e", "label": None}]  # fmt: skip
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options: dict[str, Any] = {"text": ["title", "body"], "ratio": None}
    corpus: Any = open_corpus("jsonl", tmp_path / "d.jsonl", policy={"missing": "skip"}, **options)
    read = [tuple(document.fields.values()) for document in corpus.documents()]
    assert read == [("", "a"), ("", "b"), ("c", "")]
    assert corpus.problems.counts == {"missing": 2}
    with pytest.raises(BadDataError, match="no column 'title'"):
        list(open_corpus("jsonl", tmp_path / "d.jsonl", **options).documents())


def test_the_first_pair_of_a_vector_is_not_its_label(tmp_path: Path) -> None:
    (tmp_path / "v.svm").write_bytes(b"\xef\xbb\xbfx 1:1 2:0.5\n1:1 2:1\n")
    with pytest.raises(BadDataError, match="begins with '1:1'") as caught:
        open_vectors("svmlight", tmp_path / "v.svm")
    assert caught.value.where == f"{tmp_path}/v.svm:2"
    (tmp_path / "v.svm").write_bytes(b"\xef\xbb\xbfx 1:1 2:0.5\n 1:1 2:1\ny 1:1\n")
    assert open_vectors("svmlight", tmp_path / "v.svm").categories == ("x", "y")
    (tmp_path / "v.svm").write_text("x one two\n")
    with pytest.raises(BadDataError, match="'one' is not TERM:WEIGHT"):
        open_vectors("svmlight", tmp_path / "v.svm")
