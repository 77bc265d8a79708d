"""The records of Reuters-21578 as distributed: the SGML files, and the JSON files that lack some attributes.

The SGML is read with regular expressions: its markup is regular (no nesting, no attributes but those of
REUTERS and TEXT).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from textcat.errors import BadDataError

LISTS = ("topics", "places", "people", "orgs", "exchanges", "companies")
LAST_NUMBER = 21578

_OPENING = re.compile(r"<REUTERS\s([^>]*)>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TEXT = re.compile(r'<TEXT(?:\s+TYPE="(\w+)")?>(?=.*</TEXT>)', re.DOTALL)
_PART = re.compile(r"<(TITLE|AUTHOR|DATELINE|BODY)>(.*?)</\1>", re.DOTALL)
_LABELS = re.compile(r"<(TOPICS|PLACES|PEOPLE|ORGS|EXCHANGES|COMPANIES)>(.*?)</\1>", re.DOTALL)
_LABEL = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_NOTE = re.compile(r"<(DATE|MKNOTE|UNKNOWN)>(.*?)</\1>", re.DOTALL)
_NUMBERED = re.compile(r"&#(\d+);")
_MARKUP = {"&", "<"}
# Teletype control characters stand where a character was lost or a record begins; none is text.
_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), " ")


@dataclass(frozen=True, slots=True)
class ReutersRecord:
    """Every attribute and element of one REUTERS record; what the source lacks is empty."""

    number: int
    topics_mark: str
    lewis_split: str
    cgi_split: str
    text_type: str
    old_number: str
    csecs: str
    date: str
    lists: dict[str, tuple[str, ...]]
    title: str
    author: str
    dateline: str
    body: str
    outside: str
    unknown: str
    note: str


def without_controls(text: str) -> str:
    """Decode numbered entities, and turn control characters into spaces."""
    for code in set(_NUMBERED.findall(text)):
        character = chr(int(code))
        if character not in _MARKUP:
            text = text.replace(f"&#{code};", character)
    return text.translate(_CONTROL)


def _decoded(text: str) -> str:
    """Decode what stands for markup characters; the ampersand last, lest it makes new entities."""
    if "&" not in text:
        return text
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&#60;", "<"), ("&#38;", "&"), ("&amp;", "&")):
        text = text.replace(entity, character)
    return text


def sgml_records(path: Path) -> Iterator[ReutersRecord]:
    """The records of one reut2-NNN.sgm file, in order."""
    source = without_controls(path.read_text(encoding="latin-1"))
    openings = list(_OPENING.finditer(source))
    ends = [*(each.start() for each in openings[1:]), len(source)]
    for opening, limit in zip(openings, ends, strict=True):
        end = source.find("</REUTERS>", opening.end(), limit)
        record = _sgml_record(opening[1], source[opening.end() : end]) if end > 0 else None
        if record is None:
            line = source.count("\n", 0, opening.start()) + 1
            what = "is not closed" if end < 0 else "lacks TEXT or one of its attributes"
            hint = "The file is cut short or damaged: fetch the collection again."
            raise BadDataError(f"a REUTERS record {what}", where=f"{path}:{line}", hint=hint)
        yield record


def _sgml_record(tag: str, inside: str) -> ReutersRecord | None:
    """One record, or nothing where its text or an attribute is missing."""
    attributes = dict(_ATTRIBUTE.findall(tag))
    text = _TEXT.search(inside)
    if text is None or not {"NEWID", "TOPICS", "LEWISSPLIT", "CGISPLIT"} <= attributes.keys():
        return None
    head = inside[: text.start()]
    # Splitting gives in turn: text outside, a part's name, its text, text outside and so on.
    pieces = _PART.split(inside[text.end() : inside.rindex("</TEXT>")])
    parts = {name: _decoded(value) for name, value in zip(pieces[1::3], pieces[2::3], strict=True)}
    notes = dict(_NOTE.findall(head))
    lists = {name.lower(): tuple(_LABEL.findall(inner)) for name, inner in _LABELS.findall(head) if inner}
    return ReutersRecord(
        number=int(attributes["NEWID"]),
        topics_mark=attributes["TOPICS"],
        lewis_split=attributes["LEWISSPLIT"],
        cgi_split=attributes["CGISPLIT"],
        text_type=text[1] or "NORM",
        old_number=attributes.get("OLDID", ""),
        csecs=attributes.get("CSECS", ""),
        date=notes.get("DATE", "").strip(),
        lists=lists,
        title=parts.get("TITLE", ""),
        author=parts.get("AUTHOR", ""),
        dateline=parts.get("DATELINE", ""),
        body=parts.get("BODY", ""),
        outside=_decoded(" ".join(pieces[0::3])).strip(),
        unknown=notes.get("UNKNOWN", ""),
        note=notes.get("MKNOTE", ""),
    )


def json_records(path: Path) -> Iterator[ReutersRecord]:
    """The records of one reuters-NNN.json file, completed with the attributes that it lacks."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise BadDataError(f"not JSON: {problem}", where=str(path)) from problem
    for entry in entries:
        yield _json_record(entry, path)


def _json_record(entry: dict[str, Any], path: Path) -> ReutersRecord:
    number = int(entry.get("id", 0))
    if not 1 <= number <= LAST_NUMBER:
        raise BadDataError(f"document number {entry.get('id')!r} is not of Reuters-21578", where=str(path))
    attributes = {name: known[number] for name, known in known_attributes().items()}
    return ReutersRecord(
        number=number,
        topics_mark=attributes["TOPICS"],
        lewis_split=attributes["LEWISSPLIT"],
        cgi_split=attributes["CGISPLIT"],
        text_type=attributes["TYPE"],
        old_number="",
        csecs="",
        date=entry.get("date", "").strip(),
        lists={
            name: tuple(entry[key])
            for name, key in (("topics", "topics"), ("places", "places"), ("orgs", "organisations"))
            if key in entry
        },
        title=entry.get("title", "").translate(_CONTROL),
        author="",
        dateline="",
        body=entry.get("body", "").translate(_CONTROL),
        outside="",
        unknown="",
        note="",
    )


@cache
def known_attributes() -> dict[str, list[str]]:
    """LEWISSPLIT, CGISPLIT, TOPICS and TYPE by document number, from the project's table of number ranges."""
    table = files("textcat.corpora") / "tables" / "reuters21578_attributes.csv"
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    known: dict[str, list[str]] = {}
    for row in rows:
        if row["documents"] == "otherwise":
            known[row["attribute"]] = [row["value"]] * (LAST_NUMBER + 1)
        for number in _numbers(row["documents"]):
            known[row["attribute"]][number] = row["value"]
    return known


def _numbers(ranges: str) -> Iterator[int]:
    for part in ranges.split():
        if part != "otherwise":
            first, _, last = part.partition("-")
            yield from range(int(first), int(last or first) + 1)
