"""Which columns of a user's table hold text, labels, ids and the split: guessed from names and values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

_SEPARATORS = ("|", ";", ",", "/", " ")
# A column of prose has more words than a name has.
_WORDS_OF_TEXT = 5.0
# A column that so many documents lack is none that they all can be read by.
_PRESENT = 0.95


@dataclass(frozen=True)
class Column:
    """One column's values, with what they say of it."""

    name: str
    values: Sequence[Any]
    rows: int

    @property
    def present(self) -> float:
        """Share of the rows that have a value."""
        return len(self.values) / max(self.rows, 1)

    @property
    def words(self) -> float:
        """Words a value, on average."""
        return sum(len(str(value).split()) for value in self.values) / max(len(self.values), 1)

    @property
    def different(self) -> int:
        """How many different values there are."""
        return len({str(value) for value in self.values})

    @property
    def lists(self) -> bool:
        """Whether values are lists, as JSON can hold them."""
        return any(isinstance(value, list) for value in self.values)


@dataclass(frozen=True)
class Guess:
    """What each column is taken for."""

    text: tuple[str, ...]
    label: str
    separator: str | None
    id: str | None
    side: str | None


def columns_of(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The columns in the order in which they first appear."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [
        Column(name, [row[name] for row in rows if row.get(name) is not None], len(rows)) for name in names
    ]


def guessed(rows: Sequence[Mapping[str, Any]]) -> Guess | None:
    """The best guess; None where no column can be text or none can be labels."""
    columns = [column for column in columns_of(rows) if column.values]
    side = next((c for c in _called(columns, "side") if _is_side(c)), None)
    named = next((c for c in _called(columns, "id") if c.different == c.rows), None)
    rest = [c for c in columns if c not in (side, named)]
    label = _label(rest)
    text = _text([c for c in rest if c is not label])
    if label is None or not text:
        return None
    return Guess(
        tuple(c.name for c in text),
        label.name,
        separator_of(label),
        named.name if named else None,
        side.name if side else None,
    )


def separator_of(column: Column) -> str | None:
    """What parts several labels: the separator that makes the fewest different labels of the values.

    Pieces must be fewer than the whole values are, or names such as `Smith, John` would be torn apart.
    """
    values = [str(value) for value in column.values if not isinstance(value, list)]
    best, fewest = None, len(set(values))
    for separator in _SEPARATORS:
        several = [value for value in values if separator in value.strip()]
        pieces = Counter(p.strip() for value in values for p in value.split(separator) if p.strip())
        alone = {value.strip() for value in values if separator not in value.strip()}
        known = sum(piece in alone for value in several for piece in map(str.strip, value.split(separator)))
        parts = sum(value.count(separator) + 1 for value in several)
        if several and len(pieces) < fewest and (separator != " " or known >= 0.5 * parts):
            best, fewest = separator, len(pieces)
    return best


def labels_of(column: Column, separator: str | None) -> list[tuple[str, ...]]:
    """Each value's labels."""
    found = []
    for value in column.values:
        parts = (
            value
            if isinstance(value, list)
            else [value]
            if separator is None
            else str(value).split(separator)
        )
        found.append(tuple(text for part in parts if (text := str(part).strip())))
    return found


def _is_side(column: Column) -> bool:
    sides = {str(value).strip().lower() for value in column.values}
    return column.present == 1.0 and sides <= {"train", "test", "unused"} and {"train", "test"} <= sides


def _label(columns: Sequence[Column]) -> Column | None:
    """By its name; else a column of lists; else the one of short values that repeat most."""
    by_name = [
        column for column in _called(columns, "label") if column.words < _WORDS_OF_TEXT or column.lists
    ]
    if by_name:
        return by_name[0]
    lists = [column for column in columns if column.lists]
    if lists:
        return lists[0]
    repeating = [
        c for c in columns if c.words < _WORDS_OF_TEXT and 1 < c.different <= max(2.0, 0.2 * len(c.values))
    ]
    return min(repeating, key=lambda column: column.different, default=None)


def _text(columns: Sequence[Column]) -> list[Column]:
    """Columns of prose, and titles; else the column with the longest values."""
    usable = [c for c in columns if c.present >= _PRESENT and not c.lists] or [
        c for c in columns if not c.lists
    ]
    named = _called(usable, "text")
    prose = [c for c in usable if c.words >= _WORDS_OF_TEXT or c in named]
    if prose:
        return prose
    longest = max(usable, key=lambda column: column.words, default=None)
    return [longest] if longest and longest.words > 1 else []


def _called(columns: Sequence[Column], kind: str) -> list[Column]:
    """The columns with one of the names of a kind, in the order of the names."""
    return [column for name in _names()[kind] for column in columns if column.name.strip().lower() == name]


@cache
def _names() -> dict[str, list[str]]:
    text = files("textcat.corpora").joinpath("lists", "column_names.yaml").read_text(encoding="utf-8")
    names: dict[str, list[str]] = yaml.safe_load(text)
    return names
