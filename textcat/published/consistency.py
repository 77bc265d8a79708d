"""Check the printed numbers of each paper against each other.

A printed number stands for all numbers that round to it. Two printed numbers contradict each other if no numbers that
round to them satisfy what relates them: F1 follows from precision and recall, a share from its two parts, a micro
average from its rows. A contradiction says that a number is misprinted, cut off instead of rounded, or of another run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from textcat.published.printed_tables import PublishedCell, load_all_cells
from textcat.published.verdicts import ROUNDING_MARGIN, PrintedNumber, read_printed
from textcat.settings import StrictSettings
from textcat.yaml_reader import read_packaged_yaml

# How far a break-even point may lie outside of precision and recall, in points. It may, because at a break-even point
# every category accepts as many documents as it has; the same learner cannot be much better at its threshold.
MOST_BEYOND = 0.5


class _ColumnOfTable(StrictSettings):
    table: str
    column: str


class _Relations(StrictSettings):
    """The contents of consistency.yaml."""

    test_documents: dict[str, int]
    summed_rows: dict[str, str]
    macro_of_column: dict[str, _ColumnOfTable]


@dataclass(frozen=True)
class Contradiction:
    """A printed number that does not follow from others: the cell, what they allow, and how they are related."""

    cell: PublishedCell
    low: float
    high: float
    relation: str

    def __str__(self) -> str:
        allowed = (
            f"at least {self.low:.2f}" if self.high == float("inf") else f"{self.low:.2f} to {self.high:.2f}"
        )
        return f"{self.cell.id} is printed as {self.cell.printed}; {self.relation} gives {allowed}"


@cache
def find_contradictions() -> tuple[Contradiction, ...]:
    """Return the contradictions in all papers, in the order of their tables."""
    return check_cells(load_all_cells())


@cache
def list_contradicted_cells() -> frozenset[str]:
    """Return the ids of the cells that contradict others."""
    return frozenset(found.cell.id for found in find_contradictions())


def check_cells(cells: Sequence[PublishedCell]) -> tuple[Contradiction, ...]:
    """Return the contradictions among printed cells; a number is given in the unit of our measures."""
    printed = [cell for cell in cells if cell.printed is not None and cell.unit != "text"]
    checks = (
        _check_f1_and_break_even,
        _check_totals,
        _check_shares,
        _check_repeats,
        _check_sums,
        _check_macro,
    )
    return tuple(
        Contradiction(cell, low, high, relation)
        for check in checks
        for cell, low, high, relation in check(printed)
        if not _agrees(_read(cell), low, high)
    )


_Expected = Iterator[tuple[PublishedCell, float, float, str]]


def _read(cell: PublishedCell) -> PrintedNumber:
    return read_printed(cell.printed or "", cell.unit)


def _range(cell: PublishedCell) -> tuple[float, float]:
    number = _read(cell)
    return number.value - number.half_unit, number.value + number.half_unit


def _agrees(number: PrintedNumber, low: float, high: float) -> bool:
    """Return whether a number that rounds to the printed one lies between low and high, beyond equal ends."""
    margin = -ROUNDING_MARGIN if number.half_unit else ROUNDING_MARGIN
    half = number.half_unit + margin
    return low <= number.value + half and number.value - half <= high


def _check_f1_and_break_even(cells: Sequence[PublishedCell]) -> _Expected:
    """Yield F1 and break-even points next to precision and recall of the same run."""
    groups: dict[tuple[str, str, str], dict[str, PublishedCell]] = defaultdict(dict)
    for cell in cells:
        groups[cell.table_id, cell.experiment, cell.run][cell.kind] = cell
    for kinds in groups.values():
        if {"precision", "recall"} <= kinds.keys():
            (low_p, high_p), (low_r, high_r) = (_range(kinds[kind]) for kind in ("precision", "recall"))
            if "micro_f1" in kinds:
                low, high = (2 * p * r / (p + r) for p, r in ((low_p, low_r), (high_p, high_r)))
                yield kinds["micro_f1"], low, high, "2PR/(P+R)"
            if "micro_bep" in kinds:
                low, high = min(low_p, low_r) - MOST_BEYOND, max(high_p, high_r) + MOST_BEYOND
                yield kinds["micro_bep"], low, high, f"between precision and recall, or {MOST_BEYOND} beyond,"


def _check_totals(cells: Sequence[PublishedCell]) -> _Expected:
    """Yield the ties of each comparison: wins, losses and ties sum to the number of categories, equal for all rows."""
    rows: dict[str, dict[str, dict[str, PublishedCell]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        if cell.kind in ("fewer", "more", "ties"):
            rows[cell.table_id][cell.row][cell.kind] = cell
    for table in rows.values():
        totals = [sum(_read(cell).value for cell in row.values()) for row in table.values()]
        usual = max(totals, key=totals.count)
        for row in table.values():
            expected = usual - _read(row["fewer"]).value - _read(row["more"]).value
            yield row["ties"], expected, expected, f"the sum of {usual:.0f} categories as in the other rows"


def _check_shares(cells: Sequence[PublishedCell]) -> _Expected:
    """Yield the shares of one run's number in another's."""
    known = {(cell.table_id, cell.row, cell.run, cell.measure): cell for cell in cells if cell.over is None}
    for cell in cells:
        if cell.over is not None:
            part, whole = (
                _range(known[cell.table_id, cell.row, run, cell.measure]) for run in (cell.run, cell.over)
            )
            yield cell, 100 * part[0] / whole[1], 100 * part[1] / whole[0], "the quotient in percent"


def _check_repeats(cells: Sequence[PublishedCell]) -> _Expected:
    """Yield the cells that repeat another one."""
    by_id = {cell.id: cell for cell in cells}
    for cell in cells:
        if cell.repeats is not None:
            yield cell, *_range(by_id[cell.repeats]), cell.repeats


def _check_sums(cells: Sequence[PublishedCell]) -> _Expected:
    """Yield the micro-averaged break-even points of ten topics: means weighted with their test documents."""
    relations = _load_relations()
    total = sum(relations.test_documents.values())
    for cell in cells:
        if relations.summed_rows.get(cell.table_id) == cell.row:
            topics = [
                (_range(each), relations.test_documents[each.row])
                for each in cells
                if (each.table_id, each.column) == (cell.table_id, cell.column)
                and each.row in relations.test_documents
            ]
            low, high = (sum(ends[side] * number for ends, number in topics) / total for side in (0, 1))
            yield cell, low, high, "the mean of the topics weighted with their test documents"


def _check_macro(cells: Sequence[PublishedCell]) -> _Expected:
    """Yield macro F1 of mean precision and mean recall, which is never below the mean of F1, since F1 is concave."""
    for cell in cells:
        if column := _load_relations().macro_of_column.get(cell.id):
            single = [
                _range(each)[0]
                for each in cells
                if (each.table_id, each.column, each.kind) == (column.table, column.column, "category_f1")
            ]
            relation = f"the mean F1 of {len(single)} topics in {column.table}"
            yield cell, sum(single) / len(single), float("inf"), relation


@cache
def _load_relations() -> _Relations:
    return _Relations.model_validate(read_packaged_yaml("published/consistency.yaml"))
