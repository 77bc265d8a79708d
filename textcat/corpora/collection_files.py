"""Read the files of collections: text, plain or gzipped, some in SMART format, JSON objects, and trees of small files.

On some disks it takes minutes to create twenty thousand files, so `fetch` stores a tree of documents, uncompressed, in
documents.zip. Its fingerprint is computed from names and contents and is the same for both forms.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO, cast

from textcat.corpora.cards import FETCH_MANIFEST, combine_hashes
from textcat.corpora.fetch.archives import MAX_MEMBERS, report_archive_damage
from textcat.errors import BadDataError, DataNotAvailableError

_CHUNK = 1 << 22
# Longer than any record or line of these collections: a small compressed file must not fill the memory.
_MAX_LENGTH = 1 << 24


def find_files(folder: Path, *patterns: str) -> list[Path]:
    """Return the files of a folder that match each pattern in turn; raise DataNotAvailableError if there are none."""
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern))]
    if not found:
        raise DataNotAvailableError(
            f"no file {' or '.join(patterns)}",
            where=str(folder),
            hint="Put it there, or fetch the collection with `textcat fetch`.",
        )
    return found


def make_damage_error(what: str, where: str) -> BadDataError:
    """Return the error for a file whose contents are not those of the collection."""
    return BadDataError(
        what, where=where, hint="The file is damaged or not of this collection: fetch the collection again."
    )


def parse_json_object(content: bytes, where: str) -> dict[str, Any]:
    """Return the JSON object that a file of a collection holds; raise BadDataError if it holds something else."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise make_damage_error(f"not JSON ({error})", where) from error
    if not isinstance(found, dict):
        raise make_damage_error("not a JSON object", where)
    return found


@contextmanager
def open_latin1(path: Path) -> Iterator[TextIO]:
    """Open a text file, decompressed if its name ends in .gz; every byte is a character."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="latin-1", newline="\n") as opened:
                yield cast(TextIO, opened)
        else:
            with path.open(encoding="latin-1", newline="\n") as opened:
                yield opened
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise make_damage_error(f"cannot decompress the file ({problem})", str(path)) from problem


def read_line_blocks(path: Path) -> Iterator[str]:
    """Yield the text of a file in blocks of whole lines."""
    with open_latin1(path) as opened:
        while block := opened.read(_CHUNK):
            rest = opened.readline(_MAX_LENGTH)
            if len(rest) == _MAX_LENGTH:
                raise make_damage_error("a line is too long for this format", str(path))
            yield block + rest


def read_smart_records(path: Path) -> Iterator[tuple[str, str]]:
    """Yield number and text of each record in a file in SMART format, where `.I NUMBER` begins a record.

    No more than a chunk and one record are held in memory.
    """
    held = "\n"
    with open_latin1(path) as opened:
        while chunk := opened.read(_CHUNK):
            *whole, held = (held + chunk).split("\n.I ")
            for record in whole:
                if record.strip():
                    yield _split_record(record)
            if len(held) > _MAX_LENGTH:
                raise make_damage_error("a record is too long for this format", str(path))
    if held.strip():
        yield _split_record(held)


def _split_record(record: str) -> tuple[str, str]:
    number, _, rest = record.partition("\n")
    return number.strip(), rest


def is_writable(text: str) -> bool:
    """Return whether a text can be encoded: JSON can hold half of a surrogate pair, a file cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
                return sorted(filter(_is_document, archive.namelist()))
        if not self.folder.is_dir():
            raise DataNotAvailableError(
                "no such folder", where=str(self.folder), hint="Fetch the collection, or fix `corpus.path`."
            )
        names = sorted(name for name in _walk(self.folder) if name != FETCH_MANIFEST)
        for name in names:
            check_name(name, self.folder)
        return names

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

    def __init__(self, folder: Path) -> None:
        self.tree = DocumentTree(folder)

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of all files, chosen or not."""
        return self.tree.fingerprint()


def _walk(folder: Path) -> Iterator[str]:
    """Yield the paths of the files below a folder that are not hidden; raise an error for folders left unread."""

    def refuse(error: OSError) -> None:
        what = f"the folder cannot be read: {error.strerror}"
        raise DataNotAvailableError(
            what, where=str(error.filename), hint="Change its permissions."
        ) from error

    top = len(str(folder)) + 1
    for base, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in folders:
            if Path(base, name).is_symlink():
                hint = "Put the folder itself in its place."
                raise BadDataError("a link to a folder is not followed", where=f"{base}/{name}", hint=hint)
        yield from filter(_is_document, (f"{base}/{name}"[top:] for name in names))


def _is_document(name: str) -> bool:
    """Return whether a path in a tree is a file that no system has hidden."""
    parts = name.split("/")
    return not (any(part.startswith(".") for part in parts) or parts[-1].lower() in _HIDDEN_BY_WINDOWS | {""})


_HIDDEN_BY_WINDOWS = {"thumbs.db", "desktop.ini"}


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; do not wait for the writer of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def check_name(name: str, folder: Path = Path()) -> None:
    """Raise BadDataError for a name that is not UTF-8: names are ids and categories, and are written to files."""
    if not is_writable(name):
        shown = os.fsencode(folder / name).decode(errors="backslashreplace")
        raise BadDataError("the name of a file or folder is not UTF-8", where=shown, hint="Rename it.")


def _make_size_error(path: Path) -> BadDataError:
    return BadDataError(
        f"a document is larger than {MAX_DOCUMENT_BYTES:,} bytes",
        where=str(path),
        hint="These are not the collection's files: remove them and fetch again.",
    )
