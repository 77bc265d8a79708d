"""A folder is replaced in one step; without the system's help nothing is lost either."""

from __future__ import annotations

from pathlib import Path

import pytest

from textcat.store import files
from textcat.store.files import replace_folder


def made(path: Path, content: str) -> Path:
    path.mkdir()
    (path / "file").write_text(content)
    return path


@pytest.mark.parametrize("exchange", [True, False])
def test_the_new_folder_takes_the_place_of_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(files, "_exchange", lambda *_: False)
    replace_folder(made(tmp_path / "new", "1"), tmp_path / "model")
    assert not (tmp_path / "new").exists()
    replace_folder(made(tmp_path / "new", "2"), tmp_path / "model")
    assert (tmp_path / "model" / "file").read_text() == "2"
    assert (tmp_path / "new" / "file").read_text() == "1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "new"]


def test_linux_exchanges_without_a_moment_in_which_the_folder_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, old = made(tmp_path / "new", "2"), made(tmp_path / "model", "1")
    if not files._exchange(new, old):
        pytest.skip("this file system cannot exchange two folders")
    monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("a rename leaves a moment without the folder"))
    replace_folder(old, new)
    assert [(path / "file").read_text() for path in (old, new)] == ["1", "2"]
