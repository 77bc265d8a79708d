"""Collections of one file per document, in any archive: damage and bombs are reported before memory fills."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import pytest

from textcat.corpora import collection_files as trees
from textcat.corpora import fetch_corpus, open_corpus
from textcat.corpora.collection_files import PACKED_FILE, DocumentTree
from textcat.errors import BadDataError, DataNotAvailableError

PAGE = "course/cornell/page"


def packed(folder: Path, members: dict[str, bytes]) -> Path:
    """documents.zip as a person might make it, compressed and with its folders."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / PACKED_FILE, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("course")
        for name, content in members.items():
            with archive.open(name, "w") as member:
                for start in range(0, len(content), 1 << 20):
                    member.write(content[start : start + (1 << 20)])
    return folder


def test_hidden_files_of_an_archive_are_no_documents(tmp_path: Path) -> None:
    hidden = ("course/.DS_Store", "__MACOSX/course/._page", ".git/HEAD", "course/Thumbs.db")
    assert DocumentTree(packed(tmp_path, {PAGE: b"one"} | dict.fromkeys(hidden, b"x"))).names == [PAGE]


def test_an_archive_does_not_hide_folders_of_documents(tmp_path: Path) -> None:
    folder = packed(tmp_path, {PAGE: b"one"})
    (folder / ".trash").mkdir()
    assert DocumentTree(folder).names == [PAGE]
    (folder / "faculty").mkdir()
    (folder / "faculty" / "new").write_text("two")
    with pytest.raises(BadDataError, match="folders beside it: faculty"):
        list(open_corpus("folders", folder).documents())


def test_a_document_that_is_too_large_is_refused(tmp_path: Path) -> None:
    folder = packed(tmp_path, {PAGE: bytes(trees.MAX_DOCUMENT_BYTES + 1)})
    assert (folder / PACKED_FILE).stat().st_size < 100_000
    tracemalloc.start()
    for read in (lambda: list(open_corpus("webkb", folder).documents()), DocumentTree(folder).fingerprint):
        with pytest.raises(BadDataError, match="larger than") as error:
            read()
        assert error.value.where == str(folder / PACKED_FILE)
    assert tracemalloc.get_traced_memory()[1] < 10 << 20
    tracemalloc.stop()


def test_a_zip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = packed(tmp_path, {f"{PAGE}{number}": bytes(100) for number in range(5)})
    assert len(DocumentTree(folder).names) == 5
    monkeypatch.setattr(trees, "MAX_TREE_BYTES", 499)
    with pytest.raises(BadDataError, match="more documents than"):
        list(open_corpus("webkb", folder).documents())
    monkeypatch.setattr(trees, "MAX_TREE_BYTES", 500)
    monkeypatch.setattr(trees, "MAX_MEMBERS", 4)
    with pytest.raises(BadDataError, match="more documents than"):
        DocumentTree(folder).fingerprint()


def test_a_file_that_is_no_document_is_refused(tmp_path: Path) -> None:
    page = tmp_path / PAGE
    page.parent.mkdir(parents=True)
    with page.open("wb") as opened:
        opened.truncate(1 << 40)
    with pytest.raises(BadDataError, match="larger than") as error:
        list(open_corpus("webkb", tmp_path).documents())
    assert error.value.where == str(page)


@pytest.mark.parametrize("name", ["webkb", "20newsgroups"])
def test_fetch_reports_a_refused_bomb(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEXTCAT_MIRROR", raising=False)
    packed(tmp_path / name, {PAGE: bytes(trees.MAX_DOCUMENT_BYTES + 1)})
    with pytest.raises(DataNotAvailableError, match="cannot fetch") as error:
        fetch_corpus(name, tmp_path, offline=True)
    assert "larger than" in str(error.value)
