"""Reuters-21578, Distribution 1.0: its SGML and JSON files, and its three documented splits.

The SGML is read with regular expressions because its markup is regular: there is no nesting, only REUTERS and TEXT
have attributes, and "<" in text is written &lt;. Each expression takes linear time on any input, because the text
of an element ends at the next "<".
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

from textcat.corpora.cards import fingerprint_files
from textcat.corpora.collection_files import find_files, is_writable, make_damage_error
from textcat.corpora.document import CountingCorpus, Document, Split, count_categories

REUTERS_LABELS = ("topics", "places", "people", "orgs", "exchanges", "companies")
LAST_NUMBER = 21578

_BEGINNING = re.compile("<REUTERS")
_OPENING = re.compile(r"<REUTERS\s([^<>]*)>")
_CLOSING = "</REUTERS>"
_ATTRIBUTE = re.compile(r'\b(\w++)="([^"]*)"')
_TEXT = re.compile(r'<TEXT(?:\s+TYPE="(\w+)")?>')
_PART = re.compile(r"<(TITLE|AUTHOR|DATELINE|BODY)>([^<]*+)</\1>")
_LABELS = re.compile(r"<(TOPICS|PLACES|PEOPLE|ORGS|EXCHANGES|COMPANIES)>((?:<D>[^<]*+</D>)++)</\1>")
_LABEL = re.compile(r"<D>([^<]*)</D>")
_NUMBERED = re.compile(r"&#([0-9]{1,7});")
_LAST_CHARACTER = 0x10FFFF
_MARKUP = {"&", "<"}
# Teletype control characters, where a character was lost or a record begins; none is text.
_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), " ")


@dataclass(frozen=True, slots=True)
class ReutersRecord:
    """The attributes and elements of one REUTERS record that are used; those that the source lacks are empty."""

    number: int
    topics_mark: str
    lewis_split: str
    cgi_split: str
    text_type: str
    lists: dict[str, tuple[str, ...]]
    title: str
    author: str
    dateline: str
    body: str
    outside: str


def replace_controls(text: str) -> str:
    """Decode numbered entities and replace control characters by spaces."""
    return _NUMBERED.sub(_decode_numbered_entity, text).translate(_CONTROL)


def _decode_numbered_entity(entity: re.Match[str]) -> str:
    """Return the character of a numbered entity, or the entity if that is markup or no character."""
    code = int(entity[1])
    surrogate = 0xD800 <= code <= 0xDFFF
    if code > _LAST_CHARACTER or surrogate or chr(code) in _MARKUP:
        return entity[0]
    return chr(code)


def _decode_markup(text: str) -> str:
    """Decode the entities of markup characters; the ampersand last, so that it makes no new entities."""
    if "&" not in text:
        return text
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&#60;", "<"), ("&#38;", "&"), ("&amp;", "&")):
        text = text.replace(entity, character)
    return text


def read_sgml_records(path: Path) -> Iterator[ReutersRecord]:
    """Yield the records of one reut2-NNN.sgm file."""
    source = replace_controls(path.read_text(encoding="latin-1"))
    line, start, end = 1, 0, 0
    for begins in _BEGINNING.finditer(source):
        line += source.count("\n", start, begins.start())
        start = begins.start()
        opening = _OPENING.match(source, start)
        closing = source.find(_CLOSING, start)
        if opening is None or start < end or closing < 0:
            raise make_damage_error("a REUTERS record is not closed", f"{path}:{line}")
        end = closing
        yield _parse_sgml_record(opening[1], source[opening.end() : closing], f"{path}:{line}")


def _parse_sgml_record(tag: str, inside: str, where: str) -> ReutersRecord:
    attributes = dict(_ATTRIBUTE.findall(tag))
    text = _TEXT.search(inside)
    closing = inside.find("</TEXT>", text.end()) if text else -1
    if text is None or closing < 0 or not {"NEWID", "TOPICS", "LEWISSPLIT", "CGISPLIT"} <= attributes.keys():
        raise make_damage_error("a REUTERS record lacks TEXT or one of its attributes", where)
    head = inside[: text.start()]
    # The pieces are in turn: text outside elements, an element's name, its text.
    pieces = _PART.split(inside[text.end() : closing])
    parts = {name: _decode_markup(value) for name, value in zip(pieces[1::3], pieces[2::3], strict=True)}
    lists = {name.lower(): tuple(_LABEL.findall(inner)) for name, inner in _LABELS.findall(head)}
    return ReutersRecord(
        number=_parse_document_number(attributes["NEWID"], where),
        topics_mark=attributes["TOPICS"],
        lewis_split=attributes["LEWISSPLIT"],
        cgi_split=attributes["CGISPLIT"],
        text_type=text[1] or "NORM",
        lists=lists,
        title=parts.get("TITLE", ""),
        author=parts.get("AUTHOR", ""),
        dateline=parts.get("DATELINE", ""),
        body=parts.get("BODY", ""),
        outside=_decode_markup(" ".join(pieces[0::3])).strip(),
    )


def _parse_document_number(written: object, where: str) -> int:
    """Return the document number that is written as a number or a string."""
    text = str(written) if isinstance(written, int) and 0 < written <= LAST_NUMBER else written
    if isinstance(text, str) and len(text) <= len(str(LAST_NUMBER)) and text.isdecimal():
        number = int(text)
        if 1 <= number <= LAST_NUMBER:
            return number
    raise make_damage_error(f"{str(written)[:20]!r} is not a document number of Reuters-21578", where)


def read_json_records(path: Path) -> Iterator[ReutersRecord]:
    """Yield the records of one reuters-NNN.json file, with the missing attributes added."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise make_damage_error(f"not JSON: {problem}", str(path)) from problem
    if not isinstance(entries, list):
        raise make_damage_error("not a list of documents", str(path))
    for position, entry in enumerate(entries, 1):
        yield _parse_json_record(entry, f"{path}, entry {position}")


