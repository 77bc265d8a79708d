"""Read new documents from plain lines, CSV, TSV, JSON Lines, vectors in svmlight format, pages or folders of files.

Tables and files are read as for training (`textcat.corpora.own`); every problem in them is an error.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from textcat.corpora.collection_files import DocumentTree
from textcat.corpora.own.documents import EACH_FILE, is_html, read_text
from textcat.corpora.own.formats import load_column_names, refuse_other_formats
from textcat.corpora.own.problems import Problems
from textcat.corpora.own.tables import (
    LABEL_PREFIX,
    TableFormat,
    TableRow,
    decode_lines,
    guess_delimiter,
    is_missing,
    read_rows,
    to_text,
)
from textcat.corpora.vector_files import BYTE_ORDER_MARK, parse_vector
from textcat.errors import BadDataError, UsageError

InputFormat = Literal["lines", "csv", "tsv", "jsonl", "fasttext", "text", "html"]

log = logging.getLogger(__name__)

_HINT = "Fix the line, or state the format with --format and the encoding with --encoding."
_FORMATS: dict[str, InputFormat] = {
    ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".html": "html", ".htm": "html",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document without labels."""

    id: str
    fields: Mapping[str, str]
    labels: tuple[str, ...] = ()
    split: str = "test"


@dataclass(frozen=True, slots=True)
class VectorDocument(NewDocument):
    """A document as a vector, for models of vectors: the columns that are not zero, and their weights."""

    columns: NDArray[np.int32] = field(kw_only=True)
    weights: NDArray[np.float32] = field(kw_only=True)


def guess_format(name: str, first: bytes = b"", fields: Sequence[str] = ()) -> InputFormat:
    """Return the format that a file name's ending states, else its first line; "lines": one document per line.

    Read as plain lines, the labels of such a file would be words of its documents.
    """
    line = first.decode("utf-8-sig", errors="replace").strip()
    refuse_other_formats(name, line)
    if "\0" in line:
        raise BadDataError("not a text file, or one in utf-16", where=name, hint="Convert it to utf-8.")
    for ending, form in _FORMATS.items():
        if name.lower().endswith(ending):
            return form
    if line.startswith(LABEL_PREFIX):
        return "fasttext"
    if re.match(r'\{\s*"', line):
        return "jsonl"
    delimiters: dict[InputFormat, str] = {"tsv": "\t", "csv": guess_delimiter(line)}
    for form, delimiter in delimiters.items():
        names = [name.strip().strip('"') for name in line.split(delimiter)]
        if len(names) > 1 and not {*fields, "text"}.isdisjoint(names):
            return form
    return "lines"


SkipReporter = Callable[[BadDataError], None]


def read_documents(
    lines: Iterable[bytes],
    form: InputFormat,
    name: str,
    fields: Sequence[str],
    skip: SkipReporter | None = None,
    encoding: str = "utf-8",
) -> Iterator[NewDocument]:
    """Yield documents with the fields that the model reads; `name` is the file's name in errors.

    A plain line is the last field, and so are a file that is one document and the column `text` of a row that has none
    of the fields. With `skip`, a broken document is left out and its error passed to `skip`.
    """
    problems = _make_problems(skip)
    if form in ("text", "html"):
        text = read_text(b"".join(lines), name, encoding, problems, page=form == "html")
        if text is not None:
            yield NewDocument(Path(name).name, {fields[-1]: text})
        return
    if encoding == EACH_FILE:
        hint = "Name one encoding."
        raise UsageError(f"`{EACH_FILE}` is for folders and pages", where="--encoding", hint=hint)
    if form == "lines":
        for number, line in decode_lines(lines, name, encoding, problems):
            yield NewDocument(str(number), {fields[-1]: line.rstrip("\r\n")})
        return
    may_ignore_text = "text" not in fields
    may_lack_columns = form in ("csv", "tsv")
    for row in read_rows(lines, cast(TableFormat, form), name, encoding, problems):
        with _skip_errors(skip):
            document = _make_document(row, fields)
            if may_lack_columns:
                may_lack_columns = False
                _warn_of_missing_columns(name, row, fields)
            if may_ignore_text and _ignores_text(row, fields):
                may_ignore_text = False
                log.warning(
                    "Warning: %s: `text` is ignored (also in later documents); the model reads %s.",
                    row.where,
                    ", ".join(fields),
                )
            yield document


