"""Documents that change without a sign, or while they are read, never give results of other documents."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.faults.conftest import textcat
from tests.faults.workplace import Place
from textcat.corpora.cards import (
    FETCH_MANIFEST,
    Manifest,
    read_folder_state,
    read_manifest,
    write_manifest,
)
from textcat.corpora.fetch.collection import find_fetched, verify_fetched
from textcat.corpora.registry import fingerprint_corpus
from textcat.errors import StageFailedError
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.fetch import fetch_documents
from textcat.experiment.steps.tokenize import make_tokenize_step
from textcat.text.text_settings import TextSettings

CLOCK_TICK = 2.1


def change_in_place(path: Path) -> None:
    """Swap two letters; size and modification time stay."""
    facts = path.stat()
    content = bytearray(path.read_bytes())
    at = content.index(b"<BODY>") + 8
    content[at], content[at + 1] = content[at + 1] ^ 1, content[at] ^ 1
    with path.open("r+b") as opened:
        opened.write(content)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (facts.st_size, facts.st_mtime_ns)


def test_a_file_changed_in_place_is_not_taken_for_the_old_one(
    copy_of: Callable[[], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A mirror would have the right files.
    monkeypatch.delenv("TEXTCAT_MIRROR", raising=False)
    place = copy_of()
    time.sleep(CLOCK_TICK)
    assert textcat(*place.command("--offline")).returncode == 0
    folder = place.data / "reuters21578"
    manifest = read_manifest(folder)
    assert manifest is not None
    assert manifest.is_untouched(read_folder_state(folder))
    change_in_place(folder / "reut2-000.sgm")
    done = textcat(*place.command("--offline"))
    assert done.returncode == 3, done.stderr
    assert "files have changed since they were verified" in done.stderr


def test_unchanged_files_are_not_read_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    time.sleep(CLOCK_TICK)
    folder = place.data / "reuters21578"
    found = find_fetched("reuters21578", place.data)
    manifest = read_manifest(folder)
    assert found is not None
    assert manifest is not None
    write_manifest(folder, replace(manifest, state=read_folder_state(folder).digest))

    def refuse(_: Path) -> str:
        raise AssertionError("the files were read")

    monkeypatch.setattr("textcat.corpora.cards.hash_file", refuse)
    assert find_fetched("reuters21578", place.data) == found


def test_a_file_written_just_now_is_read_next_time(place: Place) -> None:
    """A second change within a tick of the clock would leave the same times."""
    folder = place.data / "reuters21578"
    os.utime(folder / "reut2-000.sgm")
    assert read_folder_state(folder).digest == ""
    assert not Manifest("a", "b", "c", "d", {}, *read_folder_state(folder)).is_untouched(
        read_folder_state(folder)
    )


@pytest.fixture
def place(copy_of: Callable[[], Place]) -> Place:
    return copy_of()


def test_damage_of_the_disk_is_noticed_before_anything_is_made(place: Place) -> None:
    """A bit that flips on the disk changes no time: the files are hashed when a step is made from them."""
    folder = place.data / "reuters21578"
    change_in_place(folder / "reut2-000.sgm")
    time.sleep(CLOCK_TICK)
    manifest = read_manifest(folder)
    assert manifest is not None
    write_manifest(folder, replace(manifest, state=read_folder_state(folder).digest))
    fetched = find_fetched("reuters21578", place.data)
    assert fetched is not None
    experiment = _own(place.folder, name="reuters21578")
    step = make_tokenize_step(experiment, TextSettings(), folder, fetched.fingerprint)
    context = RunContext(place.folder / "empty")
    with pytest.raises(StageFailedError, match="changed while they were read, or are damaged"):
        step.build_artifact(context)
    assert context.store.find(step.recipe) is None
    assert find_fetched("reuters21578", place.data) is None


def test_a_manifest_of_an_older_version_is_completed(place: Place) -> None:
    folder = place.data / "reuters21578"
    facts = json.loads((folder / FETCH_MANIFEST).read_text())
    del facts["state"], facts["contents"]
    (folder / FETCH_MANIFEST).write_text(json.dumps(facts | {"newest": 1}))
    verify_fetched("reuters21578", folder)
    assert textcat(*place.command("--offline")).returncode == 0
    completed = read_manifest(folder)
    assert completed is not None
    assert completed.contents
    change_in_place(folder / "reut2-000.sgm")
    with pytest.raises(StageFailedError):
        verify_fetched("reuters21578", folder)


ROWS = "a 1:1 2:1\nb 3:1\na 1:2\nb 2:1 3:2\n"


def _own(folder: Path, **corpus: object) -> Experiment:
    settings = {"title": "x", "corpus": corpus, "runs": {"bayes": {"learner": "naive_bayes"}}}
    return Experiment.model_validate(yaml.safe_load(yaml.safe_dump(settings))).set_folder(folder)


def test_the_file_of_test_documents_is_part_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "train.svm").write_text(ROWS)
    test = tmp_path / "test.svm"
    test.write_text(ROWS)
    experiment = _own(tmp_path, name="svmlight", path="train.svm", options={"test": str(test)})
    context = RunContext(tmp_path / "data")
    before = fetch_documents(experiment, context).fingerprint
    test.write_text(ROWS.replace("3:2", "3:4"))
    assert fetch_documents(experiment, context).fingerprint != before
    alone = fetch_documents(_own(tmp_path, name="svmlight", path="train.svm"), context).fingerprint
    assert alone == fingerprint_corpus("svmlight", tmp_path / "train.svm")


def test_a_file_that_changes_while_it_is_read_gives_no_artifact(tmp_path: Path) -> None:
    table = tmp_path / "documents.csv"
    table.write_text("text,label\none two,a\nthree,b\n")
    experiment = _own(tmp_path, name="csv", path="documents.csv")
    fingerprint = fingerprint_corpus("csv", table)
    table.write_text("text,label\none two,b\nthree,a\n")
    step = make_tokenize_step(experiment, TextSettings(fields=("text",)), table, fingerprint)
    context = RunContext(tmp_path / "data")
    with pytest.raises(StageFailedError, match=r"documents\.csv"):
        step.build_artifact(context)
    assert context.store.find(step.recipe) is None


def test_other_labels_of_a_generated_collection_are_part_of_the_key(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "lyrl2004_tokens_train.dat").write_text(".I 2286\n.W\nrecov excit\n\n.I 2287\n.W\nstori\n\n")
    for labels in ("topics", "regions"):
        (folder / f"rcv1-v2.{labels}.qrels").write_text("E11 2286 1\nGCAT 2287 1\n")
    context = RunContext(tmp_path / "data")
    topics = _own(tmp_path, name="rcv1-like", path="made")
    regions = _own(tmp_path, name="rcv1-like", path="made", options={"labels": "regions"})
    before = [fetch_documents(each, context).fingerprint for each in (topics, regions)]
    (folder / "rcv1-v2.regions.qrels").write_text("E11 2287 1\nGCAT 2286 1\n")
    after = [fetch_documents(each, context).fingerprint for each in (topics, regions)]
    assert before[0] == after[0]
    assert before[1] != after[1]
