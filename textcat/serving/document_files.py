"""New documents from text lines, CSV, TSV or JSON Lines, one at a time."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from textcat.corpora.text_files import is_writable
from textcat.errors import BadDataError

LONGEST_FIELD = 1 << 28
InputFormat = Literal["lines", "csv", "tsv", "jsonl"]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document without labels."""

    id: str
    fields: Mapping[str, str]
    labels: tuple[str, ...] = ()
    split: str = "test"


def guess_format(name: str) -> InputFormat:
    """What a file's name says of its format; plain text is a document a line."""
    for ending, known in ((".csv", "csv"), (".tsv", "tsv"), (".jsonl", "jsonl"), (".ndjson", "jsonl")):
        if name.lower().endswith(ending):
            return known  # type: ignore[return-value]
    return "lines"


SkipReporter = Callable[[BadDataError], None]


def read_documents(
    lines: Iterable[str],
    form: InputFormat,
    name: str,
    fields: tuple[str, ...],
    skip: SkipReporter | None = None,
) -> Iterator[NewDocument]:
    """Documents with the fields that the model reads; what is not among them goes to no field.

    A plain line, and a `text` column where the model's own fields are absent, is read as its last field.
    With `skip`, a broken document is left out and its error passed to `skip`.
    """
    lines = _locate_decode_errors(lines, name)
    if form == "lines":
        for number, line in enumerate(lines, 1):
            yield NewDocument(str(number), {fields[-1]: line.rstrip("\n")})
    elif form == "jsonl":
        for number, line in enumerate(lines, 1):
            if line.strip():
                with _skip_errors(skip):
                    where = f"{name}:{number}"
                    yield _make_document(_parse_object(line, where), number, fields, where)
    else:
        yield from _read_rows(lines, "," if form == "csv" else "\t", name, fields, skip)


@contextmanager
def _skip_errors(skip: SkipReporter | None) -> Iterator[None]:
    try:
        yield
    except BadDataError as error:
        if skip is None:
            raise
        skip(error)


def _locate_decode_errors(lines: Iterable[str], name: str) -> Iterator[str]:
    """The lines as they come, with the place of one that is not text."""
    number = 0
    try:
        for line in lines:
            number += 1
            yield line
    except UnicodeDecodeError as error:
        raise BadDataError(
            f"not {error.encoding}: {error.reason}",
            where=f"{name}, after line {number}",
            hint="Convert it to utf-8.",
        ) from error


def _read_rows(
    lines: Iterable[str], delimiter: str, name: str, fields: tuple[str, ...], skip: SkipReporter | None
) -> Iterator[NewDocument]:
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.DictReader(lines, delimiter=delimiter, strict=True)
    try:
        for number, row in enumerate(reader, 1):
            where = f"{name}:{reader.line_num}"
            with _skip_errors(skip):
                if None in row:
                    raise BadDataError(
                        "a row has more columns than the header",
                        where=where,
                        hint="Put values that hold the separator in quotes.",
                    )
                yield _make_document(row, number, fields, where)
    except csv.Error as error:
        raise BadDataError(
            f"not CSV: {error}",
            where=f"{name}:{reader.line_num}",
            hint="Mend the quotes of the row, or name the format with --format.",
        ) from error


def _parse_object(line: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadDataError(
            f"not JSON: {error}", where=where, hint="Mend the line, or name the format with --format."
        ) from error
    if not isinstance(value, dict):
        raise BadDataError(
            "not a JSON object", where=where, hint='Write an object such as {"text": "..."} a line.'
        )
    if "\\u" in line and not is_writable(json.dumps(value, ensure_ascii=False)):
        raise BadDataError("it has half of a surrogate pair", where=where, hint="Write the whole character.")
    return value


def _make_document(row: Mapping[str, Any], number: int, fields: tuple[str, ...], where: str) -> NewDocument:
    given = {field: str(row[field]) for field in fields if row.get(field) is not None}
    if not given and row.get("text") is not None:
        given = {fields[-1]: str(row["text"])}
    if not given:
        raise BadDataError(
            f"none of the fields {', '.join(fields)}, and no `text`",
            where=where,
            hint="Name a column after a field of the model, or `text`.",
        )
    return NewDocument(str(row.get("id") or number), given)