def read_folder(
    folder: Path, fields: Sequence[str], skip: SkipReporter | None = None, encoding: str = "utf-8"
) -> Iterator[NewDocument]:
    """Yield a document for each file below a folder, with its path there as id."""
    problems = _make_problems(skip)
    tree = DocumentTree(folder)
    for name, content in zip(tree.names, tree.contents(tree.names), strict=True):
        text = read_text(content, f"{folder}/{name}", encoding, problems, page=is_html(name))
        if text is not None:
            yield NewDocument(name, {fields[-1]: text})


def read_vector_documents(
    lines: Iterable[bytes], name: str, skip: SkipReporter | None = None
) -> Iterator[VectorDocument]:
    """Yield the vectors of a svmlight file, numbered without blank lines and comments; labels are ignored."""
    number = 0
    for place, line in enumerate(lines, 1):
        text = line.decode("latin-1").rstrip("\r\n")
        if place == 1:
            text = text.removeprefix(BYTE_ORDER_MARK)
        if not text.partition("#")[0].strip():
            continue
        number += 1
        with _skip_errors(skip):
            columns, weights = parse_vector(text, Path(name), place)
            yield VectorDocument(str(number), {}, columns=columns, weights=weights)


@dataclass
class _SkippedProblems(Problems):
    """Problems of documents that are left out; each is passed to `skip` as an error."""

    skip: SkipReporter | None = None

    def report(self, kind: str, what: str, where: str, hint: str = "") -> str:
        """Pass the problem on and return the action `skip`; without `skip`, raise it. Long fields are warned of."""
        if kind == "long-field":
            if not self.counts[kind]:
                log.warning("Warning: %s: %s; is its quote closed?", where, what)
            return super().report(kind, what, where)
        if self.skip is None:
            return super().report(kind, what, where, hint)
        self.skip(BadDataError(what, where=where, hint=self.hint))
        return "skip"


def _make_problems(skip: SkipReporter | None) -> _SkippedProblems:
    return _SkippedProblems(Problems.with_policy({"all": "error"}).policy, hint=_HINT, skip=skip)


@contextmanager
def _skip_errors(skip: SkipReporter | None) -> Iterator[None]:
    try:
        yield
    except BadDataError as error:
        if skip is None:
            raise
        skip(error)


def read_fields(values: Mapping[str, Any], fields: Sequence[str], where: str) -> dict[str, str]:
    """Return the fields of a document as text, or its `text` as the last field; raise BadDataError without any."""
    given = {field: to_text(values[field]) for field in fields if not is_missing(values.get(field))}
    if not given and not is_missing(values.get("text")):
        given = {fields[-1]: to_text(values["text"])}
    if not given:
        raise BadDataError(
            f"none of the fields {', '.join(fields)}, and no `text`: it has {', '.join(map(str, values)) or 'nothing'}",
            where=where,
            hint="Name a column or key after a field of the model, or `text`.",
        )
    return given


def _make_document(row: TableRow, fields: Sequence[str]) -> NewDocument:
    given = read_fields(row.values, fields, row.where)
    own_id = row.values.get("id") if "id" in row.values else _find_own_id(row.values, fields)
    return NewDocument(str(row.number if own_id in (None, "") else own_id), given)


def _find_own_id(values: Mapping[str, Any], fields: Sequence[str]) -> Any:
    """Return the value of the first column or key with a usual name for ids, such as `Id` or `doc_id`, or None.

    Row numbers would be taken for such ids.
    """
    usual = load_column_names()["id"]
    named = {str(key).strip().lower(): key for key in values if key not in fields}
    return next((values[named[name]] for name in usual if name in named), None)


def _warn_of_missing_columns(name: str, row: TableRow, fields: Sequence[str]) -> None:
    """Warn of fields of the model that the columns of a table do not have: they are empty in all documents."""
    missing = [field for field in fields if field not in row.values]
    # Without any of them `text` is read.
    if 0 < len(missing) < len(fields):
        log.warning(
            "Warning: %s: no column %s, which the model reads and which is empty then; the columns are %s.",
            name,
            " and ".join(map(repr, missing)),
            ", ".join(map(str, row.values)),
        )


def _ignores_text(row: TableRow, fields: Sequence[str]) -> bool:
    """Return whether the row has a `text` that is not used because it has fields of the model too."""
    values = row.values
    return values.get("text") is not None and any(values.get(field) is not None for field in fields)
