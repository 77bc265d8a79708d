"""Inputs that once broke a reader, and inputs made to: each is accepted or answered by a documented error."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, examine
from tests.loops import for_each

CASES = Path(__file__).resolve().parent / "cases"
KEPT = sorted(path for path in CASES.rglob("*") if path.is_file())


@for_each("case", KEPT)
def test_kept_cases_are_answered(case: Path, tmp_path: Path) -> None:
    message = examine(case.parent.name, case.read_bytes(), tmp_path)
    assert bool(message) == (case.name != "valid"), message


@for_each("name", TARGETS)
def test_every_format_has_a_valid_case_and_a_dictionary(name: str) -> None:
    assert (CASES / name / "valid").is_file()
    assert (CASES.parent / "dictionaries" / f"{name}.dict").is_file()


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_valid_input_is_answered(name: str, tmp_path: Path) -> None:
    valid = (CASES / name / "valid").read_bytes()
    pieces = st.binary(max_size=6) | st.sampled_from(_words(name))

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, len(valid)), st.integers(0, len(valid)), pieces)
    def damaged(one: int, other: int, piece: bytes) -> None:
        examine(name, valid[: min(one, other)] + piece + valid[max(one, other) :], tmp_path)
        examine(name, valid[:one] + piece + valid[one:], tmp_path)

    damaged()


def _words(name: str) -> list[bytes]:
    lines = (CASES.parent / "dictionaries" / f"{name}.dict").read_text(encoding="ascii").splitlines()
    return [line[1:-1].encode().decode("unicode_escape").encode("latin-1") for line in lines]


RECORD = b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="X" NEWID="7">%b<TEXT>%b</TEXT></REUTERS>'
MANY = 200_000


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("sgml", b"<REUTERS >" * MANY),
        ("sgml", b"<REUTERS" * MANY),
        ("sgml", RECORD % (b"<TOPICS><D>" * MANY, b"")),
        ("sgml", RECORD % (b"<TOPICS>" + b"<D></D>" * MANY, b"")),
        ("sgml", RECORD % (b"<DATE>" * MANY, b"<TITLE>" * MANY)),
        ("sgml", RECORD % (b"", b"".join(b"&#%d;" % number for number in range(MANY)))),
        ("sgml", b'<REUTERS a="' * MANY + b">"),
        ("medline", b".I 1\n.U\n87\n" + b".M\n;" * MANY),
        ("tokens", b".I " * MANY),
        ("tokens", b"\n.I 2286\n.W\nx" * MANY),
        ("qrels", b"a 1 1\n" * MANY),
        ("qrels", b"a " * MANY),
        ("svmlight", b"a 1:1" + b" 1:1" * MANY),
        ("svmlight", b"1:" * MANY),
        ("html", b"<!--" * MANY),
        ("html", b"<title " * MANY),
        ("html", b"<title></title" * MANY),
        ("html", b"<script>" * MANY),
        ("html", b"<script></style>" * MANY),
        ("html", b"<style " * MANY + b"</script" + b" " * MANY),
        ("html", b"<" * MANY),
        ("html", b"</a" * MANY),
        ("html", b"HTTP/1.0 x" + b"\n " * MANY),
        ("html", b"&#" + b"1" * MANY),
        ("html", b"&#x" + b"f" * MANY + b"&amp" * MANY),
        ("csv", b"text,label\n" + b'"' * MANY),
        ("csv", b"," * MANY),
        ("csv", b"id,text,label\n" + b"1,a,b\n" * 50_000),
        ("jsonl", b"[" * MANY),
        ("jsonl", b'{"text":' * MANY),
        ("new_jsonl", b"[" * MANY),
        ("reuters_json", b"[" * MANY),
        ("reuters_json", b'[{"id":' * MANY),
        ("yaml", b"[" * MANY),
        ("yaml", b"- " * 20_000),
        ("yaml", b"a: &x [*x, *x]"),
        ("yaml", b"? " * 20_000),
        ("yaml", b"{" * 20_000),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value[:24]),
)
def test_hostile_repetition_takes_time_in_proportion(name: str, data: bytes, tmp_path: Path) -> None:
    started = time.process_time()
    examine(name, data, tmp_path)
    assert time.process_time() - started < 10
