"""The folder in which worker processes map shared arrays, and the end of workers whose parent was killed.

joblib writes large arrays to a folder in shared memory. A process that is killed with SIGKILL leaves the folder behind,
and workers that nobody stops: each worker therefore watches its parent, and each run removes folders that no running
process holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_PREFIX = "textcat-shared-"
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - folders in it are made by mkdtemp
# As joblib does: a container may have very little shared memory.
_LEAST_SHARED_MEMORY = 2_000_000_000
_SECONDS_BETWEEN_LOOKS = 1.0


def choose_root() -> Path:
    """Return the folder for shared arrays: JOBLIB_TEMP_FOLDER, the system's shared memory, or the temporary folder."""
    named = os.environ.get("JOBLIB_TEMP_FOLDER")
    if named:
        return Path(named)
    with suppress(OSError):
        facts = os.statvfs(_SHARED_MEMORY)
        if facts.f_frsize * facts.f_blocks > _LEAST_SHARED_MEMORY and os.access(_SHARED_MEMORY, os.W_OK):
            return _SHARED_MEMORY
    return Path(tempfile.gettempdir())


@contextmanager
def open_shared_folder() -> Iterator[Path]:
    """Yield a new folder that is locked during the block and removed after it."""
    root = choose_root()
    root.mkdir(parents=True, exist_ok=True)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        handle = _lock_folder(folder)
        # Another process may have taken the new folder for an abandoned one before it was locked.
        if handle is not None and folder.is_dir():
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def remove_abandoned_folders() -> None:
    """Remove the folders of processes that were killed: nobody holds their lock."""
    for folder in choose_root().glob(f"{_PREFIX}*"):
        handle = _lock_folder(folder)
        if handle is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _lock_folder(folder: Path) -> int | None:
    """Lock a folder and return its descriptor; return None if it is locked, gone or of another user."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@cache
def end_with_parent(parent: int) -> None:
    """Start a thread that ends this process soon after the process `parent`, which started it, is gone."""
    if parent != os.getpid():
        threading.Thread(target=_watch, args=(parent,), daemon=True, name="watch parent").start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)
