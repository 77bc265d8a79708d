"""Records of MEDLINE as OHSUMED distributes them, in SMART's format: .I .U .S .M .T .P .W .A."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from textcat.corpora.text_files import dotted_records
from textcat.errors import BadDataError

_FIELD = re.compile(r"^\.([A-Z])[ \t]*\r?\n", re.MULTILINE)
_DATE = re.compile(r"\b(\d\d)(?:0[0-9]|1[0-2]);")
_FILE_YEAR = re.compile(r"ohsumed\.(\d\d)(?:\.gz)?$")


@dataclass(frozen=True, slots=True)
class MedlineRecord:
    """One reference: its MEDLINE number, source, MeSH headings, title, kind, abstract, authors and year."""

    number: str
    source: str
    mesh: tuple[str, ...]
    title: str
    kind: str
    abstract: str
    authors: str
    year: int


def medline_records(path: Path) -> Iterator[MedlineRecord]:
    """The records of one file, in order; the year is the file's, or else the one in the source."""
    named = _FILE_YEAR.search(path.name)
    file_year = 1900 + int(named[1]) if named else None
    for sequence, text in dotted_records(path):
        pieces = _FIELD.split(text)
        fields = {name: value.strip() for name, value in zip(pieces[1::2], pieces[2::2], strict=True)}
        if not fields:
            continue
        if "U" not in fields:
            raise BadDataError(
                "the record has no MEDLINE number (.U)",
                where=f"{path}, record {sequence}",
                hint="The file is damaged: fetch the collection again.",
            )
        source = fields.get("S", "")
        yield MedlineRecord(
            number=fields["U"],
            source=source,
            mesh=headings(fields.get("M", "")),
            title=fields.get("T", ""),
            kind=fields.get("P", ""),
            abstract=fields.get("W", ""),
            authors=fields.get("A", ""),
            year=file_year or _year(source, fields["U"], path),
        )


def _year(source: str, number: str, path: Path) -> int:
    found = _DATE.search(source)
    if found:
        return 1900 + int(found[1])
    if number[:2].isdecimal():
        return 1900 + int(number[:2])
    raise BadDataError(
        "the record has no year",
        where=f"{path}, record {number}",
        hint="The file is damaged: fetch the collection again.",
    )


def headings(field: str) -> tuple[str, ...]:
    """The MeSH headings of an .M field, each once, without qualifiers and marks of a main point."""
    entries = field.strip().removesuffix(".").split(";")
    found = (entry.partition("/")[0].strip(" *\n") for entry in entries)
    return tuple(dict.fromkeys(each for each in found if each))
