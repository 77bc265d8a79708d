"""`make reproduce-tables` runs, reports and checks; it fails when an experiment or the check fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import PROJECT

FAKE = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
case "$1" in run) exit {run};; check) exit {check};; esac
"""


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("run", "check", "succeeds", "calls"),
    [
        (0, 0, True, ["run --all --keep-going --at-once 2", "report --matrix", "check"]),
        (3, 0, True, ["run --all --keep-going --at-once 2", "report --matrix", "check"]),
        (4, 0, False, ["run --all --keep-going --at-once 2"]),
        (2, 0, False, ["run --all --keep-going --at-once 2"]),
        (0, 1, False, ["run --all --keep-going --at-once 2", "report --matrix", "check"]),
    ],
)
def test_reproduce_tables(run: int, check: int, succeeds: bool, calls: list[str], tmp_path: Path) -> None:
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("textcat", "python"):
        (programs / name).write_text(FAKE.format(run=run, check=check))
        (programs / name).chmod(0o755)
    (tmp_path / "venv" / ".ready").touch()
    command = ["make", "-C", str(PROJECT), f"VENV={tmp_path / 'venv'}"]
    generated = tmp_path / "generated"
    command += [f"GENERATED={generated}", "reproduce-tables"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == succeeds, done.stderr
    generate = f"-m benchmarks.generate rcv1-like --documents 205000 --training 5000 --to {generated}"
    assert (programs / "calls").read_text().splitlines() == [generate, *calls]


def test_readme_is_a_screen() -> None:
    assert len((PROJECT / "README.md").read_text(encoding="utf-8").splitlines()) < 120
