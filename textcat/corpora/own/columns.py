"""Which columns of a user's table hold text, labels, ids and the split: guessed from names and all values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from textcat.corpora.splits import is_split, side_named

_SEPARATORS = ("|", ";", ",", "/", " ")
# A column of prose has more words than a name has.
_WORDS_OF_TEXT = 5.0
# A column that so many documents lack is none that they all can be read by.
_PRESENT = 0.95
# Different values are kept up to so many characters a column: ids and labels fit, prose does not.
_KEPT_CHARACTERS = 1 << 22


@dataclass
class ColumnSummary:
    """What is kept of one column while its values pass by."""

    name: str
    present: int = 0
    words: int = 0
    has_lists: bool = False
    has_repeats: bool = False
    # How often each different value occurs, unless `is_complete` is false: then more values follow.
    values: Counter[str] = field(default_factory=Counter)
    is_complete: bool = True
    _characters: int = 0

    def add(self, value: Any) -> None:
        """Take in one row's value."""
        text = str(value)
        self.present += 1
        self.words += len(text.split())
        if isinstance(value, list):
            self.has_lists = True
        elif text in self.values:
            self.values[text] += 1
            self.has_repeats = True
        elif self._characters + len(text) <= _KEPT_CHARACTERS:
            self.values[text] = 1
            self._characters += len(text)
        else:
            self.is_complete = False

    @property
    def mean_words(self) -> float:
        """Words a value, on average."""
        return self.words / max(self.present, 1)


@dataclass(frozen=True)
class TableSummary:
    """The number of rows of a table, and its columns in the order in which they first appear."""

    rows: int
    columns: tuple[ColumnSummary, ...]


@dataclass(frozen=True)
class SideColumn:
    """The column with the sides of the split: how often each side occurs, and None for words of no side."""

    column: ColumnSummary
    rows: Mapping[str | None, int]


@dataclass(frozen=True)
class ColumnGuess:
    """What each column is taken for; `not_sides` says why columns named like a split are not taken for it."""

    text: tuple[ColumnSummary, ...]
    label: ColumnSummary
    separator: str | None
    id: ColumnSummary | None
    side: SideColumn | None
    not_sides: Mapping[str, str]


def summarize_columns(rows: Iterable[Mapping[str, Any]]) -> TableSummary:
    """Read all rows once and summarize each column; None counts as no value."""
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
    """Return the best guess; None where no column can be text or none can be labels."""
    columns = [column for column in table.columns if column.present]
    side = _find_side(columns)
    named_side = [
        column for column in _find_named_columns(columns, "side") if side is None or column is not side.column
    ]
    ids = (c for c in _find_named_columns(columns, "id") if _is_unique(c, table.rows))
    own_id = next(ids, None)
    rest = [c for c in columns if c is not own_id and (side is None or c is not side.column)]
    label = _find_label([c for c in rest if c not in named_side]) or _find_label(rest)
    text = _find_text([c for c in rest if c is not label], table.rows)
    if label is None or not text:
        return None
    others = [] if side else [c for c in named_side if c is not label and c not in text]
    not_sides = {column.name: _why_no_side(column) for column in others}
    return ColumnGuess(tuple(text), label, guess_separator(label), own_id, side, not_sides)


def guess_separator(column: ColumnSummary) -> str | None:
    """Return what separates several labels: the separator that makes the fewest different labels of the values.

    Pieces must be fewer than the whole values are, or names such as `Smith, John` would be torn apart.
    """
    best, fewest = None, len(column.values)
    for separator in _SEPARATORS:
        several = {value: n for value, n in column.values.items() if separator in value.strip()}
        pieces = {piece for value in column.values for piece in _pieces(value, separator)}
        alone = {value.strip() for value in column.values if value not in several}
        known = sum(n * sum(piece in alone for piece in _pieces(v, separator)) for v, n in several.items())
        parts = sum(n * (value.count(separator) + 1) for value, n in several.items())
        if several and len(pieces) < fewest and (separator != " " or known >= 0.5 * parts):
            best, fewest = separator, len(pieces)
    return best


def _pieces(value: str, separator: str) -> Iterator[str]:
    return (piece for part in value.split(separator) if (piece := part.strip()))


def _is_unique(column: ColumnSummary, rows: int) -> bool:
    return column.present == rows and not (column.has_repeats or column.has_lists)


def _find_side(columns: Sequence[ColumnSummary]) -> SideColumn | None:
    """A column named like a split with mostly names of sides; else one that has nothing but train and test."""
    named = _find_named_columns(columns, "side")
    for column in named:
        sides = _count_sides(column)
        if is_split(sides) and 2 * sides[None] < column.present:
            return SideColumn(column, sides)
    labels = _find_named_columns(columns, "label")
    for column in columns:
        sides = _count_sides(column)
        if (
            column not in named
            and column not in labels
            and not sides[None]
            and {"train", "test"} <= set(sides)
        ):
            return SideColumn(column, sides)
    return None


def _count_sides(column: ColumnSummary) -> Counter[str | None]:
    """How many rows name each side; None counts those that name none."""
    sides: Counter[str | None] = Counter()
    for value, number in column.values.items():
        sides[side_named(value)] += number
    if rest := column.present - sum(sides.values()):
        sides[None] += rest
    return sides


def _why_no_side(column: ColumnSummary) -> str:
    sides = _count_sides(column)
    known = sorted(side for side, number in sides.items() if side is not None and number)
    examples = [repr(value) for value in list(column.values)[:3]]
    if not known:
        return f"its values, such as {', '.join(examples)}, name no side"
    if not is_split(known):
        return f"it has only {' and '.join(known)} rows"
    return f"{sides[None]:,} of its values name no side"


def _find_label(columns: Sequence[ColumnSummary]) -> ColumnSummary | None:
    """By its name; else a column of lists; else the one of short values that repeat most."""
    by_name = [
        column
        for column in _find_named_columns(columns, "label")
        if column.mean_words < _WORDS_OF_TEXT or column.has_lists
    ]
    if by_name:
        return by_name[0]
    lists = [column for column in columns if column.has_lists]
    if lists:
        return lists[0]
    repeating = [
        c
        for c in columns
        if c.mean_words < _WORDS_OF_TEXT and c.is_complete and 1 < len(c.values) <= max(2.0, 0.2 * c.present)
    ]
    return min(repeating, key=lambda column: len(column.values), default=None)


def _find_text(columns: Sequence[ColumnSummary], rows: int) -> list[ColumnSummary]:
    """Columns of prose, and titles; else the column with the longest values."""
    no_lists = [c for c in columns if not c.has_lists]
    usable = [c for c in no_lists if c.present >= _PRESENT * rows] or no_lists
    named = _find_named_columns(usable, "text")
    prose = [c for c in usable if c.mean_words >= _WORDS_OF_TEXT or c in named]
    if prose:
        return prose
    longest = max(usable, key=lambda column: column.mean_words, default=None)
    return [longest] if longest and longest.mean_words > 1 else []


def _find_named_columns(columns: Sequence[ColumnSummary], kind: str) -> list[ColumnSummary]:
    """The columns with one of the names of a kind, in the order of the names."""
    return [
        column
        for name in _load_column_names()[kind]
        for column in columns
        if column.name.strip().lower() == name
    ]


@cache
def _load_column_names() -> dict[str, list[str]]:
    text = files("textcat.corpora").joinpath("lists", "column_names.yaml").read_text(encoding="utf-8")
    names: dict[str, list[str]] = yaml.safe_load(text)
    return names
