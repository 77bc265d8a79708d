"""Detect the format and the encoding of a user's documents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from textcat.corpora.sides import is_split, side_named
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

_OTHER_PROGRAMS = {
    ".gz": "Unpack it first.",
    ".zip": "Unpack it first.",
    ".bz2": "Unpack it first.",
    ".xz": "Unpack it first.",
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".ods": "Save the sheet as CSV.",
    ".parquet": "Write it as CSV or JSON Lines.",
    ".pdf": "Extract the text: a text file for each document, in a folder for each class.",
    ".docx": "Extract the text: a text file for each document, in a folder for each class.",
}


_VECTOR = re.compile(r"\S+(\s+\d+:\S+)+\s*(#.*)?$")


SAMPLE_BYTES = 1 << 20


_HINT = "Supported are CSV, TSV, JSON Lines, svmlight, and a folder for each class."


def detect_format(path: Path) -> str:
    """Return csv, tsv, jsonl, folders or svmlight."""
    if path.is_dir():
        return _check_folder(path)
    if not path.is_file():
        raise DataNotAvailableError("no such file or folder", where=str(path), hint="Fix the path.")
    ending = path.suffix.lower()
    if ending in _OTHER_PROGRAMS:
        raise UsageError(f"cannot read {ending} files", where=str(path), hint=_OTHER_PROGRAMS[ending])
    first = _first_line(path)
    if _VECTOR.match(first):
        return "svmlight"
    if ending == ".json" and first.lstrip().startswith("["):
        raise UsageError(
            "cannot read a JSON list", where=str(path), hint="Write one object on each line (.jsonl)."
        )
    if first.lstrip().startswith("{"):
        return "jsonl"
    return _table_kind(path, first)


def detect_encoding(path: Path) -> str:
    """Return the encoding of a text file, judged by all of its lines."""
    with path.open("rb") as opened:
        return likeliest_encoding(opened)


def likeliest_encoding(pieces: Iterable[bytes]) -> str:
    """Return latin-1 if most non-ASCII pieces are not utf-8, else utf-8.

    A few damaged lines do not make a file latin-1 (in which every byte is valid).
    """
    beyond_ascii = damaged = 0
    for piece in pieces:
        if not piece.isascii():
            beyond_ascii += 1
            damaged += not _is_utf8(piece)
    return "latin-1" if 2 * damaged > beyond_ascii else "utf-8"


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _first_line(path: Path) -> str:
    with path.open("rb") as opened:
        beginning = opened.read(SAMPLE_BYTES)
    if b"\0" in beginning:
        raise BadDataError("not a text file, or one in utf-16", where=str(path), hint="Convert it to utf-8.")
    lines = beginning.decode("utf-8-sig", errors="replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise BadDataError("the file is empty", where=str(path), hint="Name a file with documents.")
    return first


def _table_kind(path: Path, header: str) -> str:
    separators = {"tsv": header.count("\t"), "csv": header.count(","), ";": header.count(";")}
    best = max(separators, key=lambda kind: separators[kind])
    if not separators[best]:
        raise UsageError(
            "its first line is neither a header of columns, nor JSON, nor a vector",
            where=str(path),
            hint=_HINT,
        )
    if best == ";":
        hint = "Save it with commas or tabs between the columns."
        raise UsageError("columns are separated by semicolons", where=str(path), hint=hint)
    return best


def _check_folder(path: Path) -> str:
    inside = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    folders = [entry for entry in inside if entry.is_dir()]
    sides = {side_named(entry.name) for entry in folders} - {None}
    if sides and not is_split(sides):
        hint = f"Name the one whose folders are the classes, such as {folders[-1]}."
        raise UsageError("its folders are sides of a split, not classes", where=str(path), hint=hint)
    if not folders and not (path / "documents.zip").is_file():
        hint = f"{_HINT} Put each class's documents into a folder of the class's name."
        raise UsageError("the folder has no folders", where=str(path), hint=hint)
    return "folders"
