"""--quiet prints nothing on success, and colours are used on terminals only."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiment.small import write_small_collection

CALL = [sys.executable, "-c", "from textcat.cli.main import main; main()"]
ESCAPE = "\x1b["


def run_textcat(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    return subprocess.run(
        [*CALL, *arguments], capture_output=True, text=True, check=False, env=environment | settings
    )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small experiment with a model of each of its runs."""
    folder = tmp_path_factory.mktemp("quiet")
    write_small_collection(folder)
    done = run_textcat("train", str(folder / "trial.yaml"), "-q", *folder_options(folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def folder_options(folder: Path) -> list[str]:
    return ["--data", str(folder / "data"), "--results", str(folder / "results")]


@pytest.mark.parametrize("command", ["tokenize", "train", "run", "report"])
def test_stages_are_silent_on_success(command: str, workspace: Path) -> None:
    done = run_textcat(command, str(workspace / "trial.yaml"), "-q", *folder_options(workspace))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert run_textcat(command, str(workspace / "trial.yaml"), *folder_options(workspace)).stdout


@pytest.mark.slow
def test_the_matrix_is_silent(workspace: Path) -> None:
    done = run_textcat("report", "--matrix", "-q", *folder_options(workspace))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (workspace / "results" / "reproduction.html").is_file()


def test_a_passing_check_is_silent() -> None:
    # WebKB has one version; Reuters results may come from another copy than the pinned values.
    results = Path(__file__).resolve().parents[2] / "results" / "zhang_oles_2001" / "table5_webkb"
    done = run_textcat("check", str(results), "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert run_textcat("check", str(results)).stdout


def test_errors_are_printed(workspace: Path) -> None:
    done = run_textcat("run", "no_such_experiment", "-q")
    assert done.returncode == 2
    assert "there is no experiment" in done.stderr
    assert not done.stdout


@pytest.mark.parametrize("arguments", [["list", "corpora"], ["show", "--bibtex"]])
def test_requested_output_is_printed(arguments: list[str]) -> None:
    assert run_textcat(*arguments, "-q").stdout == run_textcat(*arguments).stdout != ""


def explain_arguments(workspace: Path) -> list[str]:
    return ["explain", str(workspace / "data" / "models" / "trial" / "logistic"), "-c", "grain"]


def test_pipes_have_no_colours(workspace: Path) -> None:
    done = run_textcat(*explain_arguments(workspace))
    assert "wheat" in done.stdout
    assert ESCAPE not in done.stdout + done.stderr


def test_terminals_have_colours_unless_no_color_is_set(workspace: Path) -> None:
    assert ESCAPE in run_on_terminal(*explain_arguments(workspace), TERM="xterm")
    plain = run_on_terminal(*explain_arguments(workspace), TERM="xterm", NO_COLOR="1")
    assert "wheat" in plain
    assert ESCAPE not in plain
    assert ESCAPE in run_on_terminal(*explain_arguments(workspace), TERM="xterm", NO_COLOR="")


def run_on_terminal(*arguments: str, **settings: str) -> str:
    """Return what the command writes to a terminal."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        os.execve(CALL[0], [*CALL, *arguments], environment | settings)
    written = b""
    try:
        while part := os.read(terminal, 1 << 16):
            written += part
    except OSError:
        pass
    os.waitpid(child, 0)
    return written.decode()
