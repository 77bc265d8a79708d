"""Writing so that a file is either whole or not there, and hashing what stands on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from textcat.errors import StageFailedError


def sha256_of(path: Path) -> str:
    """The sha256 of a file's bytes, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def synchronise(path: Path) -> None:
    """Ask the system to put a file or folder on the disk itself."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name, then move it into place; nothing half-written is ever seen."""
    with written_whole(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """A stream whose file is moved into place when the block has ended well, and is gone when it has not."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def cannot_write(path: Path, error: OSError) -> StageFailedError:
    """The one message for a disk that is full, a folder that is read-only and the like."""
    return StageFailedError(
        f"cannot write: {error.strerror or error}",
        where=str(path),
        hint="Free space or make the folder writable, then run the command again; finished work is kept.",
    )


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
