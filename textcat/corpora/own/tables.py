"""Read rows of tables with their lines, for training and for new documents; policies for bad rows.

A table is CSV, TSV, JSON Lines, or lines with labels such as `__label__price What does it cost?`.

Rows stream: no more than one is held. A byte-order mark at the beginning of a file is skipped.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from textcat.corpora.collection_files import is_writable
from textcat.corpora.own.open_quotes import RowEvidence
from textcat.corpora.own.problems import Problems
from textcat.errors import BadDataError, DataNotAvailableError
from textcat.store.files import RepeatedKeyError, make_json_object
from textcat.yaml_reader import read_packaged_yaml

TableFormat = Literal["csv", "tsv", "jsonl", "fasttext"]
TABLES: tuple[TableFormat, ...] = get_args(TableFormat)
LABEL_PREFIX = "__label__"
_PREFIXED_LABEL = re.compile(rf"(?<!\S){LABEL_PREFIX}(\S+)")
_DELIMITERS = (",", ";", "|")
_QUOTED = re.compile(r'"[^"]*"')
_DECLARED = re.compile(r'\s*"?sep=(.)"?\s*', re.IGNORECASE)
_MAX_FIELD_BYTES = 1 << 28
_FAULTS = {"unexpected end of data": "a quote is not closed"}
_CLOSE_QUOTE = (
    'Close the quote, write "" for a quote in a quoted text, or set the policy for open-quote to skip (leave this '
    "row out) or keep (one document with all these lines)."
)


def is_missing(value: Any) -> bool:
    """Return whether a value stands for none: None, or NaN as pandas has it."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def to_text(value: Any) -> str:
    """Return a value as text: the values of a list or an object line by line, without those that are missing."""
    if isinstance(value, list | dict):
        parts = value if isinstance(value, list) else value.values()
        return "\n".join(to_text(part) for part in parts if not is_missing(part))
    return str(value)


_ITEM = r"""(?:'[^']*'|"[^"]*"|[-+]?\d+(?:\.\d+)?)"""
_ITEMS = re.compile(_ITEM)
_LIST = re.compile(rf"[\[({{]\s*(?:{_ITEM}(?:(?:\s*,\s*|\s+){_ITEM})*\s*,?\s*)?[\])}}]")


def parse_list(value: Any) -> Any:
    """Return the items of a list, also of one that a program wrote as text (`['a', 'b']`); other values as they are."""
    if not isinstance(value, str) or not _LIST.fullmatch(written := value.strip()):
        return value
    if written[0] == "(" and "," not in _ITEMS.sub("", written) and _ITEMS.search(written):
        # A tuple has a comma, also of one item; a label may be (1).
        return value
    return [item[1:-1] if item[0] in "'\"" else item for item in _ITEMS.findall(written)]


_FLAGS = {
    "1": True,
    "1.0": True,
    "true": True,
    "yes": True,
    "0": False,
    "0.0": False,
    "false": False,
    "no": False,
}


def parse_flag(value: Any) -> bool | None:
    """Return whether a value says yes; None if it says neither yes nor no. An empty value says no."""
    return _FLAGS.get(str(value).strip().lower() or "no")


class TableRow(NamedTuple):
    """One record: `where` it begins (file:line), its values by column, and its number.

    Records of JSON Lines are numbered by their lines, others from 1 on; those that are skipped count.
    """

    where: str
    values: Mapping[str, Any]
    number: int = 0


def read_table_file(path: Path, form: TableFormat, encoding: str, problems: Problems) -> Iterator[TableRow]:
    """Yield the rows of a file."""
    if not path.is_file():
        raise DataNotAvailableError(
            "no such file",
            where=str(path),
            hint="Fix `corpus.path`; it is relative to the experiment file.",
        )
    with path.open("rb") as opened:
        yield from read_rows(opened, form, str(path), encoding, problems)


