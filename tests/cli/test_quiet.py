"""For cron and for pipes: --quiet says nothing when all is well, and colours stay on terminals."""

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


def called(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    return subprocess.run(
        [*CALL, *arguments], capture_output=True, text=True, check=False, env=environment | settings
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small experiment with a model of each of its runs."""
    folder = tmp_path_factory.mktemp("quiet")
    write_small_collection(folder)
    done = called("train", str(folder / "trial.yaml"), "-q", *where(folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def where(folder: Path) -> list[str]:
    return ["--data", str(folder / "data"), "--results", str(folder / "results")]


@pytest.mark.parametrize("command", ["tokenize", "select", "train", "evaluate", "run", "report"])
def test_work_that_goes_well_is_silent(command: str, place: Path) -> None:
    done = called(command, str(place / "trial.yaml"), "-q", *where(place))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert called(command, str(place / "trial.yaml"), *where(place)).stdout


def test_the_matrix_and_stand_ins_are_silent_too(place: Path) -> None:
    done = called("report", "--matrix", "-q", *where(place))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (place / "results" / "reproduction.html").is_file()
    done = called("generate", "rcv1-like", "--documents", "50", "--to", str(place / "made"), "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_gate_that_passes_is_silent() -> None:
    # Of WebKB there is one copy; those of Reuters may have been made anew from another than the pinned values.
    results = Path(__file__).resolve().parents[2] / "results" / "zhang_oles_2001" / "table5_webkb"
    done = called("check", str(results), "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert called("check", str(results)).stdout


def test_what_goes_wrong_is_said_all_the_same(place: Path) -> None:
    done = called("run", "no_such_experiment", "-q")
    assert done.returncode == 2
    assert "there is no experiment" in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    "arguments", [["list", "corpora"], ["cite"], ["show", "CLG"], ["completion", "bash"]]
)
def test_what_is_asked_for_is_printed_all_the_same(arguments: list[str]) -> None:
    assert called(*arguments, "-q").stdout == called(*arguments).stdout != ""


def explained(place: Path) -> list[str]:
    return ["explain", str(place / "data" / "models" / "trial" / "logistic"), "-c", "grain"]


def test_pipes_get_no_colours(place: Path) -> None:
    done = called(*explained(place))
    assert "wheat" in done.stdout
    assert ESCAPE not in done.stdout + done.stderr


def test_terminals_get_colours_unless_no_color_is_set(place: Path) -> None:
    assert ESCAPE in on_terminal(*explained(place), TERM="xterm")
    plain = on_terminal(*explained(place), TERM="xterm", NO_COLOR="1")
    assert "wheat" in plain
    assert ESCAPE not in plain
    assert ESCAPE in on_terminal(*explained(place), TERM="xterm", NO_COLOR="")


def on_terminal(*arguments: str, **settings: str) -> str:
    """What the command writes to a terminal."""
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
