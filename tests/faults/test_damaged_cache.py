"""What happens to a cache from outside is noticed, said, and mended, or refused in one message."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.conftest import textcat
from tests.faults.kills import unsound_artifacts
from tests.faults.workplace import Place


def truncated(path: Path, other: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path, other: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path, other: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(bytes(data))


def swapped(path: Path, other: Path) -> None:
    """Whole artifacts of one stage, exchanged."""
    aside = path.parent.with_name("aside")
    path.parent.rename(aside)
    other.parent.rename(path.parent)
    aside.rename(other.parent)


def replaced_by_pipe(path: Path, other: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replaced_by_link(path: Path, other: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def folder_replaced_by_file(path: Path, other: Path) -> None:
    for each in path.parent.iterdir():
        each.unlink()
    path.parent.rmdir()
    path.parent.write_text("no folder")


@pytest.mark.parametrize(
    "damage",
    [
        truncated,
        emptied,
        flipped,
        swapped,
        *(
            pytest.param(damage, marks=pytest.mark.slow)
            for damage in (replaced_by_pipe, replaced_by_link, folder_replaced_by_file)
        ),
    ],
)
def test_damaged_artifacts_are_said_and_rebuilt(
    copy_of: Callable[[], Place], finished: Place, damage: Callable[[Path, Path], None]
) -> None:
    place = copy_of()
    draw = random.Random(damage.__name__)
    for stage in ("tokenize", "vectorize", "train", "evaluate"):
        files = sorted(path for path in (place.cache / stage).rglob("*") if path.suffix in (".npy", ".json"))
        damaged = draw.choice(files)
        others = [path for path in files if path.parent != damaged.parent]
        if damage is not swapped or others:
            damage(damaged, draw.choice(others or files))
    done = textcat(*place.command())
    assert done.returncode == 0, done.stderr
    assert "is damaged" in done.stderr
    assert place.result_bytes() == finished.result_bytes()
    assert not unsound_artifacts(place.cache)
    assert not list(place.cache.rglob("*.part"))


def _one_message(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 4, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error in textcat" not in done.stderr
    for part in parts:
        assert part in done.stderr


def _mounted(folder: Path, *options: str) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_full_disk_is_one_message_and_the_rerun_finishes(
    copy_of: Callable[[], Place], finished: Place
) -> None:
    place = copy_of()
    for path in sorted(place.cache.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    if not _mounted(place.cache, "-o", "size=400k"):
        pytest.skip("no small disk can be mounted here (needs root)")
    try:
        _one_message(textcat(*place.command()), "cannot write: No space left", "finished work is kept")
        kept = {path for path in place.cache.glob("*/*/") if not path.name.startswith(".")}
        assert kept
        assert not unsound_artifacts(place.cache)
        subprocess.run(["mount", "-o", "remount,size=100m", str(place.cache)], check=True)
        assert textcat(*place.command()).returncode == 0
        assert place.result_bytes() == finished.result_bytes()
    finally:
        subprocess.run(["umount", str(place.cache)], check=False)


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from textcat.cli.main import main
main()
"""


def test_a_file_that_cannot_grow_is_one_message(copy_of: Callable[[], Place]) -> None:
    import sys

    place = copy_of()
    place.experiment.write_text(place.experiment.read_text() + "seed: 9\ntext: {lowercase: false}\n")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *place.command()],
        env={**os.environ, "NUMBA_DISABLE_JIT": "0", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    _one_message(done, "cannot write")


def test_a_read_only_cache_serves_what_it_holds(copy_of: Callable[[], Place], finished: Place) -> None:
    place = copy_of()
    bound = ["mount", "--bind", str(place.cache), str(place.cache)]
    if os.geteuid() != 0 or subprocess.run(bound, capture_output=True, check=False).returncode:
        pytest.skip("no folder can be made read-only here (needs root)")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place.cache)], check=True)
        (place.results / "stages" / "results.json").unlink()
        done = textcat(*place.command())
        assert done.returncode == 0, done.stderr
        assert place.result_bytes() == finished.result_bytes()
        place.experiment.write_text(place.experiment.read_text() + "text: {stem: porter_martin}\n")
        _one_message(textcat(*place.command()), "cannot write: Read-only file system")
    finally:
        subprocess.run(["umount", str(place.cache)], check=False)
