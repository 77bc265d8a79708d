"""Broken rows: what is skipped is skipped as a whole, what is kept keeps its text, its columns and its number."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.faults.conftest import COMMAND
from tests.loops import for_each
from tests.serving.small_model import small_model
from textcat.errors import BadDataError
from textcat.serving.categorizer import write_categorizer
from textcat.serving.document_files import read_documents

BAD = b"\xff"


def read(data: bytes, form: Any = "csv") -> tuple[list[tuple[str, str]], list[str]]:
    """The documents by id, and the places of those that were left out."""
    left_out: list[str] = []
    documents = read_documents(
        io.BytesIO(data), form, "f", ("text",), lambda error: left_out.append(f"{error.where}: {error.what}")
    )
    return [(document.id, document.fields["text"]) for document in documents], left_out


@for_each(
    "header", [b"id,text" + BAD, b'id,"text', b'"id"x,text', b"\xff\xfei\0d\0,\0t\0", b"id,text\r1,a\r2,b"]
)
def test_a_row_is_never_taken_for_the_names_of_the_columns(header: bytes) -> None:
    with pytest.raises(BadDataError) as caught:
        read(header + b"\n1,a\n2,b\n")
    assert caught.value.where == "f:1"


@for_each("at", [0, 1, 2])
def test_a_record_with_a_line_that_cannot_be_decoded_is_left_out_whole(at: int) -> None:
    """Its other lines are not joined, and its quotes still end where they end."""
    lines = [b'1,"one', b"two", b'three"']
    lines[at] += BAD if at < 2 else b""
    if at == 2:
        lines[at] = b"three" + BAD + b'"'
    found, left_out = read(b"id,text\n" + b"\n".join(lines) + b'\n2,"b"\n3,c\n')
    assert found == [("2", "b"), ("3", "c")]
    assert len(left_out) == 1
    assert left_out[0].startswith(f"f:{at + 2}: byte")


@for_each(
    "row", [b"b" + BAD, b'"b"x', b"b,too,many", b'"b' + BAD + b"\n" + BAD + b'"'],
)  # fmt: skip
def test_documents_without_ids_keep_their_numbers(row: bytes) -> None:
    """Otherwise answers would be joined with the wrong rows."""
    found, left_out = read(b"text\na\n" + row + b"\nc\n\nd\n")
    assert found == [("1", "a"), ("3", "c"), ("4", "d")]
    assert len(left_out) == 1


DOCUMENTS = {
    "lines": b"wheat\ncorn\nwh" + BAD + b"eat\nwheat corn\n",
    "csv": b"text\nwheat\ncorn\nwh" + BAD + b"eat\nwheat corn\n",
    "jsonl": b'{"text": "wheat"}\n{"text": "corn"}\n{"text": "wh' + BAD + b'eat"}\n{"text": "wheat corn"}\n',
}


@pytest.mark.parametrize("policy", ["stop", "skip"])
@pytest.mark.parametrize("form", sorted(DOCUMENTS))
def test_predict_answers_what_is_whole(tmp_path: Path, form: str, policy: str) -> None:
    write_categorizer(tmp_path / "model", small_model())
    (tmp_path / "new").write_bytes(DOCUMENTS[form])
    options = ["--format", form, "--on-error", policy]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "predict", str(tmp_path / "model"), str(tmp_path / "new"), *options],
        cwd=PROJECT, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    ids = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    line = "new:4" if form == "csv" else "new:3"
    assert line in done.stderr
    assert "not utf-8" in done.stderr
    if policy == "stop":
        assert (done.returncode, ids) == (4, ["1", "2"])
    else:
        assert (done.returncode, ids) == (0, ["1", "2", "4"])
        assert "1 document was skipped" in done.stderr
