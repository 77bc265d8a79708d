"""Output goes where the user said: devices, pipes and symlinks stay what they are."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import textcat.corpora
from tests.faults.conftest import COMMAND
from tests.loops import for_each
from textcat.cli.main import group
from textcat.corpora.document import Document
from textcat.store.files import open_output

DOCUMENT = Document("1", {"body": "wheat"}, ("grain",), "train")
LINE = b'{"id": "1", "labels": ["grain"], "side": "train", "body": "wheat"}\n'


@pytest.fixture(autouse=True)
def one_document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A collection of one document, so that nothing is fetched."""
    monkeypatch.setattr(textcat.corpora, "fetch_corpus", lambda *_, **__: SimpleNamespace(folder=tmp_path))
    opened = SimpleNamespace(documents=lambda: iter([DOCUMENT]))
    monkeypatch.setattr(textcat.corpora, "open_corpus", lambda *_, **__: opened)


def export(path: Path | str) -> bytes:
    result = CliRunner().invoke(group, ["export", "any", str(path)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def test_export_to_a_pipe_writes_into_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    export(tmp_path / "pipe")
    reader.join(20)
    assert read == [LINE]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_export_through_a_symlink_writes_its_target(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "news.jsonl"
    target.write_text("old")
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "second").symlink_to("link")
    export(tmp_path / "second")
    assert target.read_bytes() == LINE
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "second").is_symlink()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_has_names(name: str) -> None:
    assert export(name) == LINE


def test_an_interrupted_export_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "news.jsonl"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), open_output(path) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "pipe"])
def test_init_writes_to_standard_output_and_pipes(tmp_path: Path, name: str) -> None:
    rows = "".join(f"wheat corn {n} grows in the field,{'grain' if n % 2 else 'trade'}\n" for n in range(20))
    (tmp_path / "documents.csv").write_text("text,label\n" + rows)
    read: list[bytes] = []
    if name == "pipe":
        os.mkfifo(tmp_path / name)
        threading.Thread(target=lambda: read.append((tmp_path / name).read_bytes()), daemon=True).start()
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, "init", "documents.csv", "--to", name],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=100,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    written = read[0] if name == "pipe" else (tmp_path / "out").read_bytes()
    assert b'path: "documents.csv"' in written
    assert written.startswith(b"#")
    assert not (tmp_path / "-").exists()


FOLDER_OPTIONS = {
    "results": ["run", "any", "--results"],
    "data": ["run", "any", "--data"],
    "export": ["fetch", "any", "--export"],
    "cache": ["cache", "--data"],
}
NO_FOLDERS = ["file", "pipe", "nothing", "loop", "to-file", "/dev/null", "-", ""]


@for_each("path", NO_FOLDERS)
@for_each("option", sorted(FOLDER_OPTIONS))
def test_what_is_no_folder_is_refused_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    os.mkfifo("pipe")
    for link, target in (("nothing", "nowhere/x"), ("loop", "loop"), ("to-file", "file")):
        (tmp_path / link).symlink_to(target)
    before = {each.name: os.lstat(each).st_mode for each in tmp_path.iterdir()}
    result = CliRunner().invoke(group, [*FOLDER_OPTIONS[option], path])
    assert result.exit_code == 2, result.output
    assert "folder" in result.output
    assert {each.name: os.lstat(each).st_mode for each in tmp_path.iterdir()} == before
    assert (tmp_path / "file").read_text() == "mine"
