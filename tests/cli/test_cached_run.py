"""A run from the cache says so, and `train` prints model directories."""

from __future__ import annotations

import pytest

from tests.experiment.place import Place
from textcat.experiment.run.runner import Timings


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("cached"))


def test_a_cached_run_says_so_and_repeats_no_times(place: Place) -> None:
    first = place.textcat("run", str(place.experiment))
    assert "train " in first.split("Time: ")[1]
    assert "from the cache" not in first.split("Time: ")[1]
    again = place.textcat("run", str(place.experiment)).split("Time: ")[1].splitlines()[0]
    assert again.startswith("all stages from the cache, built on 20")
    assert " s" not in again.removeprefix("all stages")


def test_train_prints_models_and_with_v_the_artifacts(place: Place) -> None:
    printed = place.textcat("train", str(place.experiment))
    models = place.data / "models" / "trial"
    assert f"model: {models / 'logistic'}" in printed
    assert "cache/" not in printed.replace(str(models), "")
    assert str(place.data / "cache" / "train") in place.textcat("train", str(place.experiment), "-v")


def test_time_of_a_part_is_told_from_the_cache() -> None:
    timings = Timings()
    timings.note("tokenize", 7.0, was_ready=True, built_at=0.0)
    timings.note("train", 3.0, was_ready=True, built_at=86400.0 * 365)
    timings.note("train", 2.0, was_ready=False)
    assert timings.summary.startswith("Time: train 2.0 s  (from the cache, built until 1971-01-01")
    assert timings.summary.endswith("tokenize, part of train)")
    assert timings.seconds == {"tokenize": 7.0, "train": 5.0}