def read_rows(
    lines: Iterable[bytes], form: TableFormat, name: str, encoding: str, problems: Problems
) -> Iterator[TableRow]:
    """Yield the rows of a stream of lines; `name` is what errors call it.

    The header of a CSV file shows what separates its columns, or a line `sep=;` before it, as Excel has it. The header
    of a TSV file shows whether all fields are in quotes.
    """
    if form == "jsonl":
        return _read_json_rows(decode_lines(lines, name, encoding, problems), name, problems)
    if form == "fasttext":
        return _read_prefixed_rows(decode_lines(lines, name, encoding, problems), name)
    first = list(_take_header(stream := iter(lines)))
    header = b"".join(first).decode(choose_codec(encoding), errors="replace")
    delimiter = "\t" if form == "tsv" else guess_delimiter(header)
    if declared := _DECLARED.fullmatch(header):
        first, delimiter = [b"\n"] * len(first), declared[1]
    # Without this the quotes after a space would be part of names and labels.
    is_spaced = f'{delimiter} "' in header
    are_quoted = is_spaced or all(part.startswith('"') for part in header.strip().split(delimiter))
    reader = _TabReader if delimiter == "\t" and not are_quoted else _DelimitedReader
    rows = reader(chain(first, stream), name, encoding, problems).read(delimiter, is_spaced=is_spaced)
    return _skip_orange_lines(rows) if form == "tsv" else rows