_JSON_LISTS = (("topics", "topics"), ("places", "places"), ("orgs", "organisations"))


def _parse_json_record(entry: Any, where: str) -> ReutersRecord:
    if not isinstance(entry, dict):
        raise make_damage_error("a document is not an object", where)
    number = _parse_document_number(entry.get("id"), where)
    attributes = {name: known[number] for name, known in load_attributes().items()}
    return ReutersRecord(
        number=number,
        topics_mark=attributes["TOPICS"],
        lewis_split=attributes["LEWISSPLIT"],
        cgi_split=attributes["CGISPLIT"],
        text_type=attributes["TYPE"],
        lists={name: _read_labels(entry, key, where) for name, key in _JSON_LISTS if key in entry},
        title=_read_text(entry, "title", where).translate(_CONTROL),
        author="",
        dateline="",
        body=_read_text(entry, "body", where).translate(_CONTROL),
        outside="",
    )


def _read_text(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry.get(key, "")
    if not isinstance(value, str) or not is_writable(value):
        raise make_damage_error(f"{key!r} is not text", where)
    return value


def _read_labels(entry: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    values = entry[key]
    if not isinstance(values, list) or not all(
        isinstance(each, str) and is_writable(each) for each in values
    ):
        raise make_damage_error(f"{key!r} is not a list of labels", where)
    return tuple(values)


@cache
def load_attributes() -> dict[str, list[str]]:
    """Return LEWISSPLIT, CGISPLIT, TOPICS and TYPE by document number, from the table of number ranges."""
    table = files("textcat.corpora") / "tables" / "reuters21578_attributes.csv"
    rows = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    known: dict[str, list[str]] = {}
    for row in rows:
        if row["documents"] == "otherwise":
            known[row["attribute"]] = [row["value"]] * (LAST_NUMBER + 1)
            continue
        for part in row["documents"].split():
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1):
                known[row["attribute"]][number] = row["value"]
    return known


def assign_side(record: ReutersRecord, split: str) -> Split:
    """Return the side of a record, by the attributes that the collection's README states for each split."""
    if split == "modhayes":
        return "test" if record.cgi_split == "PUBLISHED-TESTSET" else "train"
    accepted = ("YES",) if split == "modapte" else ("YES", "NO")
    if record.topics_mark not in accepted:
        return "unused"
    if record.lewis_split == "TRAIN":
        return "train"
    return "test" if record.lewis_split == "TEST" else "unused"


class Reuters21578(CountingCorpus):
    """The collection, from its SGML files or, without those, from the JSON files."""

    name = "reuters21578"

    def __init__(
        self, folder: Path, *, split: str = "modapte", labels: str = "topics", unprocessed: str = "body"
    ) -> None:
        self.folder = folder
        self.split = split
        self.labels = labels
        self.unprocessed = unprocessed
        found = find_files(folder, "reut2-*.sgm", "reuters-*.json")
        self.files = [path for path in found if path.suffix == found[0].suffix]

    def records(self) -> Iterator[ReutersRecord]:
        """Yield every record, in document-number order."""
        for path in self.files:
            yield from read_sgml_records(path) if path.suffix == ".sgm" else read_json_records(path)

    def documents(self) -> Iterator[Document]:
        """Yield documents with fields title, author, dateline and body.

        The body of an UNPROC record, which has no elements, is its text, or nothing with `unprocessed="dropped"`.
        """
        for record in self.records():
            whole = record.text_type == "UNPROC" and self.unprocessed == "body"
            body = record.outside if whole else record.body
            yield Document(
                str(record.number),
                {"title": record.title, "author": record.author, "dateline": record.dateline, "body": body},
                # A few records repeat a label.
                tuple(dict.fromkeys(record.lists.get(self.labels, ()))),
                assign_side(record, self.split),
            )

    def fingerprint(self) -> str:
        """Return the sha256 over the names and contents of the files that are read."""
        return fingerprint_files(self.folder, self.files)


def count_reuters21578(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = Reuters21578(folder)
    documents = list(corpus.documents())
    found = count_categories(documents)
    both = set(found.in_both())
    counts = {
        "documents": len(documents),
        "topics in train or test": len(found.in_train_or_test()),
        "topics in train": len(found.in_train()),
        "topics in test": len(found.in_test()),
        "topics in both": len(both),
    }
    for side in ("train", "test"):
        chosen = [document for document in documents if document.split == side]
        counts[f"modapte {side}"] = len(chosen)
        counts[f"modapte {side} with one of the topics in both"] = sum(
            not both.isdisjoint(document.labels) for document in chosen
        )
    return counts
