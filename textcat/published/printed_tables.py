"""The printed tables of the papers as typed cells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from textcat.errors import UsageError
from textcat.settings import StrictSettings
from textcat.yaml_reader import read_packaged_yaml

Unit = Literal["percent", "fraction", "count", "seconds", "p_value", "power_of_ten", "text"]


class CellAttributes(StrictSettings):
    """Attributes that a table, row or column gives its cells; README.md explains how they are merged."""

    experiment: str | None = None
    run: str | None = None
    over: str | None = None
    measure: str | None = None
    kind: str | None = None
    unit: Unit | None = None
    category: str | None = None
    what: str | None = None
    cannot_run: str | None = None
    needs: str | None = None
    not_run: str | None = None
    where: str | None = None


class PublishedTable(CellAttributes):
    """A printed table; `values` has one list per row, with null where the paper prints nothing.

    `repeats` maps cells of this table, such as "[*][NWin]", to the ids of the cells whose numbers they repeat; a * on
    both sides stands for the same characters.
    """

    caption: str
    columns: dict[str, CellAttributes]
    rows: dict[str, CellAttributes]
    values: dict[str, list[str | None]]
    repeats: dict[str, str] = Field(default_factory=dict)
    note: str | None = None


class Paper(StrictSettings):
    """A paper and its printed tables."""

    paper: str
    title: str
    authors: list[str]
    venue: str
    year: int
    bibtex: str
    tables: dict[str, PublishedTable]


class PublishedCell(StrictSettings):
    """A printed number, and the experiment, run and measure of our number."""

    paper: str
    table: str
    row: str
    column: str
    printed: str | None
    experiment: str
    run: str
    over: str | None
    measure: str
    kind: str
    unit: Unit
    cannot_run: str | None
    needs: str | None
    not_run: str | None = None
    where: str | None = None
    repeats: str | None = None

    @property
    def group(self) -> CellGroup:
        """Return whether the number is counted with the tables, the running text or the standard deviations."""
        if self.kind == "spread":
            return "spreads"
        return "text" if self.table == TEXT_TABLE else "tables"

    @property
    def counted(self) -> bool:
        """Return whether the cell counts: the paper prints a number here, and it repeats no other cell."""
        return self.printed is not None and self.repeats is None

    @property
    def id(self) -> str:
        """Return the id used in pinned values, deviations and reports."""
        return f"{self.paper}.{self.table}[{self.row}][{self.column}]"

    @property
    def printed_table(self) -> str:
        """Return the id of the table in print; deviations beside means are a table of their own here only."""
        return self.table_id.removesuffix("_spread")

    @property
    def table_id(self) -> str:
        """Return the id of the table that contains this cell."""
        return f"{self.paper}.{self.table}"


PAPERS = ("zhang_oles_2001", "zhang_jin_2003", "genkin_2004", "gao_2003", "zhang_2000")

CellGroup = Literal["tables", "text", "spreads"]
TEXT_TABLE = "text"
"""The table that lists numbers of a paper's running text."""

_REQUIRED = ("experiment", "run", "measure", "kind", "unit")
_OPTIONAL = ("over", "cannot_run", "needs", "not_run", "where")
_PLACEHOLDER = re.compile(r"\{(row|column)\.(\w+)\}")


@cache
def load_paper(key: str) -> Paper:
    """Load a paper by its key."""
    if key not in PAPERS:
        raise UsageError(f"unknown paper '{key}'", hint=f"The papers are {', '.join(PAPERS)}.")
    return validate_paper(read_packaged_yaml(f"published/{key}.yaml"), f"{key}.yaml")


@cache
def load_all_cells() -> tuple[PublishedCell, ...]:
    """Load every cell of every paper, in the order of the papers and their tables."""
    return tuple(cell for key in PAPERS for cell in list_cells(load_paper(key)))


def find_varied_experiment(name: str, extended: Iterable[str], tables: Collection[str]) -> str:
    """Return the nearest extended experiment for which numbers of these tables are printed, or an empty text.

    An experiment for which numbers are printed under its own name is no variant of another one.
    """
    measured = {cell.experiment for cell in load_all_cells() if cell.table_id in tables}
    return "" if name in measured else next((each for each in extended if each in measured), "")


