"""Two users share a data folder: permissions follow the umask, and what may not be read is neither used nor deleted."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.kills import load_everything
from tests.faults.workplace import Place, exit_code_of, textcat_in_child
from textcat.corpora.fetch.collection import install_folder
from textcat.store import Recipe, Store

NOBODY = 65534


@pytest.mark.parametrize("umask", [0o002, 0o022, 0o077])
def test_permissions_follow_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        made = Store(tmp_path / "cache").build(
            Recipe("a", 1), lambda folder: (folder / "file").write_text("x") and None
        )
        staging = Path(tempfile.mkdtemp(dir=tmp_path))
        (staging / "file").write_text("x")
        installed = install_folder(staging, tmp_path / "collection")
    finally:
        os.umask(before)
    for folder in (made.folder, made.folder.parent, installed):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o777 & ~umask
    lock = made.folder.with_name(f"{made.folder.name}.lock")
    for file in (made.folder / "file", made.folder / "manifest.json", lock):
        assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~umask


@pytest.fixture
def open_place(finished: Place) -> Iterator[Place]:
    """A finished place whose folders every user may enter."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        shutil.copytree(finished.folder, folder / "copy")
        (folder / "copy").chmod(0o755)
        yield Place(folder / "copy")
    finally:
        shutil.rmtree(folder)


def _run_as_other(place: Place, prepare: Callable[[], None] = lambda: None) -> tuple[int, str]:
    """Run the experiment as another user in a child process; return its exit code and what it said."""

    def become() -> None:
        prepare()
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    load_everything()
    log = place.folder / "log"
    code = exit_code_of(textcat_in_child(place.command("--offline"), log, become))
    return code, log.read_text()


def test_another_user_can_use_a_finished_cache(open_place: Place) -> None:
    """It can be read and not written; results go to another folder."""
    results = open_place.folder / "theirs"
    results.mkdir(mode=0o777)
    results.chmod(0o777)
    shutil.rmtree(open_place.results)
    open_place.results.symlink_to(results)
    code, said = _run_as_other(open_place)
    assert code == 0, said
    assert list(results.rglob("results.json"))


def test_what_another_user_may_not_read_is_left_alone(open_place: Place) -> None:
    victim = next((open_place.cache / "train").glob("*/manifest.json"))
    for shared in (open_place.cache / "train", open_place.results):
        for path in [shared, *shared.rglob("*")]:
            path.chmod(0o777)
    victim.chmod(0o600)
    before = victim.read_bytes()
    code, said = _run_as_other(open_place)
    assert code == 4, said
    assert "no permission to read this cache entry" in said
    assert "Traceback" not in said
    assert victim.read_bytes() == before


def test_another_user_builds_in_a_shared_folder(open_place: Place) -> None:
    """With a umask that lets the others write, both build and both hold the locks."""
    for path in [open_place.folder, *open_place.folder.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o666 | (0o111 if path.is_dir() else 0))
    shutil.rmtree(next((open_place.cache / "evaluate").glob("*/")))
    code, said = _run_as_other(open_place, lambda: os.umask(0) and None)
    assert code == 0, said
