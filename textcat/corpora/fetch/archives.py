"""Unpack untrusted tar and zip archives into a folder or a zip file.

An archive is refused as a whole if it has a link, a device, a path outside the target folder, or more bytes or
members than allowed.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, cast

from textcat.errors import BadDataError, StageFailedError

_SPARE_BYTES = 50_000_000


def require_disk_space(folder: Path, needed: int) -> None:
    """Raise StageFailedError unless the disk of the folder has `needed` bytes free and some reserve."""
    free = shutil.disk_usage(folder).free
    if needed + _SPARE_BYTES > free:
        raise StageFailedError(
            f"the disk is full: {needed:,} bytes are needed and only {free:,} are free",
            where=str(folder),
            hint="Free space, or choose another folder with --data.",
        )


# All members have one date, so that equal contents make an equal file.
_MEMBER_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass
class FolderSink:
    """Write files below a folder."""

    folder: Path

    def create(self, path: PurePosixPath) -> AbstractContextManager[IO[bytes]]:
        """Open a new file for writing and create its folders."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("wb")


@dataclass
class ZipSink:
    """Write members of a zip file in `folder`, without compression."""

    archive: zipfile.ZipFile
    folder: Path

    def create(self, path: PurePosixPath) -> AbstractContextManager[IO[bytes]]:
        """Open a new member for writing."""
        return self.archive.open(zipfile.ZipInfo(path.as_posix(), _MEMBER_DATE), "w")


Sink = FolderSink | ZipSink


