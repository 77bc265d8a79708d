"""Find rows inside a quoted field of a CSV file: a quote that is not closed joins them without any error.

A valid field may have many lines, and lines with as many delimiters as a row. A line is taken for a row if it has all
fields and one of them is a label that other rows have, or an id that follows that of the row before.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

# Columns with longer values, or with more different ones, hold no labels.
_LONGEST_LABEL, _MOST_LABELS = 100, 5_000
# With fewer rows before it, a field is judged also by the lines that follow it, at most LINES_AHEAD.
_ENOUGH_ROWS, LINES_AHEAD = 200, 500


class RowEvidence:
    """The values of short columns in the rows so far, and the last row."""

    def __init__(self, delimiter: str, width: int) -> None:
        self._delimiter = delimiter
        self._width = width
        self._values: dict[int, Counter[str]] = {column: Counter() for column in range(width)}
        self._rows = 0
        self._last: Sequence[str] = ()

    def add(self, values: Sequence[str]) -> None:
        """Add a row."""
        self._rows += 1
        self._last = values
        for column in list(self._values):
            seen = self._values[column]
            seen[values[column]] += 1
            if len(values[column]) > _LONGEST_LABEL or len(seen) > _MOST_LABELS:
                del self._values[column]

    def find_row(
        self, lines: Sequence[str], peek: Callable[[int], Iterable[str]], *, is_closed: bool
    ) -> int | None:
        """Return the first line of a record that looks like a row of its own, or None.

        0: so does the first line, if its quote is part of the text. `peek` returns the lines after the record.
        """
        parsed = [self._parse(line) for line in lines]
        opening = len(parsed[0]) - 1
        # Of the first and the last line, only what is outside of the quoted field can be a label.
        places: list[tuple[int, list[str], range]] = [
            (0, lines[0].rstrip("\r\n").split(self._delimiter), range(opening + 1, self._width))
        ]
        for number, fields in enumerate(parsed[1:], 1):
            is_last = is_closed and number == len(lines) - 1
            stop = next((k for k, field in enumerate(fields) if '"' in field), 0) if is_last else self._width
            places.append((number, fields, range(stop)))
        whole = [place for place in places if len(place[1]) == self._width and place[2]]
        if not whole:
            return None
        known = self if self._rows >= _ENOUGH_ROWS else self._add_rows(peek(LINES_AHEAD))
        for number, fields, columns in whole:
            if any(known._is_label(column, fields[column]) for column in columns) or (
                number and any(self._follows(parsed[0], fields, column) for column in range(opening))
            ):
                return number
        return None

    def _parse(self, line: str) -> list[str]:
        return next(csv.reader([line], delimiter=self._delimiter), [])

    def _add_rows(self, lines: Iterable[str]) -> RowEvidence:
        """Return the evidence of these rows and of those that follow."""
        found = RowEvidence(self._delimiter, self._width)
        found._values = {column: seen.copy() for column, seen in self._values.items()}
        reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
        while True:
            try:
                values = next(reader)
            except csv.Error:
                continue
            except StopIteration:
                return found
            if len(values) == self._width:
                found.add(values)

    def _is_label(self, column: int, value: str) -> bool:
        """Return whether other rows have this value, in a column in which values repeat."""
        seen = self._values.get(column)
        return bool(value.strip() and seen and seen[value] and 2 * seen.total() >= 3 * len(seen))

    def _follows(self, first: Sequence[str], fields: Sequence[str], column: int) -> bool:
        """Return whether a column counts the rows, and a line has the number after that of its record."""
        before = self._last[column] if self._last else "-1"
        numbers = [before.removeprefix("-"), first[column], fields[column]]
        if not all(number.isdecimal() for number in numbers):
            return False
        return int(before) < int(first[column]) == int(fields[column]) - 1
