"""EURLEX57K: the reader on a made archive in the authors' layout, and the counts of the real one."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from textcat.corpora import fetch_corpus, load_card, open_corpus
from textcat.corpora.collections.eurlex57k import Eurlex57k, count_eurlex57k
from textcat.corpora.fetch.archives import FolderSink, unpack_archive
from textcat.corpora.fetch.sources import make_placement
from textcat.errors import BadDataError, UsageError


def law(number: str, *concepts: str, **changes: Any) -> str:
    texts = {
        "title": f"Title of {number}",
        "header": "The Council",
        "recitals": "Whereas",
        "type": "Decision",
    }
    return json.dumps(
        {"celex_id": number, "concepts": concepts, "main_body": ["Article 1", "Article 2"], **texts} | changes
    )


FILES = {
    "dataset/test/32001R0002.json": law("32001R0002", "12", "99"),
    "dataset/train/32001R0001.json": law("32001R0001", "12"),
    "dataset/train/31999R0009.json": law("31999R0009", "7", "12"),
    "dataset/dev/32001R0003.json": law("32001R0003", "8"),
    "__MACOSX/dataset/train/._32001R0001.json": "not a law",
    "eurovoc_en.json": json.dumps(
        {"12": {"label": "barge "}, "7": {"label": "sugar"}, "8": {"label": "tax"}}
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that fetch keeps of a made archive."""
    with zipfile.ZipFile(tmp_path / "datasets.zip", "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text)
    (package,) = load_card("eurlex57k").packages
    kept = tmp_path / "kept"
    kept.mkdir()
    sink = FolderSink(kept)
    assert unpack_archive(tmp_path / "datasets.zip", sink, make_placement(package), max_bytes=10_000) == 5
    return kept


def test_laws_come_with_four_fields_and_their_concepts(folder: Path) -> None:
    documents = list(open_corpus("eurlex57k", folder).documents())
    assert [(each.id, each.labels, each.split) for each in documents] == [
        ("31999R0009", ("7", "12"), "train"),
        ("32001R0001", ("12",), "train"),
        ("32001R0003", ("8",), "train"),
        ("32001R0002", ("12", "99"), "test"),
    ]
    assert documents[0].fields == {
        "title": "Title of 31999R0009",
        "header": "The Council",
        "recitals": "Whereas",
        "main_body": "Article 1\nArticle 2",
    }
    assert open_corpus("eurlex57k", folder).categories == ("12", "7", "8", "99")


def test_concepts_go_by_name_where_there_is_one(folder: Path) -> None:
    corpus = open_corpus("eurlex57k", folder, labels="name")
    assert corpus.categories == ("99", "barge", "sugar", "tax")
    fingerprint = corpus.fingerprint()
    (folder / "eurovoc_en.json").unlink()
    without = open_corpus("eurlex57k", folder, labels="name")
    assert without.categories == ("12", "7", "8", "99")
    assert without.fingerprint() != fingerprint


@pytest.mark.parametrize(
    ("split", "sides"),
    [
        ("train+dev", ["train", "train", "train", "test"]),
        ("train", ["train", "train", "unused", "test"]),
        ("development", ["train", "train", "test", "unused"]),
    ],
)
def test_splits(folder: Path, split: str, sides: list[str]) -> None:
    documents = open_corpus("eurlex57k", folder, split=split).documents()
    assert [document.split for document in documents] == sides
    assert count_eurlex57k(folder) == {
        "train documents": 2, "dev documents": 1, "test documents": 1, "concepts": 4
    }  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    ["{", "[]", law("1", "12", main_body="text"), law("1", "12", title=None), law("1", concepts=[3])],
)
def test_damaged_laws_are_named(folder: Path, damage: str) -> None:
    (folder / "dev" / "32001R0003.json").write_text(damage)
    with pytest.raises(BadDataError) as caught:
        list(open_corpus("eurlex57k", folder).documents())
    assert "dev/32001R0003.json" in caught.value.where


def test_unknown_settings_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="no split 'dev'"):
        open_corpus("eurlex57k", folder, split="dev")
    with pytest.raises(UsageError, match="labels: should be one of id, name"):
        open_corpus("eurlex57k", folder, labels="topic")
    (folder / "eurovoc_en.json").write_text('{"12": "barge"}')
    with pytest.raises(BadDataError, match="without a label"):
        list(Eurlex57k(folder, labels="name").documents())


@pytest.mark.slow
def test_the_real_archive_has_the_published_counts(mirror: Path, fetched: Path) -> None:
    report = fetch_corpus("eurlex57k", fetched, mirror=mirror, offline=True)
    corpus = open_corpus("eurlex57k", report.folder, labels="name")
    assert corpus.fingerprint() in load_card("eurlex57k").fingerprints
    first = next(iter(corpus.documents()))
    assert first.split == "train" and set(first.fields) == {"title", "header", "recitals", "main_body"}
    assert "sugar product" in corpus.categories
