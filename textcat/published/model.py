"""The typed form of a paper's printed tables, as they stand in `<paper>.yaml`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

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
