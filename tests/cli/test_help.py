"""Help is fast and complete; usage errors are one message and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.loops import for_each
from textcat.cli.main import COMMANDS, group, main
from textcat.cli.options import add_backend_options, add_work_options, read_command_settings

NO_NUMERICS = """
import sys
from textcat.cli.main import group
try:
    group.main(args=["--help"], prog_name="textcat")
except SystemExit:
    pass
heavy = {"numpy", "scipy", "numba", "matplotlib", "pydantic", "yaml", "joblib", "nltk"} & set(sys.modules)
sys.exit(f"imported {sorted(heavy)}" if heavy else 0)
"""


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", NO_NUMERICS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@for_each("command", list(COMMANDS))
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(group, [command, "--help"])
    assert result.exit_code == 0, result.output
    assert "Example:" in result.output
    assert f"textcat {command}" in result.output


THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@for_each(
    ("arguments", "expected"),
    [
        ([], {"jobs": os.cpu_count(), "quiet": False, "verbose": False, "offline": False, "dry_run": False}),
        (["--jobs", "3", "-q", "--dry-run"], {"jobs": 3, "quiet": True, "dry_run": True}),
        (["-vv", "--offline", "--backend", "dask"], {"verbose": True, "offline": True, "backend": "dask"}),
        (["--data", "a", "--mirror", "b"], {"data": Path("a"), "mirror": Path("b"), "backend": None}),
    ],
)
def test_shared_options_become_settings(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], expected: dict[str, object]
) -> None:
    for name in THREADS:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    found = []

    @click.command()
    @add_backend_options
    @add_work_options
    def command(**settings: object) -> None:
        found.append(read_command_settings(settings))

    assert CliRunner().invoke(command, arguments).exit_code == 0
    assert {name: getattr(found[0], name) for name in expected} == expected
    # BLAS keeps to --jobs; without the option it may use what it likes.
    given = str(expected["jobs"]) if "--jobs" in arguments else None
    assert {os.environ.get(name) for name in THREADS} == {given}


def run_and_get_exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


@for_each(
    ("arguments", "message"),
    [
        (["rum"], "Did you mean run?"),
        (["run"], "Give an experiment"),
        (["run", "reuters_modapt"], "Did you mean reuters_modapte?"),
        (["show", "nothing_of_the_kind"], "nothing is called"),
        (["run", "reuters_modapte", "--no-such-option"], "No such option"),
        (["fetch", "reuters"], "unknown collection"),
    ],
)
def test_usage_errors_exit_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_and_get_exit_code(*arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_missing_data_exits_with_3(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TEXTCAT_MIRROR", raising=False)
    assert run_and_get_exit_code("fetch", "reuters21578", "--offline", "--data", str(tmp_path)) == 3
    assert "--offline" in capsys.readouterr().err


def test_an_internal_error_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr("textcat.experiment.spec.loading.load_experiment", broken)
    assert run_and_get_exit_code("run", "reuters_modapte") == 4
    captured = capsys.readouterr()
    assert "ZeroDivisionError" in captured.err
    assert "Traceback" not in captured.err
