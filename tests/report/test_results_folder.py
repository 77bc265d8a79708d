"""Committed results hold what cannot be computed in seconds or is read in a repository browser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
COMMITTED_SUFFIXES = {".json", ".md", ".svg"}
MAX_BYTES = 9_000_000


def list_committed_results() -> list[Path]:
    if shutil.which("git") is None or not (PROJECT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "results"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    return [PROJECT / name for name in listed.stdout.split("\0") if name]


def test_built_pages_and_pictures_are_not_committed() -> None:
    assert {path.suffix for path in list_committed_results()} <= COMMITTED_SUFFIXES


def test_committed_results_are_small() -> None:
    assert sum(path.stat().st_size for path in list_committed_results() if path.exists()) < MAX_BYTES


def test_each_committed_experiment_has_results_timings_and_tables() -> None:
    committed = set(list_committed_results())
    for path in committed:
        if path.name == "results.json":
            assert {path.with_name("timings.json"), path.with_name("table.md")} <= committed
