"""A killed run loses nothing: the next one ends as if nothing had happened."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import PROJECT


def test_killed_runs_are_survived() -> None:
    command = [sys.executable, "-m", "tests.faults.kills", "--kills", "6", "--seed", "7"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mismatches 0" in done.stdout.splitlines()[-2]
