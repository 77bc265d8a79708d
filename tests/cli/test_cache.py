"""`textcat cache`: sizes, and what clearing leaves."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.experiment.place import Place
from tests.loops import for_each
from textcat.cli.main import group
from textcat.cli.options import CommandSettings, start_context
from textcat.errors import StageFailedError
from textcat.store import Recipe, Store
from textcat.store.cache_folder import clear_artifacts, list_artifacts


def cache(data: Path, *arguments: str) -> str:
    result = CliRunner().invoke(group, ["cache", "--data", str(data), *arguments], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.output


def test_sizes_and_clear(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.textcat("evaluate", str(place.experiment))
    sizes = json.loads(cache(place.data, "--json"))
    assert {stage: sums["artifacts"] for stage, sums in sizes["stages"].items()} == place.stages()
    assert f"{sizes['artifacts']} artifacts, " in cache(place.data)
    assert f"Would delete {sizes['artifacts']} artifacts" in cache(place.data, "clear", "--all", "--dry-run")
    assert "Deleted 0 artifacts" in cache(place.data, "clear", "--older-than", "1h")
    assert json.loads(cache(place.data, "--json")) == sizes
    assert f"Deleted {sizes['artifacts']} artifacts" in cache(place.data, "clear", "--all")
    assert json.loads(cache(place.data, "--json"))["bytes"] == 0
    assert "to do" in place.textcat("evaluate", str(place.experiment), "--dry-run")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder whose cache has two artifacts; one was built forty days ago."""
    store = Store(tmp_path / "cache")
    for lam in (1, 2):
        store.build(Recipe("train", 1, {"lam": lam}), lambda folder: _write(folder, 1000))
    old = time.time() - 40 * 86400
    os.utime(list_artifacts(store.root)[0].folder / "manifest.json", (old, old))
    return tmp_path


def _write(folder: Path, size: int) -> None:
    (folder / "data").write_bytes(b"x" * size)


def test_old_artifacts_are_cleared_by_the_time_of_building(data: Path) -> None:
    first, second = list_artifacts(data / "cache")
    assert clear_artifacts(data / "cache", 30 * 86400) == [first]
    assert list_artifacts(data / "cache") == [second]


def test_what_a_killed_builder_left_is_cleared(data: Path) -> None:
    folder = data / "cache" / "train" / ".0123.89abcdef.part"
    folder.mkdir()
    _write(folder, 500)
    assert folder in [artifact.folder for artifact in clear_artifacts(data / "cache")]
    assert not list_artifacts(data / "cache")


def test_nothing_is_cleared_while_a_command_works(data: Path) -> None:
    before = list_artifacts(data / "cache")
    with start_context(CommandSettings(data)), pytest.raises(StageFailedError, match="is working"):
        cache(data, "clear", "--all")
    assert list_artifacts(data / "cache") == before
    cache(data, "clear", "--all")
    assert not list_artifacts(data / "cache")


@for_each(
    ("arguments", "message"),
    [
        (["clear"], "Give --older-than or --all"),
        (["clear", "--all", "--older-than", "3d"], "Give --older-than or --all"),
        (["clear", "--older-than", "soon"], "30d"),
    ],
)
def test_usage(tmp_path: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(click.UsageError, match=message):
        cache(tmp_path, *arguments)
