"""Read collections with one small file for each document, from a folder or from one zip file.

On some disks it takes minutes to create twenty thousand files, so `fetch` stores them, uncompressed, in
documents.zip. The fingerprint is computed from names and contents and is the same for both forms.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from textcat.corpora.cards import FETCH_MANIFEST, combine_hashes
from textcat.corpora.fetch.archives import MAX_MEMBERS, report_archive_damage
from textcat.errors import BadDataError, DataNotAvailableError

PACKED_FILE = "documents.zip"
# Larger than any web page or message, and than all documents of any of these collections.
MAX_DOCUMENT_BYTES = 1 << 26
MAX_TREE_BYTES = 1 << 31


class DocumentTree:
    """The documents below one folder, by path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.packed = folder / PACKED_FILE

    @cached_property
    def names(self) -> list[str]:
        """The path of every document below the folder, sorted, without hidden files."""
        if self.packed.is_file():
            self._check_alone()
            with self._open_archive() as archive:
                return sorted(name for name in archive.namelist() if not name.endswith("/"))
        if not self.folder.is_dir():
            raise DataNotAvailableError(
                "no such folder", where=str(self.folder), hint="Fetch the collection, or fix `corpus.path`."
            )
        top = len(str(self.folder)) + 1
        found = (
            f"{base}/{name}"[top:]
            for base, _, names in os.walk(self.folder)
            for name in names
            if not name.startswith(".")
        )
        return _check_names(sorted(name for name in found if name != FETCH_MANIFEST), self.folder)

    def contents(self, names: Iterable[str]) -> Iterator[bytes]:
        """Yield the contents of the named documents, in the order of the names."""
        if self.packed.is_file():
            with self._open_archive() as archive:
                for name in names:
                    yield archive.read(name)
        else:
            for name in names:
                with open(self.folder / name, "rb", opener=_open_at_once) as opened:
                    if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                        raise BadDataError(
                            "a document must be a regular file",
                            where=str(self.folder / name),
                            hint="Remove it from the folder.",
                        )
                    content = opened.read(MAX_DOCUMENT_BYTES + 1)
                if len(content) > MAX_DOCUMENT_BYTES:
                    raise _make_size_error(self.folder / name)
                yield content

    def _check_alone(self) -> None:
        """Raise BadDataError if there are folders beside documents.zip: only one of the two would be read."""
        beside = sorted(
            entry.name for entry in self.folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")
        )
        if beside:
            raise BadDataError(
                f"documents are in {PACKED_FILE} and in folders beside it: {', '.join(beside[:5])}",
                where=str(self.folder),
                hint=f"Remove one of the two, or rename {PACKED_FILE} if it is not a collection that was fetched.",
            )

    @contextmanager
    def _open_archive(self) -> Iterator[zipfile.ZipFile]:
        """Open documents.zip; raise BadDataError if its documents exceed the bounds on size and number."""
        with report_archive_damage(self.packed), zipfile.ZipFile(self.packed) as archive:
            members = archive.infolist()
            if any(member.file_size > MAX_DOCUMENT_BYTES for member in members):
                raise _make_size_error(self.packed)
            if len(members) > MAX_MEMBERS or sum(member.file_size for member in members) > MAX_TREE_BYTES:
                raise BadDataError(
                    "the archive has more documents than any of these collections",
                    where=str(self.packed),
                    hint="Remove it and fetch the collection.",
                )
            names = {member.filename for member in members}
            if len(names) < len(members):
                raise BadDataError(
                    "two documents of the archive have one name",
                    where=str(self.packed),
                    hint="Remove it and fetch the collection.",
                )
            yield archive

    def texts(self, names: Iterable[str]) -> Iterator[str]:
        """Yield the named documents decoded as latin-1, with line ends \\n."""
        for content in self.contents(names):
            yield content.decode("latin-1").replace("\r\n", "\n")

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of all documents."""
        hashes = (hashlib.sha256(content).hexdigest() for content in self.contents(self.names))
        return combine_hashes(zip(self.names, hashes, strict=True))


class TreeCorpus:
    """Base of collections with one file for each document."""

    tree: DocumentTree

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of all files, chosen or not."""
        return self.tree.fingerprint()


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; do not wait for the writer of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _check_names(names: list[str], folder: Path) -> list[str]:
    """Return the names; raise BadDataError for one that is not UTF-8, since names are ids and categories."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            shown = os.fsencode(f"{folder}/{name}").decode(errors="backslashreplace")
            raise BadDataError(
                "the name of a file or folder is not UTF-8", where=shown, hint="Rename it."
            ) from error
    return names


def _make_size_error(path: Path) -> BadDataError:
    return BadDataError(
        f"a document is larger than {MAX_DOCUMENT_BYTES:,} bytes",
        where=str(path),
        hint="These are not the collection's files: remove them and fetch again.",
    )