@contextmanager
def open_zip_sink(path: Path) -> Iterator[ZipSink]:
    """Open a sink that writes one zip file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        yield ZipSink(archive, path.parent)


def copy_to_sink(sink: Sink, source: Path, path: PurePosixPath) -> None:
    """Copy one file into a sink."""
    with source.open("rb") as opened, sink.create(path) as out:
        shutil.copyfileobj(opened, out)


MAX_MEMBERS = 200_000
MAX_HEADER = 1 << 20
MAX_DEPTH = 2
_ARCHIVE_ENDINGS = (".tar.gz", ".gtar.gz", ".tgz", ".tar", ".tar.bz2", ".zip")
_READ_BYTES = 1 << 20
_MAX_PADDING = 64 * _READ_BYTES

# Maps a member's path to the relative path to write it to, or to None to skip it.
Placement = Callable[[PurePosixPath], PurePosixPath | None]


def unpack_archive(archive: Path, sink: Sink, placement: Placement, *, max_bytes: int) -> int:
    """Write the members that `placement` selects to the sink, also those of nested archives; return their number."""
    with archive.open("rb") as opened, report_archive_damage(archive):
        return _Unpacker(str(archive), sink, placement, max_bytes).run(opened, MAX_DEPTH)


# The exceptions of Python's archive readers for damaged archives.
_DAMAGE_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    OSError,
    RuntimeError,
    ValueError,
    ArithmeticError,
    struct.error,
)


@contextmanager
def report_archive_damage(archive: Path) -> Iterator[None]:
    """Turn the exceptions of archive readers in this block into BadDataError."""
    try:
        yield
    except _DAMAGE_ERRORS as problem:
        # A wrong offset in a zip file makes its reader seek before the start, which is EINVAL.
        if isinstance(problem, OSError) and problem.errno not in (None, errno.EINVAL):
            raise
        raise BadDataError(
            f"the archive is damaged or truncated ({problem})", where=str(archive), hint="Fetch it again."
        ) from problem


@dataclass
class _Unpacker:
    """Unpacks one archive and counts bytes and members against the bounds."""

    archive: str
    sink: Sink
    placement: Placement
    bytes_left: int
    members_left: int = field(default_factory=lambda: MAX_MEMBERS)
    written: int = 0
    targets: set[PurePosixPath] = field(default_factory=set)

    def run(self, opened: IO[bytes], depth: int) -> int:
        start = opened.read(4)
        opened.seek(0)
        zipped = start == b"PK\x03\x04"
        members = (
            self._read_zip_members(opened) if zipped else self._read_tar_members(_decompress(opened, start))
        )
        for name, size, content in members:
            path = self._check_path(name)
            if depth > 1 and path.name.lower().endswith(_ARCHIVE_ENDINGS):
                self.run(io.BytesIO(content.read()), depth - 1)
                continue
            target = self.placement(path)
            if target is not None:
                require_disk_space(self.sink.folder, size)
                with self.sink.create(self._check_target(target)) as out:
                    shutil.copyfileobj(content, out, _READ_BYTES)
                self.written += 1
        return self.written

    def _read_tar_members(self, opened: IO[bytes]) -> Iterator[tuple[str, int, IO[bytes]]]:
        metered = _MeteredStream(opened, self._make_refusal)
        with tarfile.open(fileobj=cast(IO[bytes], metered), mode="r|") as tar:
            for member in tar:
                self._count_member()
                if member.size < 0:
                    raise self._make_refusal(f"member {member.name!r} has a negative size")
                self._spend(member.size)
                metered.allow(member.size)
                if member.isdir():
                    continue
                content = tar.extractfile(member) if member.isreg() else None
                if content is None:
                    raise self._make_refusal(f"member {member.name!r} is a link or a device")
                yield member.name, member.size, content
        self._drain(opened)

    def _drain(self, opened: IO[bytes]) -> None:
        """Read to the end, so that the checksum of the compressed stream is verified."""
        for _ in range(_MAX_PADDING // _READ_BYTES):
            if not opened.read(_READ_BYTES):
                return
        raise self._make_refusal("it has too much data after its last member")

    def _read_zip_members(self, opened: IO[bytes]) -> Iterator[tuple[str, int, IO[bytes]]]:
        with zipfile.ZipFile(opened) as archive:
            for member in archive.infolist():
                self._count_member()
                if member.is_dir():
                    continue
                if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
                    raise self._make_refusal(f"member {member.filename!r} is a link or a device")
                self._spend(member.file_size)
                with archive.open(member) as content:
                    yield member.filename, member.file_size, content

    def _count_member(self) -> None:
        self.members_left -= 1
        if self.members_left < 0:
            raise self._make_refusal(f"it has more than {MAX_MEMBERS} members")

    def _check_path(self, name: str) -> PurePosixPath:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
            raise self._make_refusal(f"member {name!r} would be written outside the folder")
        return path

    def _check_target(self, target: PurePosixPath) -> PurePosixPath:
        """Return a path to write to; one that was written before would lose a member."""
        path = self._check_path(target.as_posix())
        if path in self.targets:
            raise self._make_refusal(f"two members are named {str(path)!r}")
        self.targets.add(path)
        return path

    def _spend(self, number: int) -> None:
        """Count a member's stated size; readers return no more than that."""
        self.bytes_left -= number
        if self.bytes_left < 0:
            raise self._make_refusal("its contents are larger than this collection")

    def _make_refusal(self, why: str) -> BadDataError:
        return BadDataError(
            f"the archive is refused: {why}",
            where=self.archive,
            hint="This is not the published archive: use another source.",
        )


@dataclass
class _MeteredStream:
    """A stream that limits the size of tar headers, which the reader holds in memory."""

    opened: IO[bytes]
    refused: Callable[[str], BadDataError]
    left: int = MAX_HEADER

    def allow(self, number: int) -> None:
        """Allow `number` bytes of content and the next header."""
        self.left = number + MAX_HEADER

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes."""
        found = self.opened.read(size)
        self.left -= len(found)
        if self.left < 0:
            raise self.refused("a member's header is too large")
        return found


def _decompress(opened: IO[bytes], start: bytes) -> IO[bytes]:
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=opened))
    if start.startswith(b"BZh"):
        return bz2.BZ2File(opened)
    if start.startswith(b"\xfd7zX"):
        return lzma.LZMAFile(opened)
    return opened
