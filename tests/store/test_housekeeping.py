"""The artifacts of a cache: their sizes and experiments, and what may be deleted."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from textcat.store import Recipe, Store
from textcat.store.files import hold_lock
from textcat.store.housekeeping import (
    clear_artifacts,
    list_artifacts,
    read_uses,
    record_use,
    sum_sizes,
)

COUNTS = Recipe("tokenize", 1, {}, {"corpus": "c"})
FIRST = Recipe("train", 1, {"lam": 1}, {"counts": COUNTS.key})
SECOND = Recipe("train", 1, {"lam": 2}, {"counts": COUNTS.key})
BLOCK = Recipe("block", 1, {"first": 0}, {"train": SECOND.key})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two experiments that share their counts; the second has a block that no run recorded."""
    root = tmp_path / "cache"
    store = Store(root)
    for recipe, size in ((COUNTS, 1000), (FIRST, 200), (SECOND, 300), (BLOCK, 40)):
        store.build(recipe, lambda folder, size=size: _write(folder / "data", size))
    record_use(root, "one", [COUNTS.key, FIRST.key])
    record_use(root, "paper/two", [COUNTS.key, SECOND.key])
    return root


def _write(path: Path, size: int) -> None:
    path.write_bytes(b"x" * size)


def keys_in(root: Path) -> set[str]:
    return {artifact.key for artifact in list_artifacts(root)}


def test_sizes_are_by_stage_and_by_experiment(root: Path) -> None:
    found = list_artifacts(root)
    manifests = {each.key: (each.folder / "manifest.json").stat().st_size for each in found}
    assert sum_sizes(found, lambda each: [each.stage])["tokenize"] == (1, 1000 + manifests[COUNTS.key])
    assert sum_sizes(found, lambda each: each.experiments) == {
        "one": (2, 1200 + manifests[COUNTS.key] + manifests[FIRST.key]),
        "paper/two": (3, 1340 + sum(manifests[each.key] for each in (COUNTS, SECOND, BLOCK))),
    }


def test_an_experiment_is_cleared_without_what_others_use(root: Path) -> None:
    planned = clear_artifacts(root, experiment="paper/two", dry_run=True)
    assert keys_in(root) == {COUNTS.key, FIRST.key, SECOND.key, BLOCK.key}
    done = clear_artifacts(root, experiment="paper/two")
    assert (
        {each.key for each in done.deleted}
        == {each.key for each in planned.deleted}
        == {SECOND.key, BLOCK.key}
    )
    assert [each.key for each in done.shared] == [COUNTS.key]
    assert keys_in(root) == {COUNTS.key, FIRST.key}
    assert Store(root).find(COUNTS) is not None
    assert Store(root).find(SECOND) is None


def test_old_artifacts_are_cleared_by_the_time_of_building(root: Path) -> None:
    old = time.time() - 40 * 86400
    os.utime(Store(root).locate_artifact(FIRST) / "manifest.json", (old, old))
    done = clear_artifacts(root, older_than=30 * 86400)
    assert [each.key for each in done.deleted] == [FIRST.key]


def test_artifacts_of_a_running_experiment_are_kept(root: Path) -> None:
    with hold_lock(root / "train" / f"{SECOND.key}.lock"):
        done = clear_artifacts(root)
        assert {each.key for each in done.in_use} == {COUNTS.key, SECOND.key, BLOCK.key}
        assert keys_in(root) == {COUNTS.key, SECOND.key, BLOCK.key}
    clear_artifacts(root)
    assert not keys_in(root)


def test_folders_of_killed_builders_are_cleared_but_not_those_at_work(root: Path) -> None:
    folder = root / "train" / f".{SECOND.key}.0123456789abcdef.part"
    folder.mkdir()
    _write(folder / "half", 500)
    with hold_lock(root / "train" / f"{SECOND.key}.lock"):
        clear_artifacts(root)
        assert folder.exists()
    done = clear_artifacts(root)
    assert any(each.unfinished and each.bytes == 500 for each in done.deleted)
    assert not folder.exists()


def test_a_failure_is_one_message_and_the_rest_is_cleared(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def fail_once(self: Path, target: Path) -> Path:
        if self.name == FIRST.key:
            raise PermissionError(13, "Permission denied")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail_once)
    done = clear_artifacts(root)
    assert len(done.errors) == 1
    assert FIRST.key in done.errors[0]
    assert "Permission denied" in done.errors[0]
    assert keys_in(root) == {FIRST.key}


def test_records_add_up_and_damaged_ones_are_empty(root: Path) -> None:
    record_use(root, "one", ["new"])
    assert read_uses(root)["one"] == {COUNTS.key, FIRST.key, "new"}
    (root.parent / "cache-uses" / "one.json").write_text("{")
    assert read_uses(root)["one"] == frozenset()


def test_there_need_be_no_cache(tmp_path: Path) -> None:
    assert list_artifacts(tmp_path / "cache") == []
    assert clear_artifacts(tmp_path / "cache").deleted == []
