"""A small experiment, carried out once; tests work on copies of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.faults.workplace import Place, make_place

COMMAND = "from textcat.cli.main import main; main()"


def textcat(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=PROJECT,
        env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The experiment with its cache and results; not to be changed."""
    place = make_place(tmp_path_factory.mktemp("finished"))
    done = textcat(*place.command())
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def copy_of(finished: Place, tmp_path: Path) -> Callable[[], Place]:
    """Makes places like the finished one."""

    def copy() -> Place:
        place = Place(tmp_path / "copy")
        shutil.copytree(finished.folder, place.folder)
        return place

    return copy
