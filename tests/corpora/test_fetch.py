"""Fetching: sources and their order, verification, idempotence, one atomic step into place."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from tests.loops import for_each
from textcat.corpora import fetch_corpus, is_fetched, list_corpora, load_card, open_corpus
from textcat.corpora.cards import FETCH_MANIFEST
from textcat.corpora.fetch.collection import export_corpus
from textcat.errors import BadDataError, DataNotAvailableError, UsageError


def unpacked(mirror: Path, folder: Path) -> Path:
    with tarfile.open(mirror / "reuters21578.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def no_leftovers(data: Path) -> bool:
    return [path.name for path in data.iterdir() if path.name not in (".locks", "reuters21578")] == []


def test_report_shows_counts_terms_and_source(mirror: Path, reuters_sgml: Path) -> None:
    data = reuters_sgml.parent
    report = fetch_corpus("reuters21578", data, offline=True, mirror=Path("/nowhere"))
    assert not report.fresh
    assert report.counts == load_card("reuters21578").counts
    assert report.counts["modapte train with one of the topics in both"] == 7770
    assert "research" in report.terms
    assert "Lewis" in report.citation
    assert str(mirror) in report.source
    assert report.verified.startswith("sha256")
    assert report.fingerprint == open_corpus("reuters21578", report.folder).fingerprint()
    assert is_fetched("reuters21578", data)


def test_unpacked_files_are_a_source_with_the_same_fingerprint(
    mirror: Path, reuters_sgml: Path, tmp_path: Path
) -> None:
    source = unpacked(mirror, tmp_path / "source" / "deeper")
    report = fetch_corpus("reuters21578", tmp_path / "data", source=source.parent, offline=True)
    assert report.fresh
    assert report.fingerprint == open_corpus("reuters21578", reuters_sgml).fingerprint()
    assert no_leftovers(tmp_path / "data")


def test_an_altered_file_is_refused_and_nothing_is_installed(mirror: Path, tmp_path: Path) -> None:
    source = unpacked(mirror, tmp_path / "source")
    altered = source / "reut2-004.sgm"
    altered.write_bytes(altered.read_bytes().replace(b"cocoa", b"cacao", 1))
    for _ in range(2):
        with pytest.raises(BadDataError, match=r"reut2-004\.sgm differs from the published file"):
            fetch_corpus("reuters21578", tmp_path / "data", source=source, offline=True)
        assert not (tmp_path / "data" / "reuters21578").exists()
        assert no_leftovers(tmp_path / "data")


def test_damage_after_fetching_is_repaired(mirror: Path, reuters_sgml: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reuters21578"
    shutil.copytree(reuters_sgml, folder)
    victim = folder / "reut2-000.sgm"
    victim.write_bytes(victim.read_bytes()[:1000])
    assert not is_fetched("reuters21578", tmp_path)
    with pytest.raises(DataNotAvailableError):
        fetch_corpus("reuters21578", tmp_path, offline=True, mirror=tmp_path / "none")
    assert fetch_corpus("reuters21578", tmp_path, offline=True, mirror=mirror).fresh
    assert is_fetched("reuters21578", tmp_path)


def test_a_copied_data_folder_is_valid(reuters_sgml: Path, tmp_path: Path) -> None:
    folder = tmp_path / "reuters21578"
    shutil.copytree(reuters_sgml, folder, copy_function=shutil.copyfile)
    assert not fetch_corpus("reuters21578", tmp_path, offline=True, mirror=tmp_path).fresh


def test_a_users_own_files_are_verified_and_kept(mirror: Path, tmp_path: Path) -> None:
    unpacked(mirror, tmp_path / "reuters21578")
    (tmp_path / "reuters21578" / "my-notes.doc").write_text("mine")
    assert not is_fetched("reuters21578", tmp_path)
    assert fetch_corpus("reuters21578", tmp_path, offline=True, mirror=tmp_path / "none").fresh
    assert [path.read_text() for path in tmp_path.glob("reuters21578.set-aside.*/*/my-notes.doc")] == ["mine"]


def test_an_exported_folder_is_a_mirror(reuters_sgml: Path, tmp_path: Path) -> None:
    export_corpus("reuters21578", reuters_sgml.parent, tmp_path / "disk")
    assert (tmp_path / "disk" / "reuters21578" / FETCH_MANIFEST).is_file()
    assert fetch_corpus("reuters21578", tmp_path / "data", source=tmp_path / "disk", offline=True).fresh
    with pytest.raises(DataNotAvailableError, match="textcat fetch"):
        export_corpus("reuters21578", tmp_path / "empty", tmp_path / "disk")


def test_offline_without_files_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataNotAvailableError) as caught:
        fetch_corpus("reuters21578", tmp_path, offline=True, mirror=tmp_path)
    assert "--from" in str(caught.value)
    assert caught.value.exit_code == 3
    with pytest.raises(DataNotAvailableError, match="offline"):
        fetch_corpus("reuters21578", tmp_path, source="https://localhost/x.tar.gz", offline=True)


def test_unknown_names_and_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reuters21578"):
        fetch_corpus("reuters", tmp_path)
    with pytest.raises(UsageError, match="unknown collection"):
        open_corpus("reuters", tmp_path)
    with pytest.raises(UsageError, match="no option 'colour'"):
        open_corpus("reuters21578", tmp_path, colour="red")


@for_each("name", list_corpora())
def test_cards_are_complete(name: str) -> None:
    card = load_card(name)
    assert card.name == name
    assert card.terms
    assert card.citation
    assert card.bibtex.startswith("@")
    assert card.home.startswith("http")
    assert card.splits
    assert card.packages or card.by_hand
