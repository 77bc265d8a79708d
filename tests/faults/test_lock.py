"""The lock file of continuous integration: everything pinned, hashed, and from no named place."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.conftest import PROJECT

LOCK = (PROJECT / ".ci" / "requirements.txt").read_text(encoding="utf-8")
ENTRIES = re.split(r"\n(?=\S)", LOCK.strip())


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found
    return found[0].lower().replace("_", "-")


def _lines(path: str) -> list[str]:
    return (PROJECT / path).read_text(encoding="utf-8").split()


def test_every_entry_is_pinned_and_hashed() -> None:
    for entry in ENTRIES:
        assert re.match(r"[a-z0-9.-]+(\[[a-z,]+\])?==\S+", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_no_place_is_named() -> None:
    assert "://" not in LOCK
    assert "index" not in LOCK


def test_all_dependencies_are_locked() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *_lines(".ci/build.txt")]
    for extra in ("test", "lint"):
        wanted += project["optional-dependencies"][extra]
    assert {_name(each) for each in wanted} <= {_name(each) for each in ENTRIES}


def test_what_builds_the_project_is_locked_too() -> None:
    """Nothing is fetched to build it: the build's own requirements are among those of .ci/build.txt."""
    system = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert set(system["requires"]) <= set(_lines(".ci/build.txt"))


PIP = """#!/usr/bin/env bash
case "$*" in
    *--require-hashes*) echo "$SAYS" >&2; exit 1;;
    *) echo "$*";;
esac
"""


@pytest.mark.parametrize(
    ("says", "code", "said"),
    [
        ("ERROR: No matching distribution found for numpy==99", 0, "NOT LOCKED"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", 1, "DO NOT MATCH"),
    ],
)
def test_a_missing_version_is_said_and_a_false_hash_stops(
    tmp_path: Path, says: str, code: int, said: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(PIP)
    (programs / "python").chmod(0o755)
    command = [str(PROJECT / ".ci" / "install"), str(programs)]
    done = subprocess.run(
        command, env={**os.environ, "SAYS": says}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert ("-e .[test,lint]" in done.stdout) == (code == 0)
    assert (tmp_path / ".not-locked").exists() == (code == 0)
