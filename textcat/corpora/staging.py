"""What a source is, and how the files that it has come into the staging folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Protocol

from textcat.corpora.archives import Placement, unpack
from textcat.corpora.card import Package, RemoteFile
from textcat.corpora.sinks import FolderSink, Sink, copy_into, packing
from textcat.corpora.trees import PACKED
from textcat.errors import BadDataError


class Source(Protocol):
    """One way to the files of one package."""

    @property
    def package(self) -> Package:
        """The package that it brings."""
        ...

    @property
    def label(self) -> str:
        """What is said of it when it fails."""
        ...

    def fill(self, staging: Path) -> str:
        """Bring the package's files into an empty folder; return what is said of where they came from."""
        ...


def placement(package: Package) -> Placement:
    """Which paths of a package are kept, and where: below its root, or flat."""

    def place(path: PurePosixPath) -> PurePosixPath | None:
        if not any(fnmatch(path.name, pattern) for pattern in package.members):
            return None
        if not package.roots:
            return PurePosixPath(path.name)
        above = [number for number, part in enumerate(path.parts[:-1]) if part in package.roots]
        return PurePosixPath(*path.parts[above[0] + 1 :]) if above else None

    return place


@contextmanager
def staging_sink(package: Package, staging: Path) -> Iterator[Sink]:
    """Where a package's files go: the staging folder, or one zip file in it."""
    if package.packed:
        with packing(staging / PACKED) as sink:
            yield sink
    else:
        yield FolderSink(staging)


def stage(package: Package, found: list[tuple[RemoteFile, Path]], staging: Path) -> None:
    """Put files into the staging folder, unpacked where the table says so."""
    with staging_sink(package, staging) as sink:
        for wanted, path in found:
            if not wanted.unpack:
                name = wanted.name.removesuffix(".gz") + (".gz" if path.suffix == ".gz" else "")
                copy_into(sink, path, PurePosixPath(name))
            elif unpack(path, sink, placement(package), max_bytes=package.max_bytes) == 0:
                raise BadDataError(
                    f"the archive holds nothing of {package.title}",
                    where=str(path),
                    hint="Name the archive of this collection.",
                )
