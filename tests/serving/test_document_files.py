"""New documents are read as training documents are: same rows, same ids, same errors."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.serving.small_model import small_model
from textcat.cli.main import group
from textcat.corpora import open_corpus
from textcat.errors import BadDataError, TextcatError
from textcat.serving.categorizer import write_categorizer
from textcat.serving.document_files import guess_format, read_documents, read_folder

CONTENTS = {
    "csv": 'id,text,label\na,"one\ntwo",x\nb,"é, ""u""",y\n',
    "tsv": "id\ttext\tlabel\na\tone\tx\nb\té\ty\n",
    "jsonl": '{"id": "a", "text": "one", "label": "x"}\n\n{"id": 0, "text": "é", "label": "y"}\n',
}
DAMAGED = {
    "csv": "id,text,label\na,one,x\nb,two\n",
    "tsv": 'id\ttext\tlabel\na\tone\tx\nb\t"two"2\n',
    "jsonl": '{"id": "a", "text": "one", "label": "x"}\nnull\n',
}


def lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


@pytest.mark.parametrize("form", CONTENTS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_training_and_prediction_read_the_same_documents(
    tmp_path: Path, form: str, line_end: str, mark: bytes
) -> None:
    content = mark + CONTENTS[form].replace("\n", line_end).encode()
    (tmp_path / "new").write_bytes(content)
    training = [
        (each.id, each.fields) for each in open_corpus(form, tmp_path / "new", ratio=None).documents()
    ]
    new = [(each.id, each.fields) for each in read_documents(lines(content), form, "new", ("text",))]
    assert new == training
    assert len(new) == 2


@pytest.mark.parametrize("form", DAMAGED)
def test_training_and_prediction_refuse_the_same_line(tmp_path: Path, form: str) -> None:
    path = tmp_path / "new"
    path.write_text(DAMAGED[form])
    found = []
    for documents in (
        open_corpus(form, path, ratio=None).documents(),
        read_documents(lines(path.read_bytes()), form, str(path), ("text",)),
    ):
        with pytest.raises(BadDataError) as caught:
            list(documents)
        found.append((caught.value.what, caught.value.where))
    assert found[0] == found[1]
    assert found[0][1] == f"{path}:{DAMAGED[form].count(chr(10))}"


@pytest.mark.parametrize("form", ["lines", "csv", "jsonl"])
def test_bytes_that_are_not_utf8_are_located(form: str) -> None:
    content = {"lines": b"a\n\xff\n", "csv": b"text\n\xff\n", "jsonl": b'{"text": "a"}\n{"text": "\xff"}\n'}
    with pytest.raises(BadDataError) as caught:
        list(read_documents(lines(content[form]), form, "new", ("text",)))
    assert (caught.value.where, "is not utf-8" in caught.value.what) == ("new:2", True)
    assert "--format" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "first", "form"),
    [
        ("d.csv", b"__label__a b", "csv"),
        ("d.txt", b"__label__a b", "fasttext"),
        ("-", b'\xef\xbb\xbf{"title": "x"}', "jsonl"),
        ("d", b"id\ttitle\n", "tsv"),
        ("d.data", b'"label";"text"\r\n', "csv"),
        ("d.txt", b"{ this is no JSON, text }", "lines"),
        ("d.txt", b"a title, and a text\n", "lines"),
        ("d.txt", b"title\n", "lines"),
        ("d.txt", b'{ "body": "a" }\n', "jsonl"),
        ("d.txt", b"{name} wrote\n", "lines"),
        ("d.json", b"{\n", "jsonl"),
        ("d.txt", b"", "lines"),
    ],
)
def test_the_first_line_tells_tables_from_plain_lines(name: str, first: bytes, form: str) -> None:
    assert guess_format(name, first, ("title", "body")) == form


def test_ignored_text_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    row = b'{"title": "T", "text": "body of the story"}\n'
    fields = ("title", "body")
    with caplog.at_level(logging.WARNING):
        found = list(read_documents([b'{"title": "T"}\n', row, row], "jsonl", "new", fields))
    assert [document.fields for document in found] == [{"title": "T"}] * 3
    assert len(caplog.messages) == 1
    assert "new:2" in caplog.messages[0]
    assert "title, body" in caplog.messages[0]


@pytest.mark.parametrize(
    ("name", "first", "what"),
    [
        ("d.json", b'[{"text": "a"},\n', "cannot read a JSON list"),
        ("d.xlsx", b"PK\x03\x04", "cannot read .xlsx files"),
        ("d.csv.gz", b"\x1f\x8b", "cannot read .gz files"),
        ("d.txt", "text".encode("utf-16-le"), "not a text file, or one in utf-16"),
    ],
)
def test_other_formats_are_refused_by_name(name: str, first: bytes, what: str) -> None:
    """As plain lines, their signs would be words."""
    with pytest.raises(TextcatError) as caught:
        guess_format(name, first, ("text",))
    assert (caught.value.what, caught.value.where) == (what, name)


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("Title,body", "'title'"),
        ("title,body", ""),
        ("id,text", ""),
        ("text,body", "'title'"),
        ("body", "'title'"),
    ],
)
def test_a_table_without_a_field_of_the_model_is_warned_of(
    header: str, missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    row = ",".join("ab"[: header.count(",") + 1])
    lines = [f"{each}\n".encode() for each in (header, row, row)]
    found = list(read_documents(lines, "csv", "new.csv", ("title", "body")))
    assert len(found) == 2
    about = [message for message in caplog.messages if "no column" in message]
    assert len(about) == bool(missing)
    if missing:
        assert f"new.csv: no column {missing}, " in about[0]
        assert f"the columns are {header.replace(',', ', ')}." in about[0]


def test_pages_and_folders_are_read_as_in_training(tmp_path: Path) -> None:
    page = "<html><head><title>wheat</title><script>port</script></head>\n<body class=vessel>corn\n</body></html>\n"
    for name, content in {
        "a/1.html": page.encode(),
        "a/2.txt": b"\xe9t\xe9 rate\nport\n",
        "b/3.txt": b"corn",
    }.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_bytes(content)
    trained = open_corpus("folders", tmp_path / "docs", ratio=None, encoding="each-file").documents()
    expected = [(each.id, each.fields["text"]) for each in trained]
    new = [
        (each.id, each.fields["text"])
        for each in read_folder(tmp_path / "docs", ("text",), None, "each-file")
    ]
    assert new == expected
    assert dict(new)["a/1.html"] == "wheat\ncorn"

    write_categorizer(tmp_path / "model", small_model())
    run = CliRunner()
    predict = ["predict", str(tmp_path / "model"), "--scores"]
    folder = run.invoke(
        group, [*predict, str(tmp_path / "docs"), "--encoding", "each-file"]
    ).stdout.splitlines()
    assert [json.loads(line)["id"] for line in folder] == ["a/1.html", "a/2.txt", "b/3.txt"]
    (alone,) = run.invoke(group, [*predict, str(tmp_path / "docs" / "a" / "1.html")]).stdout.splitlines()
    (tmp_path / "page.php").write_text(page)
    (stated,) = run.invoke(
        group, [*predict, str(tmp_path / "page.php"), "--format", "html"]
    ).stdout.splitlines()
    scores = [json.loads(line)["scores"] for line in (folder[0], alone, stated)]
    assert scores[0] == scores[1] == scores[2] == {"grain": 2.0, 'ships "100%"': -1.5}
    explained = run.invoke(
        group, ["explain", str(tmp_path / "model"), str(tmp_path / "docs" / "a" / "1.html")]
    )
    assert "[+wheat]" in explained.stdout
    assert "class" not in explained.stdout
