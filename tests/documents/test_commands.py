"""Run every command of README.md and docs/ in order, and compare its output with the page."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT
from tests.documents.page import PAGES, Step, read_steps

# Pages whose commands take longest; those that a new user reads first are always run.
SLOW = {
    f"docs/{name}.md" for name in ("decisions", "tuning", "models", "scikit-learn", "workers", "dev/adding")
}
PAGES_WITH_STEPS = [
    pytest.param(page, marks=[pytest.mark.slow] if name in SLOW else [], id=name)
    for page in PAGES
    if any(read_steps(page))
    for name in [str(page.relative_to(PROJECT))]
]
PROGRAM = f"""#!/bin/sh
exec "{sys.executable}" -c 'from textcat.cli.main import main; main()' "$@"
"""


@cache
def load_commands_run_by_others() -> dict[str, str]:
    text = (PROJECT / "tests" / "documents" / "run_by_others.yaml").read_text(encoding="utf-8")
    commands: dict[str, str] = yaml.safe_load(text)
    return commands


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def project(tmp_path: Path, data: Path) -> Path:
    """A folder with the project's configs, results and pages. All pages share one data folder."""
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
    return tmp_path


@pytest.mark.parametrize("page", PAGES_WITH_STEPS)
def test_page(page: Path, project: Path, mirror: Path) -> None:
    for step in read_steps(page):
        _take_step(step, project, mirror, f"{page.name}:{step.line}")


@pytest.mark.parametrize(
    "step",
    [
        step
        for page in PAGES
        for step in read_steps(page)
        if step.kind == "file" and step.name.endswith(".py")
    ],
    ids=lambda step: step.name,
)
def test_programs_that_are_not_run_import_names_that_exist(step: Step) -> None:
    imports = [node for node in ast.walk(ast.parse(step.text)) if isinstance(node, ast.ImportFrom)]
    for node in imports:
        module = import_module(str(node.module))
        assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def _take_step(step: Step, folder: Path, mirror: Path, where: str) -> None:
    if step.kind == "file":
        (folder / step.name).parent.mkdir(parents=True, exist_ok=True)
        (folder / step.name).write_text(step.text, encoding="utf-8")
    elif step.kind == "python":
        _run([sys.executable, "-c", step.text], folder, mirror, where)
    elif step.text not in load_commands_run_by_others():
        printed = _run(["bash", "-euo", "pipefail", "-c", step.text], folder, mirror, where)
        if step.printed.strip():
            _compare_output(step.printed, printed, f"{where}: {step.text}")


def _run(command: list[str], folder: Path, mirror: Path, where: str) -> str:
    environment = os.environ | {
        "PATH": f"{folder / '.programs'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
        "TEXTCAT_MIRROR": str(mirror),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{where}: {command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def _compare_output(shown: str, printed: str, where: str) -> None:
    """Fail unless the shown lines match the output; "..." matches any text."""
    flags = ELLIPSIS | NORMALIZE_WHITESPACE
    same = OutputChecker().check_output(shown.strip() + "\n", printed.strip() + "\n", flags)
    assert same, f"{where}\nthe page shows:\n{shown}\nthe command printed:\n{printed[-3000:]}"


def test_commands_run_by_others_are_in_the_documents() -> None:
    commands = {step.text for page in PAGES for step in read_steps(page) if step.kind == "command"}
    assert [command for command in load_commands_run_by_others() if command not in commands] == []