def _take_header(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines up to the first that is not blank."""
    for line in lines:
        yield line
        if line.strip():
            return


def guess_delimiter(header: str) -> str:
    """Return the comma, or the semicolon or bar if the header has more of these outside of quotes."""
    plain = _QUOTED.sub("", header)
    return max(_DELIMITERS, key=plain.count)


def decode_lines(
    lines: Iterable[bytes], name: str, encoding: str, problems: Problems
) -> Iterator[tuple[int, str]]:
    """Yield each line with its number; undecodable bytes are replaced, or their line skipped, by policy."""
    for number, (text, fault) in enumerate(_decode_each(lines, encoding), 1):
        if not fault or problems.report("encoding", fault, f"{name}:{number}") == "replace":
            yield number, text


def _decode_each(lines: Iterable[bytes], encoding: str) -> Iterator[tuple[str, str]]:
    """Yield each line and what is wrong with its encoding, or an empty text; undecodable bytes are replaced."""
    first, plain = choose_codec(encoding), encoding.lower().replace("_", "-").removesuffix("-sig")
    for number, line in enumerate(lines, 1):
        used = first if number == 1 else plain
        try:
            yield line.decode(used), ""
        except UnicodeDecodeError as problem:
            what = f"byte {problem.start + 1} of the line is not {plain}"
            yield line.decode(used, errors="replace"), what


def choose_codec(encoding: str) -> str:
    """Return the codec for the beginning of a file: that of UTF-8 skips a byte-order mark."""
    plain = encoding.lower().replace("_", "-").removesuffix("-sig")
    return "utf-8-sig" if plain in ("utf-8", "utf8") else encoding


class _Line(NamedTuple):
    """A line with its number and what is wrong with its encoding, or an empty text."""

    number: int
    text: str
    fault: str


def _find_fault(header: Sequence[str], values: Sequence[str]) -> str:
    """Return what is wrong with the fields of a row, or an empty text.

    Spreadsheets write several columns without a name or a value.
    """
    if len(values) != len(header):
        return f"{len(values)} fields where the header has {len(header)}"
    if header.count("") > 1 and any(
        value.strip() for name, value in zip(header, values, strict=True) if not name
    ):
        return "a value in one of several columns without a name"
    return ""


class _DelimitedReader:
    """Reads the rows of a table whose first line names the columns; quoted fields may span lines.

    Blank lines are skipped. A record is skipped as a whole, with all its lines up to one that looks like a row; a fault
    of the header is always an error, because the next line would be taken for the names of the columns.
    """

    def __init__(self, lines: Iterable[bytes], name: str, encoding: str, problems: Problems) -> None:
        self._lines = _decode_each(lines, encoding)
        self._name = name
        self._problems = problems
        self._last = 0
        self._fault: tuple[int, str] | None = None
        # Lines that were read and returned, and those of the record that is read.
        self._returned: deque[_Line] = deque()
        self._record: list[_Line] = []

    def read(self, delimiter: str, *, is_spaced: bool = False) -> Iterator[TableRow]:
        """Yield the rows; if `is_spaced`, a space after a delimiter is no part of a field."""
        csv.field_size_limit(_MAX_FIELD_BYTES)
        reader = csv.reader(self, delimiter=delimiter, strict=True, skipinitialspace=is_spaced)
        header = self._read_header(reader)
        evidence = RowEvidence(delimiter, len(header or ()))
        number = 0
        while header is not None:
            self._record = []
            try:
                values, problem = next(reader, None), ""
            except csv.Error as error:
                values, problem = [], _FAULTS.get(str(error), str(error))
            if values is None:
                return
            if not values and not problem:
                continue
            number += 1
            where = f"{self._name}:{self._record[0].number}"
            if self._is_left_out(problem, where, evidence, len(header)):
                continue
            self._fault = next(((line.number, line.fault) for line in self._record if line.fault), None)
            if self._is_decoded():
                what = _find_fault(header, values)
                if not what:
                    evidence.add(values)
                    yield TableRow(where, dict(zip(header, values, strict=True)), number)
                else:
                    self._problems.report("malformed", what, where)

    def _is_left_out(self, problem: str, where: str, evidence: RowEvidence, width: int) -> bool:
        """Report a record that cannot be parsed, or holds lines that look like rows, and return these lines."""
        row = None
        if len(self._record) > 1 < width:
            lines = [line.text for line in self._record]
            row = evidence.find_row(lines, self._peek, is_closed=not problem)
        rest = self._record[max(row, 1) :] if row is not None else []
        own = self._record[: len(self._record) - len(rest)]
        if problem:
            lost = f" (lines {own[0].number} to {own[-1].number})" if len(own) > 1 else ""
            self._problems.report("malformed", f"cannot be parsed: {problem}{lost}", where)
        elif row is None:
            return False
        else:
            what = (
                f"the quoted field that begins here goes on to line {rest[-1].number}, and line "
                f"{rest[0].number} looks like a row: is its quote not closed?"
            )
            if self._problems.report("open-quote", what, where, _CLOSE_QUOTE) == "keep":
                return False
        self._returned.extendleft(reversed(rest))
        return True

    def _peek(self, most: int) -> list[str]:
        """Return the next lines, which are read again later."""
        found = list(islice(iter(self._take_line, None), most))
        self._returned.extendleft(reversed(found))
        return [line.text for line in found]

    def _take_line(self) -> _Line | None:
        """Return the next line, first of those that were returned; None at the end."""
        if self._returned:
            return self._returned.popleft()
        for text, fault in self._lines:
            self._last += 1
            return _Line(self._last, text, fault)
        return None

    def __iter__(self) -> Iterator[str]:
        """Return the lines of records; an iterator may go on after its end, where lines were returned."""
        return self

    def __next__(self) -> str:
        """Return the next line of the record."""
        if (line := self._take_line()) is None:
            raise StopIteration
        self._record.append(line)
        return line.text

    def _is_decoded(self) -> bool:
        """Return whether the record just read can be kept; report a fault in its encoding."""
        fault, self._fault = self._fault, None
        if fault is None:
            return True
        line, what = fault
        return self._problems.report("encoding", what, f"{self._name}:{line}") == "replace"

    def _read_header(self, reader: Iterator[list[str]]) -> list[str] | None:
        """Return the names of the columns, or None for an empty file."""
        where = f"{self._name}:1"
        try:
            names = next(filter(None, reader), None)
            self._fault = next(((line.number, line.fault) for line in self._record if line.fault), None)
            kept = names is None or self._is_decoded()
        except csv.Error as problem:
            if "new-line character" in str(problem):
                hint = "Save it with line ends of Unix or Windows (LF or CR LF)."
                raise BadDataError("its lines end with CR alone", where=where, hint=hint) from problem
            raise self._make_header_error(f"cannot be parsed: {problem}", where) from problem
        where = f"{self._name}:{self._last}"
        if not kept:
            raise self._make_header_error("the names of the columns cannot be decoded", where)
        if repeated := sorted(
            name for name, times in Counter(filter(None, names or ())).items() if times > 1
        ):
            hint = "Give each column of the header a name of its own."
            raise BadDataError(f"two columns are called {repeated[0]!r}", where=where, hint=hint)
        return names

    def _make_header_error(self, what: str, where: str) -> BadDataError:
        hint = self._problems.hint or "Fix the first line, which names the columns."
        return BadDataError(what, where=where, hint=hint)


def _skip_orange_lines(rows: Iterator[TableRow]) -> Iterator[TableRow]:
    """Yield the rows without the two lines below the header that Orange writes: types of columns, and their roles."""
    words, held = _load_orange_words(), []
    for kind, first in zip(("types", "roles"), rows, strict=False):
        held.append(first)
        found = [str(value).lower() for value in first.values.values()]
        known = all(word in ("", *words[kind]) or (kind == "roles" and "=" in word) for word in found)
        if not known or (kind == "types" and not any(found)):
            yield from chain(held, rows)
            return
    yield from (row._replace(number=row.number - 2) for row in rows) if len(held) == 2 else held


@cache
def _load_orange_words() -> dict[str, list[str]]:
    return dict(read_packaged_yaml("corpora/lists/orange_header.yaml"))


class _QuoteIsTextError(Exception):
    """A quote at the beginning of a field opens no quoted field."""


class _TabReader(_DelimitedReader):
    """Reads the rows of a table with tabs between its columns, in which a quote may be a character of the text.

    Fields in quotes are read as in CSV. Where a line and all lines that its open quote would join have all fields, the
    quote is part of the text: many programs write texts with tabs between them as they are.
    """

    # Lines that one record may have, and lines with all fields that follow one another in it.
    MOST_LINES, MOST_WHOLE = 10_000, 20

    def read(self, delimiter: str = "\t", *, is_spaced: bool = False) -> Iterator[TableRow]:
        """Yield the rows."""
        csv.field_size_limit(_MAX_FIELD_BYTES)
        header = self._read_header(csv.reader(self, delimiter=delimiter, strict=True))
        number = 0
        while header is not None and (line := self._take_line()) is not None:
            if not line.text.rstrip("\r\n"):
                continue
            number += 1
            where = f"{self._name}:{line.number}"
            values, what = self._parse_record(line, delimiter, len(header))
            if what := what or _find_fault(header, values):
                self._problems.report("malformed", what, where)
                self._fault = None
            elif self._is_decoded():
                yield TableRow(where, dict(zip(header, values, strict=True)), number)

    def _parse_record(self, first: _Line, delimiter: str, width: int) -> tuple[list[str], str]:
        """Return the fields of the record that begins with a line, and what is wrong with it, or an empty text."""
        lines = [first]
        fields = first.text.rstrip("\r\n").split(delimiter)
        what = f"{len(fields)} fields where the header has {width}"
        if any(field.startswith('"') for field in fields):
            try:
                found = next(
                    csv.reader(self._take_quoted(lines, delimiter, width), delimiter=delimiter, strict=True)
                )
                is_quoted = len(found) == width and not (
                    len(lines) > 1 < width and all(line.text.count(delimiter) == width - 1 for line in lines)
                )
            except _QuoteIsTextError:
                is_quoted = False
            except csv.Error as problem:
                is_quoted, what = False, f"cannot be parsed: {problem}"
            if is_quoted:
                fields = found
            else:
                self._returned.extendleft(reversed(lines[1:]))
                del lines[1:]
        self._fault = next(((line.number, line.fault) for line in lines if line.fault), None)
        return fields, "" if len(fields) == width else what

    def _take_quoted(self, lines: list[_Line], delimiter: str, width: int) -> Iterator[str]:
        """Yield the lines of a record as they are needed, and add them to `lines`; raise if a quote is no quoting."""
        whole = 0
        yield lines[0].text
        while (line := self._take_line()) is not None:
            lines.append(line)
            whole = whole + 1 if width > 1 and line.text.count(delimiter) == width - 1 else 0
            if whole > self.MOST_WHOLE or len(lines) > self.MOST_LINES:
                raise _QuoteIsTextError
            yield line.text


# JSON has no NaN and no infinity; programs that write them mean a value that is missing.
_JSON = json.JSONDecoder(parse_constant=lambda name: None, object_pairs_hook=make_json_object)


def _read_json_rows(lines: Iterable[tuple[int, str]], name: str, problems: Problems) -> Iterator[TableRow]:
    """Yield the objects, one on each line; blank lines are skipped."""
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            values = _JSON.decode(line.strip())
            is_whole = "\\u" not in line or is_writable(json.dumps(values, ensure_ascii=False))
        except RepeatedKeyError as problem:
            problems.report("malformed", str(problem), where)
            continue
        except (ValueError, RecursionError) as problem:
            problems.report("malformed", f"not JSON: {problem}", where)
            continue
        if not is_whole:
            problems.report("malformed", "it has half of a surrogate pair", where)
        elif isinstance(values, dict):
            yield TableRow(where, values, number)
        else:
            problems.report("malformed", "not a JSON object", where)


def _read_prefixed_rows(lines: Iterable[tuple[int, str]], name: str) -> Iterator[TableRow]:
    """Yield the text and the labels of each line: the words that begin with `__label__`; blank lines are skipped."""
    for number, line in lines:
        if line.strip():
            text = _PREFIXED_LABEL.sub("", line).strip()
            yield TableRow(f"{name}:{number}", {"text": text, "label": _PREFIXED_LABEL.findall(line)}, number)
