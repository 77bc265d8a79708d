"""F1 of categories on an experiment's page: all of them, or with thousands the largest, the worst and an index.

Each category of the index has an anchor, so that a browser finds it by name or by the address of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from textcat.evaluation.run_measures import FREQUENCY_GROUPS
from textcat.report.runs_table import find_value_or_mean, format_number

# With more categories than this the page has shorter tables and an index.
MAX_LISTED = 500
SHOWN = 50
# The index has at most this many numbers: a page stays below 2 MB.
MAX_INDEXED = 30_000
HEAD = 12

Measures = Mapping[str, float | None]


@dataclass(frozen=True)
class CategoryRow:
    """A category with its number of training documents and a number for each run."""

    name: str
    documents: int
    numbers: Sequence[str]
    anchor: str = ""


@dataclass(frozen=True)
class CategoryTable:
    """Some categories under a title; `folded` rows are hidden until a reader opens them."""

    title: str
    note: str
    rows: Sequence[CategoryRow]
    folded: bool = False


@dataclass(frozen=True)
class CategorySection:
    """The tables of categories, the F1 of groups of labels, and the index by first letter."""

    tables: Sequence[CategoryTable] = ()
    groups: Sequence[CategoryRow] = ()
    index: Sequence[CategoryTable] = field(default_factory=tuple)
    omitted: int = 0


def list_category_tables(results: Mapping[str, Any]) -> CategorySection:
    """Return the section of an experiment; an empty one if no run has F1 of categories."""
    rows = _list_rows(results)
    if not any(any(row.numbers) for row in rows):
        return CategorySection()
    if len(rows) <= MAX_LISTED:
        note = "F1 of each category, ordered by n, the number of training documents."
        tables = [CategoryTable("", note, rows[:HEAD])]
        if rows[HEAD:]:
            tables.append(CategoryTable(f"{len(rows) - HEAD} more categories", "", rows[HEAD:], folded=True))
        return CategorySection(tables)
    runs = [run["measures"] for run in results["runs"].values()]
    worst = _find_worst(rows, runs)
    shown = (
        CategoryTable(
            f"The {SHOWN} largest categories", "Ordered by n, the number of training documents.", rows[:SHOWN]
        ),
        CategoryTable(
            f"The {len(worst)} worst categories",
            "Those with the most errors (false positives and false negatives) in the first run.",
            worst,
        ),
    )
    indexed = len(rows) * (len(runs) + 1) <= MAX_INDEXED
    return CategorySection(
        shown, _list_groups(runs), _make_index(rows) if indexed else (), 0 if indexed else len(rows)
    )


def _list_rows(results: Mapping[str, Any]) -> list[CategoryRow]:
    """Return all categories, the largest first."""
    counts: Mapping[str, int] = results["corpus"]["train_counts"]
    runs = [run["measures"] for run in results["runs"].values()]
    return [
        CategoryRow(name, counts[name], [_format_f1(measures, f"category.{name}.f1") for measures in runs])
        for name in sorted(counts, key=lambda name: (-counts[name], name))
    ]


def _format_f1(measures: Measures, name: str) -> str:
    return format_number(find_value_or_mean(measures, name))


def _find_worst(rows: Sequence[CategoryRow], runs: Sequence[Measures]) -> list[CategoryRow]:
    """Return the categories with the most errors in the first run; of equal ones those of lower F1."""

    def rank(row: CategoryRow) -> tuple[float, float]:
        errors = find_value_or_mean(runs[0], f"category.{row.name}.errors") or 0.0
        return -errors, find_value_or_mean(runs[0], f"category.{row.name}.f1") or 0.0

    return sorted(rows, key=rank)[:SHOWN]


def _list_groups(runs: Sequence[Measures]) -> list[CategoryRow]:
    """Return micro and macro F1 of frequent, few and unseen labels, if the experiment has them."""
    found = []
    for group in FREQUENCY_GROUPS:
        number = int(runs[0].get(f"labels.{group}") or 0)
        for kind in ("micro", "macro"):
            numbers = [_format_f1(measures, f"{kind}.f1.{group}") for measures in runs]
            if number and any(numbers):
                found.append(CategoryRow(f"{group}, {kind} F1", number, numbers))
    return found


def _make_index(rows: Sequence[CategoryRow]) -> list[CategoryTable]:
    """Return all categories by first letter and name, each with an anchor."""
    letters: dict[str, list[CategoryRow]] = {}
    for row in sorted(rows, key=lambda row: row.name.casefold()):
        letter = row.name[:1].upper()
        title = letter if letter.isalpha() else "0-9 and others"
        anchor = f"category-{make_anchor(row.name)}"
        letters.setdefault(title, []).append(CategoryRow(row.name, row.documents, row.numbers, anchor))
    return [CategoryTable(title, "", members, folded=True) for title, members in sorted(letters.items())]


def make_anchor(name: str) -> str:
    """Return a name as part of an address: letters and digits, everything else as a hyphen."""
    return "".join(letter if letter.isalnum() else "-" for letter in name.casefold())
