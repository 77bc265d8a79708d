"""A model directory is replaced in one step: killed at any change to a file, the old or the new one is there."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.kills import die_at
from tests.faults.workplace import exit_code_of
from tests.serving.small_model import small_model
from textcat.errors import StageFailedError
from textcat.serving.categorizer import read_categorizer
from textcat.serving.export import replace_model

OLD = small_model()
NEW = replace(OLD, experiment="new")


def is_killed_at(number: int, folder: Path) -> bool:
    """Replace the model in a child that is killed at a change to a file; return whether it came that far."""
    child = os.fork()
    if child:
        return exit_code_of(child) == -signal.SIGKILL
    try:
        die_at(number, folder.parent)
        replace_model(folder, NEW)
        os._exit(0)
    finally:
        os._exit(99)


def test_a_model_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    replace_model(folder, OLD)
    kills = 0
    while is_killed_at(kills + 1, folder):
        kills += 1
        assert read_categorizer(folder).experiment in (OLD.experiment, NEW.experiment)
        replace_model(folder, OLD)
        assert read_categorizer(folder).experiment == OLD.experiment
        assert not list(tmp_path.glob("*.part"))
        assert not list(tmp_path.glob(".*.part"))
    assert kills > 10
    assert read_categorizer(folder).experiment == NEW.experiment


def test_a_folder_that_cannot_be_written_is_an_error_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StageFailedError) as caught:
        replace_model(tmp_path / "file" / "run", OLD)
    assert str(tmp_path / "file") in caught.value.where
