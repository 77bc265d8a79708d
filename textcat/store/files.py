"""Write files atomically, hash them, flush them to disk, lock files and folders, replace folders, parse JSON.

A folder is replaced by another so that a killed process leaves one of the two, whole, under the folder's name.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import logging
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from textcat.errors import StageFailedError

log = logging.getLogger(__name__)

SECONDS_BEFORE_WAIT_MESSAGE = 2.0


class RepeatedKeyError(ValueError):
    """A key is given twice in an object of JSON; Python's reader takes the last value."""


def make_json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON as a dictionary; raise RepeatedKeyError for a key that is given twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for place, name in enumerate(names) if name in names[:place])
        raise RepeatedKeyError(f"the key {repeated!r} is given twice")
    return found


def parse_json(text: str) -> Any:
    """Return the data of a JSON text; raise ValueError if it is not JSON or gives a key twice."""
    return json.loads(text, object_pairs_hook=make_json_object)


def hash_file(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def flush_to_disk(path: Path) -> None:
    """Flush a file or folder from the system's cache to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name, then rename it, so that no reader sees it half-written."""
    with open_atomically(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a temporary file; rename it to `path` if the block succeeds, else delete it."""
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
        grant_access(temporary, 0o666)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise make_write_error(path, error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a path that the user named for output; `-` is standard output.

    A regular file is replaced once the block succeeds; if the path is a symlink, its target is. Devices and pipes
    are written to as they are.
    """
    if str(path) in STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    of_system = path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",))
    if not of_system and (path.is_file() or not path.exists()):
        with open_atomically(path.resolve()) as stream:
            yield stream
        return
    try:
        opened = path.open("ab" if of_system else "wb")
    except OSError as error:
        raise make_write_error(path, error) from error
    with opened:
        yield opened


DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


def is_disk_error(error: OSError) -> bool:
    """Return whether a file could not be written because of the disk: full, over quota, too large, read-only."""
    return error.errno in DISK_ERRORS


def make_write_error(path: Path, error: OSError) -> StageFailedError:
    """Return the error for a full disk, a read-only folder and the like."""
    # numpy reports a write that ended early without an error number.
    what = error.strerror or f"the disk is full, or a limit on the size of files was reached ({error})"
    return StageFailedError(
        f"cannot write: {what}",
        where=str(path),
        hint="Free space or make the folder writable, then run the command again; finished work is kept.",
    )


def grant_access(path: Path, mode: int) -> None:
    """Give a temporary file or folder, which only its owner may read, the permissions of any new one."""
    path.chmod(mode & ~_read_umask())


def _read_umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


@contextmanager
def hold_lock(path: Path, *, folder: bool = False) -> Iterator[None]:
    """Hold an exclusive lock on `path` during the block; wait for another holder and log who it is.

    `path` is a lock file, which is created and names its holder, or with `folder` a folder, in which no file is
    left. The system releases the lock of a process that dies.
    """
    try:
        (path if folder else path.parent).mkdir(parents=True, exist_ok=True)
        handle, writable = _open_lock(path, folder=folder)
    except OSError as error:
        raise make_write_error(path, error) from error
    try:
        if not _try_lock(handle):
            log.warning("waiting for %s, which holds %s", _describe_lock_holder(path), path)
            fcntl.flock(handle, fcntl.LOCK_EX)
        if writable:
            holder = {"process": os.getpid(), "host": socket.gethostname(), "since": int(time.time())}
            os.ftruncate(handle, 0)
            os.write(handle, json.dumps(holder).encode())
        yield
    finally:
        os.close(handle)


def _open_lock(path: Path, *, folder: bool) -> tuple[int, bool]:
    """Open a lock; return its descriptor and whether the holder can be written: another user's can only be read."""
    if not folder:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT, 0o666), True
        except PermissionError:
            if not path.is_file():
                raise
    return os.open(path, os.O_RDONLY), False


def _try_lock(handle: int) -> bool:
    """Try for a short time to lock an open file; return whether it is locked."""
    deadline = time.monotonic() + SECONDS_BEFORE_WAIT_MESSAGE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True


def _describe_lock_holder(path: Path) -> str:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        seconds = int(time.time()) - int(facts["since"])
        return f"process {facts['process']} on {facts['host']} (for {seconds} s)"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


@contextmanager
def open_staging(folder: Path, prefix: str, suffix: str = "") -> Iterator[Path]:
    """Yield a new folder in `folder`, from which files are moved away once all are written; delete what is left."""
    staging = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=folder))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def delete_unfinished(folder: Path) -> None:
    """Delete what killed writers left in a folder whose lock is held."""
    for left in list(folder.rglob(".*.part")):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


SOURCE_FILE = ".source"


def read_source(folder: Path) -> Path | None:
    """Return the file or folder that `record_source` named in a folder, if it still exists."""
    try:
        written = (folder / SOURCE_FILE).read_text(encoding="utf-8").rstrip("\n")
        found = (folder.resolve() / written).resolve()
        return Path(os.path.relpath(found)) if found.exists() else None
    except (OSError, ValueError):
        return None


def find_other_source(folder: Path, source: Path) -> Path | None:
    """Return the file that `record_source` named before in a folder, if it is another one and still exists."""
    found = read_source(folder)
    return None if found is None or (source.exists() and found.samefile(source)) else found


def record_source(folder: Path, source: Path) -> None:
    """Record from which file the contents of a folder were made, if the folder can be written to."""
    written = os.path.relpath(source.resolve(), folder.resolve()) + "\n"
    path = folder / SOURCE_FILE
    with suppress(OSError, ValueError):
        if not path.is_file() or path.read_text(encoding="utf-8") != written:
            path.write_text(written, encoding="utf-8")


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def replace_folder(new: Path, folder: Path) -> None:
    """Move folder `new` to the path `folder`; if there was a folder, it is then at the path `new`.

    Both must be on one disk. On Linux the two are exchanged in one step. On other systems and on file systems that
    cannot do so, there are three renames; a process killed between them leaves the old folder as `new`.replaced.
    """
    if not folder.exists():
        new.rename(folder)
    elif not _exchange(new, folder):
        aside = new.with_name(f"{new.name}.replaced")
        folder.rename(aside)
        new.rename(folder)
        aside.rename(new)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two paths in one step; return False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    paths = (os.fsencode(first), os.fsencode(second))
    done = rename(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], ctypes.c_uint(_RENAME_EXCHANGE))
    return bool(done == 0)
