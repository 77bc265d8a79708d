"""The printed tables of the papers as typed cells."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from textcat.errors import UsageError
from textcat.yaml_reader import packaged, parse

Unit = Literal["percent", "fraction", "count", "seconds", "p_value", "power_of_ten", "text"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Attributes(_Strict):
    """What a table, a row or a column can say of its cells; see README.md for how they merge."""

    experiment: str | None = None
    run: str | None = None
    over: str | None = None
    measure: str | None = None
    spread_measure: str | None = None
    kind: str | None = None
    unit: Unit | None = None
    category: str | None = None
    what: str | None = None
    cannot_run: str | None = None
    needs: str | None = None


class Table(Attributes):
    """One printed table; `values` and `spread` have a list a row, null where the paper prints nothing."""

    caption: str
    columns: dict[str, Attributes]
    rows: dict[str, Attributes]
    values: dict[str, list[str | None]]
    spread: dict[str, list[str | None]] = {}
    note: str | None = None


class Paper(_Strict):
    """A paper and all its tables of numbers."""

    paper: str
    title: str
    authors: list[str]
    venue: str
    year: int
    bibtex: str
    tables: dict[str, Table]


class Cell(_Strict):
    """One printed number and where its counterpart is measured."""

    paper: str
    table: str
    row: str
    column: str
    printed: str | None
    spread: str | None
    experiment: str
    run: str
    over: str | None
    measure: str
    spread_measure: str | None
    kind: str
    unit: Unit
    cannot_run: str | None
    needs: str | None

    @property
    def id(self) -> str:
        """As it is written in pinned numbers, deviations and reports."""
        return f"{self.paper}.{self.table}[{self.row}][{self.column}]"

    @property
    def table_id(self) -> str:
        """The table this cell stands in."""
        return f"{self.paper}.{self.table}"


PAPERS = ("zhang_oles_2001", "zhang_jin_2003", "genkin_2004", "gao_2003", "zhang_2000")

_REQUIRED = ("experiment", "run", "measure", "kind", "unit")
_OPTIONAL = ("over", "spread_measure", "cannot_run", "needs")
_PLACE = re.compile(r"\{(row|column)\.(\w+)\}")


@cache
def load_paper(key: str) -> Paper:
    """A paper by its key."""
    if key not in PAPERS:
        raise UsageError(f"there is no paper '{key}'", hint=f"The papers are {', '.join(PAPERS)}.")
    return _typed(packaged(f"{key}.yaml"), f"{key}.yaml")


def parse_paper(text: str, name: str) -> Paper:
    """A paper from YAML text; `name` stands in messages."""
    return _typed(parse(text, name), name)


def all_cells() -> list[Cell]:
    """Every printed cell of every paper, in the order of the papers and their tables."""
    return [cell for key in PAPERS for cell in cells(load_paper(key))]


def cells(paper: Paper) -> list[Cell]:
    """Every entry of every table, also those for which the paper prints nothing."""
    return [cell for name in paper.tables for cell in _table_cells(paper, name)]


def _typed(contents: object, name: str) -> Paper:
    try:
        paper = Paper.model_validate(contents)
    except ValidationError as problem:
        raise UsageError(
            f"does not fit the format of published tables: {problem}",
            where=name,
            hint="Mend it as textcat/published/README.md describes.",
        ) from problem
    for table_name, table in paper.tables.items():
        for part, grid in (("values", table.values), ("spread", table.spread)):
            _check_shape(table, part, grid, f"{name}, {table_name}")
    return paper


def _check_shape(table: Table, part: str, grid: dict[str, list[str | None]], where: str) -> None:
    if grid and list(grid) != list(table.rows):
        raise UsageError(
            f"the rows of {part} are not the table's rows",
            where=where,
            hint="Write the same rows in the same order.",
        )
    for row, entries in grid.items():
        if len(entries) != len(table.columns):
            raise UsageError(
                f"row '{row}' of {part} has {len(entries)} entries for {len(table.columns)} columns",
                where=where,
                hint="Write one entry a column, null where nothing is printed.",
            )


def _table_cells(paper: Paper, name: str) -> list[Cell]:
    table = paper.tables[name]
    return [
        _cell(paper, name, row, column, position)
        for row in table.rows
        for position, column in enumerate(table.columns)
    ]


def _cell(paper: Paper, name: str, row: str, column: str, position: int) -> Cell:
    table = paper.tables[name]
    where = f"{paper.paper}.{name}[{row}][{column}]"
    merged = {
        attribute: _merge(attribute, table, table.rows[row], table.columns[column], where)
        for attribute in (*_REQUIRED, *_OPTIONAL)
    }
    absent = [attribute for attribute in _REQUIRED if merged[attribute] is None]
    if absent:
        raise UsageError(
            f"neither table, row nor column gives {', '.join(absent)}",
            where=where,
            hint="Say it for the table, the row or the column.",
        )
    spread = table.spread.get(row)
    return Cell.model_validate(
        {
            "paper": paper.paper,
            "table": name,
            "row": row,
            "column": column,
            "printed": table.values[row][position],
            "spread": spread[position] if spread else None,
            **merged,
        }
    )


def _merge(attribute: str, table: Attributes, row: Attributes, column: Attributes, where: str) -> str | None:
    """A template of the table rules; then the row or the column, never both; then the table's plain value."""
    of_table: str | None = getattr(table, attribute)
    if of_table is not None and _PLACE.search(of_table):
        return _fill(of_table, row, column, where)
    given = [value for side in (row, column) if (value := getattr(side, attribute)) is not None]
    if len(given) > 1:
        raise UsageError(
            f"both row and column give '{attribute}'", where=where, hint="Say it on one side only."
        )
    chosen = given[0] if given else of_table
    return None if chosen is None else _fill(chosen, row, column, where)


def _fill(template: str, row: Attributes, column: Attributes, where: str) -> str:
    """Put the row's and the column's attributes into a template such as category.{row.category}.f1."""

    def value(match: re.Match[str]) -> str:
        side = row if match.group(1) == "row" else column
        found = getattr(side, match.group(2), None)
        if not isinstance(found, str):
            raise UsageError(
                f"'{match.group(0)}' names what the {match.group(1)} does not say",
                where=where,
                hint="Say it there, or change the template.",
            )
        return found

    return _PLACE.sub(value, template)
