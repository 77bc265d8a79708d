"""Planning uses what is on this machine; only running fetches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.experiment.place import Place
from textcat.errors import DataNotAvailableError
from textcat.experiment.context import RunContext
from textcat.experiment.run.runner import plan_experiment, run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps import fetch

PAPER = "title: x\ncorpus: {name: reuters21578}\nruns: {bayes: {learner: naive_bayes}}\n"


class FetchCalledError(Exception):
    """A test's fetch was called."""


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment on a collection that is not on this machine; fetching it raises FetchCalledError."""

    def refuse(*args: Any, **settings: Any) -> Any:
        raise FetchCalledError

    monkeypatch.setattr(fetch, "fetch_corpus", refuse)
    path = tmp_path / "paper.yaml"
    path.write_text(PAPER)
    return path


def test_planning_fetches_nothing_and_running_does(paper: Path) -> None:
    experiment, context = load_experiment(paper), RunContext(paper.parent / "data")
    assert plan_experiment(experiment, context) is None
    assert not context.data.exists()
    with pytest.raises(FetchCalledError):
        run_experiment(experiment, context)


def test_a_dry_run_fetches_nothing(paper: Path, tmp_path: Path) -> None:
    output = Place(tmp_path).textcat("run", str(paper), "--dry-run")
    assert output.splitlines()[0] == "fetch reuters21578: to do"
    assert not (tmp_path / "data").exists()


def test_planning_does_not_replace_a_changed_collection(
    paper: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    paper.write_text(PAPER.replace("reuters21578", "webkb"))
    experiment, context = load_experiment(paper), RunContext(paper.parent / "data", mirror, offline=True)
    source = fetch.fetch_documents(experiment, context)
    assert source.fresh
    assert fetch.find_documents(experiment, context) == fetch.DocumentSource(source.path, source.fingerprint)
    page = next(path for path in source.path.rglob("*") if path.is_file() and path.stat().st_size > 100)
    page.write_bytes(b"x" * page.stat().st_size)
    assert fetch.find_documents(experiment, context) is None
    assert page.read_bytes().startswith(b"xxx")


def test_documents_that_are_not_there_are_an_error_with_their_place(tmp_path: Path) -> None:
    path = Place(tmp_path).experiment
    (tmp_path / "documents.jsonl").unlink()
    with pytest.raises(DataNotAvailableError, match=r"documents\.jsonl"):
        run_experiment(load_experiment(path), RunContext(tmp_path / "data"))
