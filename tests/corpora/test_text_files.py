"""Records in SMART's format, whatever the pieces in which the file is read; damaged gzip files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.loops import for_each
from textcat.corpora import collection_files
from textcat.corpora.collection_files import open_latin1, read_smart_records
from textcat.errors import BadDataError

RECORDS = [("1", ".W\none .I 7 inside\n"), ("22", ".W\n\n"), ("333", ".T\ntwo\n.W\nthree\xe9\n")]
TEXT = "".join(f".I {number}\n{rest}" for number, rest in RECORDS)


@for_each("chunk", [*range(1, 25), 1000])
@for_each("packed", [False, True])
def test_records_do_not_depend_on_the_size_of_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, packed: bool
) -> None:
    monkeypatch.setattr(collection_files, "_CHUNK", chunk)
    content = TEXT.encode("latin-1")
    path = tmp_path / ("x.dat.gz" if packed else "x.dat")
    path.write_bytes(gzip.compress(content) if packed else content)
    found = [(number, rest.rstrip("\n")) for number, rest in read_smart_records(path)]
    assert found == [(number, rest.rstrip("\n")) for number, rest in RECORDS]


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("\n\n")
    assert list(read_smart_records(tmp_path / "x")) == []


@for_each("damage", [lambda raw: raw[:-9], lambda raw: b"no gzip", lambda raw: raw[:40] + b"\0\0" + raw[42:]])
def test_a_damaged_gzip_file_is_bad_data(tmp_path: Path, damage) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(damage(gzip.compress(bytes(range(256)) * 50)))
    with pytest.raises(BadDataError, match="cannot decompress"), open_latin1(path) as opened:
        opened.read()
