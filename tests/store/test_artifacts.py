"""Artifacts are whole or absent, verified when opened, built once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.loops import for_each
from textcat.errors import StageFailedError
from textcat.store import Recipe, Store
from textcat.store.artifacts import ARTIFACT_MANIFEST

RECIPE = Recipe("train", 1, {"lam": 0.1, "nested": {"a": [1, 2]}}, {"vectors": "abc"})


def writes(text: str):
    def make(folder: Path) -> None:
        (folder / "data.txt").write_text(text)

    return make


def test_an_artifact_is_built_once_and_found_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    calls = []
    for _ in range(3):
        artifact = store.build(RECIPE, lambda folder: (calls.append(1), writes("x")(folder))[1])
    assert calls == [1]
    assert (artifact.folder / "data.txt").read_text() == "x"
    assert Store(tmp_path).find(RECIPE) is not None


@for_each(
    "other",
    [
        Recipe("train", 2, RECIPE.parameters, RECIPE.inputs),
        Recipe("train", 1, {**RECIPE.parameters, "lam": 0.2}, RECIPE.inputs),
        Recipe("train", 1, RECIPE.parameters, {"vectors": "abd"}),
        Recipe("select", 1, RECIPE.parameters, RECIPE.inputs),
    ],
)
def test_everything_in_the_recipe_is_in_the_key(other: Recipe) -> None:
    assert other.key != RECIPE.key


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def remove(path: Path) -> None:
    path.unlink()


def add_foreign(path: Path) -> None:
    (path.parent / "foreign.bin").write_bytes(b"?")


@pytest.mark.parametrize("name", ["data.txt", ARTIFACT_MANIFEST])
@pytest.mark.parametrize("damage", [truncate, flip, remove, add_foreign])
def test_damage_is_noticed_and_rebuilt(tmp_path: Path, name: str, damage, caplog) -> None:
    folder = Store(tmp_path).build(RECIPE, writes("some contents")).folder
    damage(folder / name)
    store = Store(tmp_path)
    rebuilt = store.build(RECIPE, writes("some contents"))
    assert (rebuilt.folder / "data.txt").read_text() == "some contents"
    assert sorted(path.name for path in rebuilt.folder.iterdir()) == ["data.txt", ARTIFACT_MANIFEST]
    assert not list(tmp_path.rglob("*.part"))


def test_an_artifact_swapped_with_another_is_noticed(tmp_path: Path) -> None:
    other = Recipe("train", 1, {"lam": 9.0}, {})
    first = Store(tmp_path).build(RECIPE, writes("one")).folder
    second = Store(tmp_path).build(other, writes("two")).folder
    aside = tmp_path / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)
    store = Store(tmp_path)
    assert store.find(RECIPE) is None
    assert store.find(other) is None


def test_a_failure_is_not_cached_and_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def fails(folder: Path) -> None:
        (folder / "half.txt").write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.build(RECIPE, fails)
    assert store.find(RECIPE) is None
    assert not list(tmp_path.rglob("half.txt"))
    assert store.build(RECIPE, writes("ok")).folder.is_dir()


def test_threads_build_an_artifact_once(tmp_path: Path) -> None:
    calls = []

    def slow(folder: Path) -> None:
        calls.append(1)
        time.sleep(0.2)
        writes("x")(folder)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: Store(tmp_path).build(RECIPE, slow), range(6)))
    assert calls == [1]


KILLED = """
import sys, time
from pathlib import Path
from textcat.store import Recipe, Store
def make(folder):
    (folder / "data.txt").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
Store(Path(sys.argv[1])).build(Recipe("train", 1, {"lam": 0.1, "nested": {"a": [1, 2]}}, {"vectors": "abc"}), make)
"""


def test_a_killed_builder_leaves_no_lock_and_no_artifact(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    store = Store(tmp_path)
    assert store.find(RECIPE) is None
    started = time.monotonic()
    assert (store.build(RECIPE, writes("whole")).folder / "data.txt").read_text() == "whole"
    assert time.monotonic() - started < 5
    assert not list(tmp_path.rglob("*.part"))


def test_a_full_disk_is_one_message(tmp_path: Path) -> None:
    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(StageFailedError, match="No space left") as caught:
        Store(tmp_path).build(RECIPE, full)
    assert "finished work is kept" in str(caught.value)


def test_the_manifest_holds_the_recipe(tmp_path: Path) -> None:
    folder = Store(tmp_path).build(RECIPE, writes("x")).folder
    manifest = json.loads((folder / ARTIFACT_MANIFEST).read_text())
    assert manifest["recipe"] == RECIPE.as_dict()
    assert set(manifest["files"]) == {"data.txt"}
