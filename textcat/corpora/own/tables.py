"""Read rows of tables with their lines, for training and for new documents; policies for bad rows.

A table is CSV, TSV, JSON Lines, or lines with labels such as `__label__price What does it cost?`.

Rows stream: no more than one is held. A byte-order mark at the beginning of a file is skipped.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from textcat.corpora.collection_files import is_writable
from textcat.corpora.own.problems import Problems
from textcat.errors import BadDataError, DataNotAvailableError
from textcat.store.files import RepeatedKeyError, make_json_object

TableFormat = Literal["csv", "tsv", "jsonl", "fasttext"]
TABLES: tuple[TableFormat, ...] = get_args(TableFormat)
LABEL_PREFIX = "__label__"
_PREFIXED_LABEL = re.compile(rf"(?<!\S){LABEL_PREFIX}(\S+)")
_DELIMITERS = (",", ";", "|")
_QUOTED = re.compile(r'"[^"]*"')
_DECLARED = re.compile(r'\s*"?sep=(.)"?\s*', re.IGNORECASE)
_MAX_FIELD_BYTES = 1 << 28
_FAULTS = {"unexpected end of data": "a quote is not closed"}
_QUOTE_HINT = (
    'Close the quote, write "" for a quote in a quoted text, or skip such rows (policy: {malformed: skip}).'
)
# A field of more lines may be an open quote that takes the rows after it.
MANY_LINES = 50


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
_LIST = re.compile(rf"\[\s*(?:{_ITEM}(?:\s*,\s*{_ITEM})*)?\s*\]")


def parse_list(value: Any) -> Any:
    """Return the items of a list, also of one written as text (`['a', 'b']`); other values as they are."""
    if not isinstance(value, str) or not _LIST.fullmatch(written := value.strip()):
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

    The header of a CSV file shows what separates its columns, or a line `sep=;` before it, as Excel has it.
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
    return _read_delimited_rows(_Lines(chain(first, stream), encoding), name, delimiter, is_spaced, problems)


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


class _Lines(Iterator[str]):
    """The lines of a table, of which `csv` takes those of one record at a time.

    `first` and `last` are the lines of the record, `fault` is the first line that cannot be decoded, and why.
    """

    def __init__(self, lines: Iterable[bytes], encoding: str) -> None:
        self._lines = _decode_each(lines, encoding)
        self.first, self.last = 1, 0
        self.fault: tuple[int, str] | None = None

    def begin_record(self) -> None:
        """Begin a record with the next line."""
        self.first, self.fault = self.last + 1, None

    def __next__(self) -> str:
        text, fault = next(self._lines)
        self.last += 1
        if fault and self.fault is None:
            self.fault = (self.last, fault)
        return text


def _read_delimited_rows(
    lines: _Lines, name: str, delimiter: str, is_spaced: bool, problems: Problems
) -> Iterator[TableRow]:
    """Yield the rows as Python's `csv` reads them; quoted fields may span lines, and blank lines are skipped.

    If `is_spaced`, a space after a delimiter is no part of a field. A fault of the header is always an error, because
    the next line would be taken for the names of the columns.
    """
    csv.field_size_limit(_MAX_FIELD_BYTES)
    reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=is_spaced)
    header = _read_header(reader, lines, name, problems)
    number = 0
    while header is not None:
        lines.begin_record()
        try:
            values, problem = next(reader, None), ""
        except csv.Error as error:
            values, problem = [], _FAULTS.get(str(error), str(error))
        if values is None:
            return
        if not values and not problem:
            continue
        number += 1
        where = f"{name}:{lines.first}"
        if problem:
            lost = f" (lines {lines.first} to {lines.last})" if lines.last > lines.first else ""
            problems.report("malformed", f"cannot be parsed: {problem}{lost}", where, _QUOTE_HINT)
        elif _is_decoded(lines, name, problems):
            if what := _find_fault(header, values):
                problems.report("malformed", what, where)
                continue
            if lines.last - lines.first >= MANY_LINES:
                problems.report("long-field", f"a field goes on to line {lines.last}", where)
            yield TableRow(where, dict(zip(header, values, strict=True)), number)


def _is_decoded(lines: _Lines, name: str, problems: Problems) -> bool:
    """Return whether the record just read can be kept; report a fault in its encoding."""
    if lines.fault is None:
        return True
    line, what = lines.fault
    return problems.report("encoding", what, f"{name}:{line}") == "replace"


def _read_header(
    reader: Iterator[list[str]], lines: _Lines, name: str, problems: Problems
) -> list[str] | None:
    """Return the names of the columns, or None for an empty file."""
    hint = problems.hint or "Fix the first line, which names the columns."
    try:
        names = next(filter(None, reader), None)
    except csv.Error as problem:
        if "new-line character" in str(problem):
            hint = "Save it with line ends of Unix or Windows (LF or CR LF)."
            raise BadDataError("its lines end with CR alone", where=f"{name}:1", hint=hint) from problem
        raise BadDataError(f"cannot be parsed: {problem}", where=f"{name}:1", hint=hint) from problem
    where = f"{name}:{lines.last}"
    if names is not None and not _is_decoded(lines, name, problems):
        raise BadDataError("the names of the columns cannot be decoded", where=where, hint=hint)
    times = Counter(filter(None, names or ()))
    if repeated := sorted(each for each in times if times[each] > 1):
        hint = "Give each column of the header a name of its own."
        raise BadDataError(f"two columns are called {repeated[0]!r}", where=where, hint=hint)
    return names


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