def list_cells(paper: Paper) -> list[PublishedCell]:
    """List every entry of every table, including those where the paper prints nothing."""
    return [
        _make_cell(paper, name, row, column, position)
        for name, table in paper.tables.items()
        for row in table.rows
        for position, column in enumerate(table.columns)
    ]


def validate_contents(kind: Any, contents: object, what: str, name: str) -> Any:
    """Return plain values read from YAML as a type; `what` and `name`, the source, are named in error messages."""
    try:
        return TypeAdapter(kind).validate_python(contents)
    except ValidationError as problem:
        hint = "Correct it as textcat/published/README.md describes."
        raise UsageError(f"invalid {what}: {problem}", where=name, hint=hint) from problem


def validate_paper(contents: object, name: str) -> Paper:
    """Return the paper in plain values read from YAML; `name` is the source in error messages."""
    paper: Paper = validate_contents(Paper, contents, "tables", name)
    for table_name, table in paper.tables.items():
        _check_shape(table, f"{name}, {table_name}")
    return paper


def _check_shape(table: PublishedTable, where: str) -> None:
    if list(table.values) != list(table.rows):
        raise UsageError(
            "the rows of values are not the table's rows",
            where=where,
            hint="Write the same rows in the same order.",
        )
    for row, entries in table.values.items():
        if len(entries) != len(table.columns):
            raise UsageError(
                f"row '{row}' of values has {len(entries)} entries for {len(table.columns)} columns",
                where=where,
                hint="Write one entry per column, null where nothing is printed.",
            )


def _make_cell(paper: Paper, name: str, row: str, column: str, position: int) -> PublishedCell:
    table = paper.tables[name]
    where = f"{paper.paper}.{name}[{row}][{column}]"
    merged = {
        attribute: _merge_attribute(attribute, table, table.rows[row], table.columns[column], where)
        for attribute in (*_REQUIRED, *_OPTIONAL)
    }
    absent = [attribute for attribute in _REQUIRED if merged[attribute] is None]
    if absent:
        raise UsageError(
            f"neither table, row nor column sets {', '.join(absent)}",
            where=where,
            hint="Set it for the table, the row or the column.",
        )
    return PublishedCell.model_validate(
        {
            "paper": paper.paper,
            "table": name,
            "row": row,
            "column": column,
            "printed": table.values[row][position],
            "repeats": _find_repeated(table, f"[{row}][{column}]"),
            **merged,
        }
    )


def _find_repeated(table: PublishedTable, place: str) -> str | None:
    """Return the id of the cell that this one repeats, or None."""
    for pattern, target in table.repeats.items():
        match = re.fullmatch(re.escape(pattern).replace(r"\*", "(.+)"), place)
        if match:
            return target.replace("*", match.group(1)) if match.groups() else target
    return None


def _merge_attribute(
    attribute: str, table: CellAttributes, row: CellAttributes, column: CellAttributes, where: str
) -> str | None:
    """Return the table's template, else the row's or the column's value (never both), else the table's value."""
    of_table: str | None = getattr(table, attribute)
    if of_table is not None and _PLACEHOLDER.search(of_table):
        return _fill_template(of_table, row, column, where)
    given = [value for side in (row, column) if (value := getattr(side, attribute)) is not None]
    if len(given) > 1:
        raise UsageError(
            f"both row and column set '{attribute}'", where=where, hint="Set it in only one of them."
        )
    chosen = given[0] if given else of_table
    return None if chosen is None else _fill_template(chosen, row, column, where)


def _fill_template(template: str, row: CellAttributes, column: CellAttributes, where: str) -> str:
    """Fill a template such as category.{row.category}.f1 with attributes of the row and the column."""

    def value(match: re.Match[str]) -> str:
        side = row if match.group(1) == "row" else column
        found = getattr(side, match.group(2), None)
        if not isinstance(found, str):
            raise UsageError(
                f"'{match.group(0)}' refers to an attribute that the {match.group(1)} does not set",
                where=where,
                hint="Set it there, or change the template.",
            )
        return found

    return _PLACEHOLDER.sub(value, template)
