"""Experiment files are read over the files they extend, and faults are reported with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from textcat.errors import UsageError
from textcat.experiment.spec.loading import read_experiment_source


def test_a_file_of_another_kind_is_refused_for_its_size(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_text("# " + "x" * 1_000_000)
    with pytest.raises(UsageError, match="longer than"):
        read_experiment_source(tmp_path / "big.yaml")


def test_extending_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("extends: two.yaml\n")
    (tmp_path / "two.yaml").write_text("extends: one.yaml\n")
    with pytest.raises(UsageError, match="circle"):
        read_experiment_source(tmp_path / "one.yaml")


def test_extending_what_is_not_there_points_at_the_line(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("a: 1\nextends: none.yaml\n")
    with pytest.raises(UsageError, match="no file"):
        read_experiment_source(tmp_path / "one.yaml")
