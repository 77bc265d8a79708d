"""Guess the format and encoding of a user's documents, and which columns hold text, labels, ids and the split.

Columns are guessed from their names and all values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from textcat.corpora.document import find_side_by_name, is_split
from textcat.corpora.own.tables import LABEL_PREFIX, guess_delimiter, parse_flag, parse_list
from textcat.errors import BadDataError, DataNotAvailableError, UsageError
from textcat.yaml_reader import list_first, read_packaged_yaml

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


_HINT = "Supported are CSV, TSV, JSON Lines, lines with `__label__`, svmlight, and a folder for each class."


def detect_format(path: Path) -> str:
    """Return csv, tsv, jsonl, fasttext, folders or svmlight."""
    if path.is_dir():
        return _check_folder(path)
    if not path.is_file():
        raise DataNotAvailableError("no such file or folder", where=str(path), hint="Fix the path.")
    first = _read_first_line(path) if path.suffix.lower() not in _OTHER_PROGRAMS else ""
    refuse_other_formats(str(path), first)
    if first.startswith(LABEL_PREFIX):
        return "fasttext"
    if _VECTOR.match(first):
        return "svmlight"
    if first.lstrip().startswith("{"):
        return "jsonl"
    return _guess_table_kind(path, first)


def refuse_other_formats(name: str, first: str) -> None:
    """Raise UsageError for a file that its ending, or its first line, shows to be in a format that is not read."""
    ending = Path(name).suffix.lower()
    if ending in _OTHER_PROGRAMS:
        raise UsageError(f"cannot read {ending} files", where=name, hint=_OTHER_PROGRAMS[ending])
    if ending == ".json" and first.lstrip().startswith("["):
        raise UsageError(
            "cannot read a JSON list", where=name, hint="Write one object on each line (.jsonl)."
        )


_NOT_IN_CP1252 = {0x81, 0x8D, 0x8F, 0x90, 0x9D}


def detect_encoding(*paths: Path) -> str:
    """Return the encoding of text files, judged by all of their lines; raise UsageError where they differ."""
    found = {}
    for path in paths:
        with path.open("rb") as opened:
            found[path] = choose_encoding(opened, ascii_only="")
    different = {encoding for encoding in found.values() if encoding}
    if len(different) > 1:
        what = ", ".join(f"{path} is {encoding}" for path, encoding in found.items())
        raise UsageError(f"the files have different encodings: {what}", hint="Convert them to utf-8.")
    return next(iter(different), "utf-8")


def choose_encoding(pieces: Iterable[bytes], ascii_only: str = "utf-8") -> str:
    """Return latin-1 or cp1252 if most non-ASCII pieces are not utf-8, else utf-8.

    A few damaged lines do not make a file latin-1 (in which every byte is valid). Where latin-1 has control characters,
    cp1252 has letters such as \u0153 and \u0161, quotation marks and the euro.
    """
    beyond_ascii = damaged = 0
    others: set[int] = set()
    for piece in pieces:
        if not piece.isascii():
            beyond_ascii += 1
            if not _is_utf8(piece):
                damaged += 1
                others.update(piece)
    if 2 * damaged <= beyond_ascii:
        return "utf-8" if beyond_ascii else ascii_only
    return "cp1252" if others & set(range(0x80, 0xA0)) and not others & _NOT_IN_CP1252 else "latin-1"


def choose_file_encoding(content: bytes) -> str:
    """Return the encoding of a file on its own; utf-8 if it has more characters of utf-8 than damaged bytes."""
    if content.isascii() or _is_utf8(content):
        return "utf-8"
    read = content.decode("utf-8", errors="replace")
    damaged = read.count("\N{REPLACEMENT CHARACTER}")
    is_damaged = 2 * damaged < sum(1 for letter in read if not letter.isascii())
    return "utf-8" if is_damaged else choose_encoding([content])


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read_first_line(path: Path) -> str:
    with path.open("rb") as opened:
        beginning = opened.read(SAMPLE_BYTES)
    if b"\0" in beginning:
        raise BadDataError("not a text file, or one in utf-16", where=str(path), hint="Convert it to utf-8.")
    lines = beginning.decode("utf-8-sig", errors="replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise BadDataError("the file is empty", where=str(path), hint="Name a file with documents.")
    return first


def _guess_table_kind(path: Path, header: str) -> str:
    separators = {"tsv": header.count("\t"), "csv": header.count(guess_delimiter(header))}
    best = max(separators, key=lambda kind: separators[kind])
    if not separators[best]:
        what = "its first line is neither a header of columns, nor JSON, nor a vector"
        raise UsageError(what, where=str(path), hint=_HINT)
    return best


def _check_folder(path: Path) -> str:
    inside = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
    folders = [entry for entry in inside if entry.is_dir()]
    sides = {find_side_by_name(entry.name) for entry in folders} - {None}
    if sides and not is_split(sides):
        hint = f"Name the one whose folders are the classes, such as {folders[-1]}."
        raise UsageError("its folders are sides of a split, not classes", where=str(path), hint=hint)
    sided = {side: entry for entry in inside if (side := find_side_by_name(entry.stem))}
    if not folders and {"train", "test"} <= set(sided):
        hint = f"Name the files: {sided['train']} --test {sided['test']}"
        raise UsageError("a folder with a file for each side of a split", where=str(path), hint=hint)
    if not folders and not (path / "documents.zip").is_file():
        hint = f"{_HINT} Put each class's documents into a folder of the class's name."
        raise UsageError("the folder has no subfolders", where=str(path), hint=hint)
    return "folders"


def report_files(names: Sequence[str], *, sided: bool) -> list[str]:
    """Return lines on files that are in no folder of a class, and on documents with different endings."""
    outside = [name for name in names if name.count("/") < 1 + sided]
    lines = (
        [f"{len(outside):,} files in no folder of a class are not read: {list_first(outside)}"]
        if outside
        else []
    )
    endings = Counter(Path(name).suffix.lower() for name in set(names).difference(outside))
    several = [
        (ending, number) for ending, number in sorted(endings.items()) if 20 * number >= endings.total()
    ]
    if len(several) > 1:
        counted = ", ".join(f"{number:,} {ending or 'without'}" for ending, number in several)
        lines.append(f"files with different endings are all read as documents: {counted}")
    return lines


_SEPARATORS = ("|", ";", ",", " ")
# Columns with more words per value are text.
WORDS_OF_TEXT = 5.0
# A column of text must be present in this share of the rows.
_PRESENT = 0.95
# Distinct values are kept up to this many characters per column: ids and labels fit, text does not.
_KEPT_CHARACTERS = 1 << 22


@dataclass
class ColumnSummary:
    """Statistics of one column, updated value by value."""

    name: str
    present: int = 0
    words: int = 0
    # JSON lists and objects with a mark for each label, and texts such as ['a', 'b'].
    lists: int = 0
    written_lists: int = 0
    has_repeats: bool = False
    # Occurrences of each distinct value; incomplete if `is_complete` is false.
    values: Counter[str] = field(default_factory=Counter)
    is_complete: bool = True
    _characters: int = 0

    def add(self, value: Any) -> None:
        """Add the value of one row."""
        text = str(value)
        self.present += 1
        self.words += len(text.split())
        if isinstance(value, list) or _is_marked(value):
            self.lists += 1
            return
        self.written_lists += parse_list(value) is not value
        if text in self.values:
            self.values[text] += 1
            self.has_repeats = True
        elif self._characters + len(text) <= _KEPT_CHARACTERS:
            self.values[text] = 1
            self._characters += len(text)
        else:
            self.is_complete = False

    @property
    def has_lists(self) -> bool:
        """Whether some values are JSON lists, or all are lists as text."""
        return self.lists > 0 or 0 < self.written_lists == self.present

    @property
    def mean_words(self) -> float:
        """Mean number of words per value."""
        return self.words / max(self.present, 1)


def _is_marked(value: Any) -> bool:
    """Return whether a value is an object with a mark for each label, such as {"spam": 1, "urgent": 0}."""
    return isinstance(value, dict) and bool(value) and None not in map(parse_flag, value.values())


@dataclass(frozen=True)
class TableSummary:
    """The number of rows of a table, and its columns in order of first occurrence."""

    rows: int
    columns: tuple[ColumnSummary, ...]


@dataclass(frozen=True)
class SideColumn:
    """The column with the sides of the split, and the rows of each side (None: of words that name no side)."""

    column: ColumnSummary
    rows: Mapping[str | None, int]


@dataclass(frozen=True)
class ColumnGuess:
    """The use of each column; `not_sides` says why a column named like a split is not used as such.

    Several columns of labels hold a mark for each document that has the label.
    """

    text: tuple[ColumnSummary, ...]
    labels: tuple[ColumnSummary, ...]
    separator: str | None
    id: ColumnSummary | None
    side: SideColumn | None
    not_sides: Mapping[str, str]


def summarize_columns(rows: Iterable[Mapping[str, Any]]) -> TableSummary:
    """Summarize each column in one pass over the rows; None counts as no value."""
    columns: dict[str, ColumnSummary] = {}
    number = 0
    for row in rows:
        number += 1
        for name, value in row.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = ColumnSummary(name)
            if value is not None:
                column.add(value)
    return TableSummary(number, tuple(columns.values()))


def guess_columns(table: TableSummary) -> ColumnGuess | None:
    """Return the best guess; None if no column can be text or none can be labels."""
    columns = [column for column in table.columns if column.present]
    side = _find_side(columns)
    used = side.column if side else None
    named_side = [column for column in _find_named_columns(columns, "side") if column is not used]
    ids = (c for c in _find_named_columns(columns, "id") if c.present == table.rows)
    own_id = next((c for c in ids if not (c.has_repeats or c.has_lists)), None)
    rest = [c for c in columns if c is not own_id and c is not used]
    labels = _find_labels([c for c in rest if c not in named_side]) or _find_labels(rest)
    text = _find_text([c for c in rest if c not in labels], table.rows)
    if not labels or not text:
        return None
    is_separated = len(labels) == 1 and not labels[0].has_lists
    separator = guess_separator(labels[0]) if is_separated else None
    others = [] if side else [c for c in named_side if c not in labels and c not in text]
    not_sides = {column.name: _explain_missing_side(column) for column in others}
    return ColumnGuess(tuple(text), tuple(labels), separator, own_id, side, not_sides)


def list_unused_columns(guess: ColumnGuess, table: TableSummary) -> list[str]:
    """Return the names of the columns that a guess does not use, except those that it explains."""
    used = [*guess.text, *guess.labels, *filter(None, [guess.id, guess.side and guess.side.column])]
    # A column `id` is used even if it repeats; one without a name ends each line with a delimiter.
    names = [column.name for column in table.columns if column not in used and column.name not in ("id", "")]
    return [name for name in names if name not in guess.not_sides]


def guess_separator(column: ColumnSummary) -> str | None:
    """Return the separator of several labels: the one that gives the fewest distinct labels.

    They must be fewer than the distinct values, or names such as `Smith, John` would be split. Spaces separate only
    where half of the labels that they would separate also occur alone.
    """
    best, fewest = None, len(column.values)
    for separator in _SEPARATORS:
        pieces = {piece for value in column.values for piece in _split_value(value, separator)}
        if len(pieces) < fewest and (separator != " " or _occur_alone(column.values)):
            best, fewest = separator, len(pieces)
    return best


def _occur_alone(values: Mapping[str, int]) -> bool:
    """Return whether at least half of the labels that spaces would separate are also whole values."""
    several = {value: number for value, number in values.items() if " " in value.strip()}
    alone = {value.strip() for value in values} - {value.strip() for value in several}
    parts = sum(number * len(value.split()) for value, number in several.items())
    known = sum(number * sum(part in alone for part in value.split()) for value, number in several.items())
    return 2 * known >= parts


def _split_value(value: str, separator: str) -> Iterator[str]:
    return (piece for part in value.split(separator) if (piece := part.strip()))


def _find_side(columns: Sequence[ColumnSummary]) -> SideColumn | None:
    """Return a column named like a split with mostly names of sides."""
    for column in _find_named_columns(columns, "side"):
        sides = _count_sides(column)
        if is_split(sides) and 2 * sides[None] < column.present:
            return SideColumn(column, sides)
    return None


def _count_sides(column: ColumnSummary) -> Counter[str | None]:
    """Return the rows that name each side; None counts those that name no side."""
    sides: Counter[str | None] = Counter()
    for value, number in column.values.items():
        sides[find_side_by_name(value)] += number
    if rest := column.present - sum(sides.values()):
        sides[None] += rest
    return sides


def _explain_missing_side(column: ColumnSummary) -> str:
    sides = _count_sides(column)
    known = sorted(side for side, number in sides.items() if side is not None and number)
    examples = [repr(value) for value in list(column.values)[:3]]
    if not known:
        return f"its values, such as {', '.join(examples)}, name no side"
    if not is_split(known):
        return f"it has only {' and '.join(known)} rows"
    return f"{sides[None]:,} of its values name no side"


def _find_labels(columns: Sequence[ColumnSummary]) -> list[ColumnSummary]:
    """Return a column by its name; else one of lists; else all columns of marks; else the one that repeats most."""
    named = _find_named_columns(columns, "label")
    by_name = [c for c in named if c.mean_words < WORDS_OF_TEXT or c.has_lists]
    short = (c for c in columns if c.lists or (c.has_lists and c.mean_words < WORDS_OF_TEXT))
    if certain := by_name or list(short):
        return certain[:1]
    marks = [column for column in columns if _has_marks(column)]
    if len(marks) > 1:
        return marks
    repeating = [
        c
        for c in columns
        if c.mean_words < WORDS_OF_TEXT and c.is_complete and 1 < len(c.values) <= max(2.0, 0.2 * c.present)
    ]
    return sorted(repeating, key=lambda column: len(column.values))[:1]


def _has_marks(column: ColumnSummary) -> bool:
    """Return whether all values say yes or no, some of them yes."""
    flags = {parse_flag(value) for value in column.values}
    return column.is_complete and not column.has_lists and True in flags and None not in flags


def _find_text(columns: Sequence[ColumnSummary], rows: int) -> list[ColumnSummary]:
    """Return columns of prose and titles; else the column with the longest values."""
    no_lists = [c for c in columns if not c.lists]
    usable = [c for c in no_lists if c.present >= _PRESENT * rows] or no_lists
    named = _find_named_columns(usable, "text")
    prose = [c for c in usable if c.mean_words >= WORDS_OF_TEXT or c in named]
    if prose:
        return prose
    longest = max(usable, key=lambda column: column.mean_words, default=None)
    return [longest] if longest and longest.mean_words > 1 else []


def _find_named_columns(columns: Sequence[ColumnSummary], kind: str) -> list[ColumnSummary]:
    """Return the columns with one of the names of a kind, in the order of the names."""
    return [
        column
        for name in load_column_names()[kind]
        for column in columns
        if column.name.strip().lower() == name
    ]


@cache
def load_column_names() -> dict[str, list[str]]:
    """Return the usual names of columns, in small letters, by what they hold."""
    return dict(read_packaged_yaml("corpora/lists/column_names.yaml"))
