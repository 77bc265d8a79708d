"""One builder an artifact: a lock file that names its owner and frees itself when the owner dies."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from textcat.store.files import cannot_write

log = logging.getLogger(__name__)


@contextmanager
def held(path: Path, *, patience: float = 24 * 3600.0) -> Iterator[None]:
    """Hold the lock at `path`; say who has it while waiting. The system frees a dead owner's lock."""
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(lock, path, patience)
    except OSError as error:
        raise cannot_write(path, error) from error
    owner = path.with_suffix(".owner")
    try:
        owner.write_text(
            json.dumps({"process": os.getpid(), "host": socket.gethostname(), "since": int(time.time())})
        )
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


@contextmanager
def folder_held(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder itself, which leaves no file in it; wait for another holder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _acquire(lock: FileLock, path: Path, patience: float) -> None:
    try:
        lock.acquire(timeout=2.0)
    except Timeout:
        log.warning("waiting for %s", owner_of(path))
        lock.acquire(timeout=patience)


def owner_of(path: Path) -> str:
    """Who holds a lock and since when, as far as its owner file says."""
    try:
        facts = json.loads(path.with_suffix(".owner").read_text())
        age = int(time.time()) - int(facts["since"])
        owner = f"process {facts['process']} on {facts['host']}, at it for {age} s"
    except (OSError, ValueError, KeyError, TypeError):
        owner = "another process"
    return f"{owner} (artifact {path.stem[:12]})"
