"""Write files atomically, hash them, and lock them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from textcat.errors import StageFailedError


def hash_file(path: Path) -> str:
    """The sha256 of a file's bytes, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def flush_to_disk(path: Path) -> None:
    """Ask the system to put a file or folder on the disk itself."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name, then move it into place; nothing half-written is ever seen."""
    with open_atomically(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """A stream whose file is moved into place when the block has ended well, and is gone when it has not."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise make_write_error(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_read_umask())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise make_write_error(path, error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def make_write_error(path: Path, error: OSError) -> StageFailedError:
    """The one message for a disk that is full, a folder that is read-only and the like."""
    return StageFailedError(
        f"cannot write: {error.strerror or error}",
        where=str(path),
        hint="Free space or make the folder writable, then run the command again; finished work is kept.",
    )


def _read_umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


log = logging.getLogger(__name__)


@contextmanager
def hold_lock(path: Path, *, patience: float = 24 * 3600.0) -> Iterator[None]:
    """Hold the lock at `path`; say who has it while waiting. The system frees a dead owner's lock."""
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _acquire(lock, path, patience)
    except OSError as error:
        raise make_write_error(path, error) from error
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
        raise make_write_error(folder, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _acquire(lock: FileLock, path: Path, patience: float) -> None:
    try:
        lock.acquire(timeout=2.0)
    except Timeout:
        log.warning("waiting for %s", describe_lock_owner(path))
        lock.acquire(timeout=patience)


def describe_lock_owner(path: Path) -> str:
    """Who holds a lock and since when, as far as its owner file says."""
    try:
        facts = json.loads(path.with_suffix(".owner").read_text())
        age = int(time.time()) - int(facts["since"])
        owner = f"process {facts['process']} on {facts['host']}, at it for {age} s"
    except (OSError, ValueError, KeyError, TypeError):
        owner = "another process"
    return f"{owner} (artifact {path.stem[:12]})"


@contextmanager
def hold_simple_lock(path: Path) -> Iterator[None]:
    """Hold the lock at `path`, waiting for another process to finish."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
