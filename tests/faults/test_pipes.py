"""Pipes that close, streams that are not there, and text that would steer a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conftest import PROJECT
from tests.faults.conftest import COMMAND
from tests.serving.small_model import small_model
from textcat.cli.main import group
from textcat.serving.categorizer import write_categorizer

TEXTCAT = f'{sys.executable} -c "{COMMAND}"'


def shell(command: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        **more,
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_categorizer(tmp_path / "model", small_model())
    return tmp_path / "model"


@pytest.mark.parametrize("command", ["--help", "show --schema"])
def test_a_reader_that_ends_is_not_an_error(command: str) -> None:
    done = shell(f"{TEXTCAT} {command} | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode in (0, 141), done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["list experiments"])
def test_full_output_is_a_message(command: str) -> None:
    done = shell(f"{TEXTCAT} {command} > /dev/full")
    assert done.returncode == 4
    assert "No space left" in done.stderr
    assert "Exception ignored" not in done.stderr


def test_closed_output_is_a_message() -> None:
    done = shell(f"{TEXTCAT} list experiments >&-")
    assert done.returncode == 2
    assert "standard output is closed" in done.stderr


@pytest.mark.parametrize("command", ["predict {model}"])
def test_closed_input_is_a_message(model: Path, command: str) -> None:
    done = shell(f"{TEXTCAT} {command.format(model=model)} <&-")
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr


def test_closed_errors_do_no_harm(model: Path) -> None:
    done = shell(f"echo wheat | {TEXTCAT} predict {model} 2>&-")
    assert done.returncode == 0
    assert done.stdout.startswith('{"id": "1"')


HOSTILE = "wheat \x1b]0;owned\x07 \x1b[2J \x9b31m \u202egnp.exe\u202c corn"


def test_explain_shows_control_characters(model: Path, tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text(f"first\tline\n{HOSTILE}\r\n")
    result = CliRunner().invoke(group, ["explain", str(model), str(tmp_path / "story.txt"), "-c", "grain"])
    assert result.exit_code == 0, result.output
    assert not set(result.stdout) & set("\x1b\x07\x9b\u202e\u202c\r")
    assert "[+wheat] ␛]0;owned␇" in result.stdout
    assert "first\tline\n" in result.stdout


@pytest.mark.parametrize(
    ("name", "broken"),
    [("new.jsonl", "[1]"), ("new.jsonl", '{"other": 1}'), ("new.jsonl", '{"body": '), ("new.csv", "a,b,c")],
)
def test_broken_documents_are_skipped_and_counted(
    model: Path, tmp_path: Path, name: str, broken: str
) -> None:
    good = ["wheat,1"] * 3 if name.endswith("csv") else ['{"body": "wheat"}'] * 3
    head = ["body,id"] if name.endswith("csv") else []
    (tmp_path / name).write_text("\n".join([*head, *good, broken, *good, broken]) + "\n")
    done = shell(f"{TEXTCAT} predict {model} {tmp_path / name} --on-error skip")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 6
    assert f"{name}:{4 + len(head)}" in done.stderr
    assert "2 documents were skipped" in done.stderr
