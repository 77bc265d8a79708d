"""Where unpacked files go: a folder, or one zip file that stands for a folder of many small files."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

# Members carry one date, so that equal contents in equal order make an equal file.
_DATE = (1980, 1, 1, 0, 0, 0)


class Sink(Protocol):
    """Something that takes files by relative path."""

    @property
    def folder(self) -> Path:
        """On whose disk the files come to lie."""
        ...

    def create(self, path: PurePosixPath) -> AbstractContextManager[IO[bytes]]:
        """Open a new file for writing."""
        ...


class FolderSink:
    """Files below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self, path: PurePosixPath) -> AbstractContextManager[IO[bytes]]:
        """Open a new file for writing, making the folders above it."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("wb")


class ZipSink:
    """Members of a zip file, stored without compression."""

    def __init__(self, archive: zipfile.ZipFile, folder: Path) -> None:
        self.archive = archive
        self.folder = folder

    def create(self, path: PurePosixPath) -> AbstractContextManager[IO[bytes]]:
        """Open a new member for writing."""
        return self.archive.open(zipfile.ZipInfo(path.as_posix(), _DATE), "w")


@contextmanager
def packing(path: Path) -> Iterator[ZipSink]:
    """A sink that makes one zip file at `path`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        yield ZipSink(archive, path.parent)


def copy_into(sink: Sink, source: Path, path: PurePosixPath) -> None:
    """Copy one file into a sink."""
    with source.open("rb") as opened, sink.create(path) as out:
        shutil.copyfileobj(opened, out)
