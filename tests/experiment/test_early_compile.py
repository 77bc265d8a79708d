"""Kernels of learners are compiled while documents are read, and before training is timed."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.experiment.small import write_small_collection
from textcat.experiment.context import RunContext
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps import compile_early
from textcat.store.arrays import read_json


class NeverSet(threading.Event):
    """The run ends before the thread does: without this, some learners may be left out."""

    def set(self) -> None:
        """Set nothing."""


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The learners that are trained early, with the name of the thread."""
    found: list[tuple[str, str]] = []
    find = compile_early.find_learner

    def watched(name: str) -> Any:
        found.append((name, threading.current_thread().name))
        return find(name)

    monkeypatch.setattr(compile_early, "find_learner", watched)
    return found


def test_learners_with_kernels_are_trained_early_once_and_only_if_models_are_missing(
    tmp_path: Path, trained: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_early, "Event", NeverSet)
    experiment = load_experiment(str(write_small_collection(tmp_path)))
    context = RunContext(tmp_path / "data", jobs=2, offline=True)
    run_experiment(experiment, context)
    in_thread = [name for name, thread in trained if thread == "compile early"]
    assert in_thread == ["CLS", "CLG", "smo"]
    assert "compile early" not in {thread.name for thread in threading.enumerate()}
    trained.clear()
    run_experiment(experiment, context)
    assert trained == []
    run_experiment(experiment, replace(context, data=tmp_path / "other", jobs=1))
    assert "compile early" not in {thread for _, thread in trained}


def test_an_error_in_the_thread_leaves_the_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> Any:
        raise ValueError(f"cannot train {name}")

    monkeypatch.setattr(compile_early, "find_learner", fail)
    experiment = load_experiment(str(write_small_collection(tmp_path)))
    plan, timings = run_experiment(experiment, RunContext(tmp_path / "data", jobs=2, offline=True))
    assert timings.built["evaluate"] == len(plan.chains) + len(plan.intervals)


def measure_training(folder: Path, **settings: Any) -> dict[str, float]:
    """The processor seconds of each model."""
    context = RunContext(folder / "data", jobs=1, offline=True, **settings)
    plan, _ = run_experiment(load_experiment(str(write_small_collection(folder))), context)
    models = {chain.run: chain.trained.build_folder(context) for chain in plan.chains}
    return {run: read_json(model, "processor")["seconds"] for run, model in models.items()}


def test_training_time_holds_no_work_of_other_threads(tmp_path: Path) -> None:
    background = count(step=1000)
    seconds = measure_training(tmp_path, measure_background=lambda: float(next(background)))
    assert all(-1000 < value < -900 for value in seconds.values())
