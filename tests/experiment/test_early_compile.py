"""Kernels of learners are compiled in a thread while documents are read, and only where models are missing."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.experiment.small import write_small_collection
from textcat.experiment.context import RunContext
from textcat.experiment.run import runner
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment


class NeverSet(threading.Event):
    """The run ends before the thread does: without this, some learners may be left out."""

    def set(self) -> None:
        """Set nothing."""


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The learners that are trained early, with the name of the thread."""
    found: list[tuple[str, str]] = []
    find = runner.find_learner

    def watched(name: str) -> Any:
        found.append((name, threading.current_thread().name))
        return find(name)

    monkeypatch.setattr(runner, "find_learner", watched)
    return found


def test_learners_with_kernels_are_trained_early_once_and_only_if_models_are_missing(
    tmp_path: Path, trained: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "Event", NeverSet)
    experiment = load_experiment(str(write_small_collection(tmp_path)))
    context = RunContext(tmp_path / "data", jobs=2, offline=True)
    run_experiment(experiment, context)
    assert trained == [(name, "compile early") for name in ("CLS", "CLG", "smo")]
    assert "compile early" not in {thread.name for thread in threading.enumerate()}
    trained.clear()
    run_experiment(experiment, context)
    run_experiment(experiment, replace(context, data=tmp_path / "other", jobs=1))
    assert trained == []


def test_an_error_in_the_thread_leaves_the_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> Any:
        raise ValueError(f"cannot train {name}")

    monkeypatch.setattr(runner, "find_learner", fail)
    experiment = load_experiment(str(write_small_collection(tmp_path)))
    plan, timings = run_experiment(experiment, RunContext(tmp_path / "data", jobs=2, offline=True))
    assert timings.built["evaluate"] == len(plan.chains)
