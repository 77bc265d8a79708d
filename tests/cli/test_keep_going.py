"""`textcat run --keep-going`: the exit code tells missing data from a failure."""

from __future__ import annotations

from collections.abc import Sequence

import click
import pytest
from click.testing import CliRunner

from tests.loops import for_each
from textcat.cli import stage_commands
from textcat.cli.main import group
from textcat.errors import DataNotAvailableError, StageFailedError, UsageError

ERRORS = {
    "missing": DataNotAvailableError("no data"),
    "failed": StageFailedError("no success"),
    "wrong": UsageError("no such key"),
}


@for_each(
    ("experiments", "code"),
    [
        (["fine", "fine"], 0),
        (["missing", "fine"], 3),
        (["missing", "failed"], 4),
        (["failed", "missing"], 4),
        (["missing", "wrong", "failed"], 2),
    ],
)
def test_missing_data_does_not_hide_a_failure(
    experiments: Sequence[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def run_one(name: str, *_: object, **__: object) -> None:
        ran.append(name)
        if name.rstrip("0123456789") in ERRORS:
            raise ERRORS[name.rstrip("0123456789")]

    monkeypatch.setattr(stage_commands, "_run_experiment", run_one)
    names = [f"{name}{number}" for number, name in enumerate(experiments)]
    result = CliRunner().invoke(group, ["run", "--keep-going", *names], standalone_mode=False)
    assert not isinstance(result.exception, click.ClickException)
    assert result.return_value == code
    assert ran == names


def test_a_message_names_its_experiment_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_one(name: str, *_: object, **__: object) -> None:
        raise DataNotAvailableError("no data", where=name if name == "named" else "file.csv")

    monkeypatch.setattr(stage_commands, "_run_experiment", run_one)
    result = CliRunner().invoke(group, ["run", "--keep-going", "named", "other"], standalone_mode=False)
    assert result.stderr.splitlines() == ["named: no data", "other: file.csv: no data"]
