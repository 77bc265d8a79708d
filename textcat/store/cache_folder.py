"""Measure and clear a cache, but not while a command works with it."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from textcat.errors import StageFailedError
from textcat.store.artifacts import ARTIFACT_MANIFEST
from textcat.store.files import make_write_error


@dataclass(frozen=True)
class StoredArtifact:
    """The folder of an artifact, or what a killed builder left of one; `built` is in seconds since 1970."""

    folder: Path
    bytes: int
    built: float

    @property
    def stage(self) -> str:
        """The stage that made it."""
        return self.folder.parent.name


@contextmanager
def use_cache(root: Path) -> Iterator[None]:
    """Keep `clear_artifacts` of other processes away during the block."""
    handle = _open_lock(root)
    try:
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _open_lock(root: Path) -> int | None:
    """Open the lock file beside a cache; return None where no file can be made."""
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        return os.open(root.with_name(f".{root.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None


def list_artifacts(root: Path) -> list[StoredArtifact]:
    """Return the artifacts of a cache by stage and key; a file that several share is counted once."""
    counted: set[tuple[int, int]] = set()
    return [
        _measure_artifact(folder, counted) for stage in _list_folders(root) for folder in _list_folders(stage)
    ]


def _list_folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())


def _measure_artifact(folder: Path, counted: set[tuple[int, int]]) -> StoredArtifact:
    size, built = 0, 0.0
    for path in (folder, *folder.rglob("*")):
        try:
            facts = path.lstat()
        except FileNotFoundError:
            continue
        if path == folder or path.name == ARTIFACT_MANIFEST:
            built = facts.st_mtime
        if path.is_file() and (facts.st_dev, facts.st_ino) not in counted:
            counted.add((facts.st_dev, facts.st_ino))
            size += facts.st_size
    return StoredArtifact(folder, size, built)


def clear_artifacts(root: Path, older_than: float = 0.0, *, dry_run: bool = False) -> list[StoredArtifact]:
    """Delete the artifacts that were built more than `older_than` seconds ago; return them.

    Raise StageFailedError if a command works with this cache.
    """
    handle = None if dry_run or not root.is_dir() else _open_lock(root)
    try:
        if handle is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        before = time.time() - older_than
        chosen = [artifact for artifact in list_artifacts(root) if artifact.built <= before]
        for artifact in chosen if not dry_run else ():
            shutil.rmtree(artifact.folder)
        return chosen
    except BlockingIOError as error:
        raise StageFailedError(
            "a command is working with this cache, so nothing was deleted",
            where=str(root),
            hint="Wait until it has finished, or stop it.",
        ) from error
    except OSError as error:
        raise make_write_error(Path(error.filename or root), error) from error
    finally:
        if handle is not None:
            os.close(handle)
