"""Every command of README.md and docs/ is run, in order, and prints what the page shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from functools import cache
from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT
from tests.documents.page import Step, steps

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
WITH_STEPS = [page for page in PAGES if any(steps(page))]
PROGRAM = f"""#!/bin/sh
exec "{sys.executable}" -c 'from textcat.cli.main import main; main()' "$@"
"""


@cache
def elsewhere() -> dict[str, str]:
    """Commands that others run."""
    text = (PROJECT / "tests" / "documents" / "elsewhere.yaml").read_text(encoding="utf-8")
    found: dict[str, str] = yaml.safe_load(text)
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def project(tmp_path: Path, data: Path) -> Iterator[Path]:
    """A place with the project's configs, results and pages, whose data folder all pages share."""
    for name in ("configs", "docs", "tests"):
        (tmp_path / name).symlink_to(PROJECT / name)
    shutil.copytree(
        PROJECT / "results", tmp_path / "results", ignore=shutil.ignore_patterns("*.svg", "*.png")
    )
    (tmp_path / "data").symlink_to(data)
    programs = tmp_path / ".programs"
    programs.mkdir()
    (programs / "textcat").write_text(PROGRAM)
    (programs / "textcat").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    yield tmp_path


@pytest.mark.parametrize("page", WITH_STEPS, ids=lambda page: str(page.relative_to(PROJECT)))
def test_page(page: Path, project: Path, mirror: Path) -> None:
    for step in steps(page):
        _take(step, project, mirror, f"{page.name}:{step.line}")


def _take(step: Step, place: Path, mirror: Path, where: str) -> None:
    if step.kind == "file":
        (place / step.name).parent.mkdir(parents=True, exist_ok=True)
        (place / step.name).write_text(step.text, encoding="utf-8")
    elif step.kind == "python":
        _run([sys.executable, "-c", step.text], place, mirror, where)
    elif step.text not in elsewhere():
        printed = _run(["bash", "-euo", "pipefail", "-c", step.text], place, mirror, where)
        if step.printed.strip():
            _compare(step.printed, printed, f"{where}: {step.text}")


def _run(command: list[str], place: Path, mirror: Path, where: str) -> str:
    environment = os.environ | {
        "PATH": f"{place / '.programs'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
        "TEXTCAT_MIRROR": str(mirror),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{where}: {command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def _compare(shown: str, printed: str, where: str) -> None:
    """The shown lines are what was printed; a line with "..." alone stands for any lines."""
    flags = ELLIPSIS | NORMALIZE_WHITESPACE
    same = OutputChecker().check_output(shown.strip() + "\n", printed.strip() + "\n", flags)
    assert same, f"{where}\nthe page shows:\n{shown}\nit printed:\n{printed[-3000:]}"


def test_commands_of_elsewhere_stand_in_the_documents() -> None:
    """A command that left the pages leaves the list too."""
    commands = {step.text for page in WITH_STEPS for step in steps(page) if step.kind == "command"}
    assert [command for command in elsewhere() if command not in commands] == []
