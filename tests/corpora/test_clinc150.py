"""CLINC150: the reader on a made file in the authors' layout, and the counts of the real one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.loops import for_each
from textcat.corpora import fetch_corpus, load_card, open_corpus
from textcat.corpora.collections.clinc150 import Clinc150, count_clinc150
from textcat.errors import BadDataError, DataNotAvailableError

QUERIES: dict[str, Any] = {
    "oos_val": [["a show on broadway", "oos"]],
    "val": [["move money", "transfer"]],
    "train": [["what is my balance", "balance"], ["send ten euros", "transfer"]],
    "oos_test": [["who won", "oos"], ["how far is the moon", "oos"]],
    "test": [["how much do I have", "balance"]],
    "oos_train": [["sing a song", "oos"]],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data_full.json").write_text(json.dumps(QUERIES))
    return tmp_path


def test_queries_are_documents_with_one_label(folder: Path) -> None:
    documents = list(open_corpus("clinc150", folder).documents())
    assert [(each.id, each.fields["text"], each.labels, each.split) for each in documents] == [
        ("train-1", "what is my balance", ("balance",), "train"),
        ("train-2", "send ten euros", ("transfer",), "train"),
        ("val-1", "move money", ("transfer",), "unused"),
        ("test-1", "how much do I have", ("balance",), "test"),
    ]
    assert open_corpus("clinc150", folder).categories == ("balance", "transfer")


@pytest.mark.parametrize(
    ("split", "sides"),
    [
        ("train", ["train", "train", "train", "unused", "unused", "test", "test", "test"]),
        ("train+val", ["train", "train", "train", "train", "train", "test", "test", "test"]),
        ("development", ["train", "train", "train", "test", "test", "unused", "unused", "unused"]),
    ],
)
def test_queries_out_of_scope_are_a_class_on_the_side_of_their_part(
    folder: Path, split: str, sides: list[str]
) -> None:
    corpus = open_corpus("clinc150", folder, split=split, out_of_scope="class")
    documents = list(corpus.documents())
    assert [each.split for each in documents] == sides
    assert [each.id for each in documents if each.labels == ("oos",)] == [
        "oos_train-1", "oos_val-1", "oos_test-1", "oos_test-2"
    ]  # fmt: skip
    assert corpus.categories == ("balance", "oos", "transfer")


def test_a_compressed_file_has_the_same_fingerprint_and_other_queries_another(folder: Path) -> None:
    plain = Clinc150(folder).fingerprint()
    content = (folder / "data_full.json").read_bytes()
    (folder / "data_full.json").unlink()
    (folder / "data_full.json.gz").write_bytes(gzip.compress(content))
    assert Clinc150(folder).fingerprint() == plain
    assert count_clinc150(folder)["oos_test queries"] == 2
    (folder / "data_full.json.gz").write_bytes(gzip.compress(content.replace(b"moon", b"sun")))
    assert Clinc150(folder).fingerprint() != plain


@for_each(
    ("damage", "place"),
    [
        ("{", "data_full.json"),
        ("[]", "data_full.json"),
        (json.dumps({**QUERIES, "oos_val": None}), "oos_val"),
        (json.dumps({**QUERIES, "test": [["text", "intent"], ["text"]]}), "test, 2"),
        (json.dumps({**QUERIES, "train": [["text", 3]]}), "train, 1"),
        (json.dumps({**QUERIES, "train": [["\ud800", "intent"]]}), "train, 1"),
    ],
)
def test_a_damaged_file_is_named_with_the_place(folder: Path, damage: str, place: str) -> None:
    (folder / "data_full.json").write_text(damage)
    with pytest.raises(BadDataError) as caught:
        list(open_corpus("clinc150", folder).documents())
    assert caught.value.where.endswith(place)


def test_a_truncated_archive_and_an_empty_folder_are_reported(folder: Path) -> None:
    whole = gzip.compress((folder / "data_full.json").read_bytes())
    (folder / "data_full.json").unlink()
    with pytest.raises(DataNotAvailableError):
        Clinc150(folder).fingerprint()
    (folder / "data_full.json.gz").write_bytes(whole[:-12])
    with pytest.raises(BadDataError, match="decompress"):
        Clinc150(folder).fingerprint()


def test_the_real_file_has_the_published_counts(mirror: Path, fetched: Path) -> None:
    report = fetch_corpus("clinc150", fetched, mirror=mirror, offline=True)
    corpus = open_corpus("clinc150", report.folder)
    assert corpus.fingerprint() in load_card("clinc150").fingerprints
    assert len(corpus.categories) == 150
    assert "CC BY 3.0" in load_card("clinc150").terms
