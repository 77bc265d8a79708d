"""A collection's files on this machine: in a folder, or in one archive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from textcat.corpora.card import Package, RemoteFile
from textcat.corpora.sinks import FolderSink, copy_into
from textcat.corpora.staging import placement, stage, staging_sink
from textcat.corpora.trees import PACKED
from textcat.errors import DataNotAvailableError

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
