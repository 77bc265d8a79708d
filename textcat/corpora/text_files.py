"""Read the files of collections: text, plain or gzipped, latin-1, some in SMART format, and JSON objects."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast

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
