"""`textcat cache` after a run: sizes, list, and what clearing leaves."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.experiment.place import Place
from textcat.cli.cache_command import format_bytes
from textcat.cli.main import group
from textcat.errors import UsageError


def cache(place: Place, *arguments: str, expect: int = 0) -> str:
    where = ["cache", "--data", str(place.data), *arguments]
    result = CliRunner().invoke(group, where, standalone_mode=False)
    if result.exception:
        raise result.exception
    assert (result.return_value or 0) == expect, result.output
    return result.output


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("cache"))
    place.textcat("evaluate", str(place.experiment))
    return place


def test_sizes_list_and_clear(place: Place) -> None:
    sizes = json.loads(cache(place, "--json"))
    assert {stage: sums["artifacts"] for stage, sums in sizes["stages"].items()} == place.stages()
    assert sizes["experiments"] == {"trial": {"artifacts": sizes["artifacts"], "bytes": sizes["bytes"]}}
    assert "trial" in cache(place)
    assert len(json.loads(cache(place, "list", "--json"))) == sizes["artifacts"]
    assert len(cache(place, "list", "--experiment", "trial").splitlines()) == sizes["artifacts"]

    assert f"Would delete {sizes['artifacts']} artifacts" in cache(place, "clear", "--all", "--dry-run")
    assert "Deleted 0 artifacts" in cache(place, "clear", "--older-than", "1h")
    assert json.loads(cache(place, "--json"))["bytes"] == sizes["bytes"]
    done = json.loads(cache(place, "clear", "--experiment", "trial", "--json"))
    assert done["bytes"] == sizes["bytes"]
    assert json.loads(cache(place, "--json"))["artifacts"] == 0
    assert "to do" in place.textcat("evaluate", str(place.experiment), "--dry-run")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["clear"], "Give --experiment"),
        (["clear", "--all", "--experiment", "trial"], "Give --experiment"),
        (["clear", "--older-than", "soon"], "30d"),
    ],
)
def test_usage(place: Place, arguments: list[str], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        cache(place, *arguments)


def test_an_unknown_experiment_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.textcat("tokenize", str(place.experiment))
    with pytest.raises(UsageError, match="Did you mean trial"):
        cache(place, "clear", "--experiment", "trail")


@pytest.mark.parametrize(
    ("size", "text"), [(999, "999 B"), (1500, "1.5 kB"), (5_300_000_000, "5.3 GB"), (999_900, "1.0 MB")]
)
def test_bytes_are_readable(size: int, text: str) -> None:
    assert format_bytes(size) == text
