"""`textcat export` writes documents that can be read back unchanged."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from textcat.cli.main import group
from textcat.corpora import open_corpus


def export(*arguments: str) -> str:
    result = CliRunner().invoke(group, ["export", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.slow
def test_exported_documents_round_trip(mirror: Path, tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "news.jsonl"
    folders = ("--data", str(data), "--mirror", str(mirror))
    assert "19,997 documents" in export("20newsgroups", str(file), *folders)
    read = open_corpus("jsonl", file, text="body", label="labels", side="side").documents()
    for own, original in islice(
        zip(read, open_corpus("20newsgroups", data / "20newsgroups").documents(), strict=True), 500
    ):
        assert (own.id, own.labels, own.split) == (original.id, original.labels, original.split)
        assert own.fields["body"] == original.fields["body"]
    first = json.loads(export("20newsgroups", *folders).splitlines()[0])
    assert set(first) == {"id", "labels", "side", "body"}


def test_vectors_cannot_be_exported(mirror: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(
        group, ["export", "rcv1-subset", "--data", str(tmp_path), "--mirror", str(mirror)]
    )
    assert "collection of vectors, not of text" in str(result.exception)
