"""Tables of categories on an experiment's page: their F1, and confused classes if documents have one label each.

With thousands of categories the page shows the largest, the worst and an index. Each entry of the index has an anchor,
so that a browser finds a category by its name or by the address of the page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textcat.evaluation.run_measures import FREQUENCY_GROUPS
from textcat.report.comparison_tables import find_value_or_mean, format_number
from textcat.report.escaping import escape_markdown, format_markdown_table

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
    """Categories under a title; `folded` rows are hidden until a reader opens them."""

    title: str
    note: str
    rows: Sequence[CategoryRow]
    folded: bool = False


@dataclass(frozen=True)
class CategorySection:
    """The tables of categories, the F1 of groups of labels, and the index by first letter."""

    tables: Sequence[CategoryTable] = ()
    groups: Sequence[CategoryRow] = ()
    index: Sequence[CategoryTable] = ()
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

    def get(row: CategoryRow, kind: str) -> float:
        return find_value_or_mean(runs[0], f"category.{row.name}.{kind}") or 0.0

    return sorted(rows, key=lambda row: (-get(row, "errors"), get(row, "f1")))[:SHOWN]


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


MAX_PAIRS = 20
MAX_NAMED = 2


@dataclass(frozen=True)
class ClassRow:
    """One class: training and test documents, measures in percent, and the wrong classes that its documents get."""

    name: str
    train: int
    test: int
    precision: float | None
    recall: float | None
    f1: float | None
    confused: str

    @property
    def numbers(self) -> list[str]:
        """The cells of the row after the name, without the confusions."""
        measures = [format_number(value) for value in (self.precision, self.recall, self.f1)]
        return [str(self.train), str(self.test), *measures]


@dataclass(frozen=True)
class ClassTables:
    """The tables of one run; a pair is (label, class given instead, documents, percent of the label's documents)."""

    run: str
    rows: Sequence[ClassRow]
    pairs: Sequence[tuple[str, str, int, float]]
    calibration: str


def make_class_tables(results: Mapping[str, Any]) -> ClassTables | None:
    """Return the tables of the run with the highest accuracy; None unless each document has one label."""
    runs = {name: run for name, run in results["runs"].items() if "confusions" in run}
    if not runs:
        return None
    best = max(runs, key=lambda name: find_value_or_mean(runs[name]["measures"], "accuracy") or 0.0)
    run, counts = runs[best], results["corpus"]["train_counts"]
    names = list(counts)
    confusions = [(names[label], names[given], n) for label, given, n in run["confusions"]]
    instead: dict[str, list[str]] = defaultdict(list)
    for label, given, documents in confusions:
        if len(instead[label]) < MAX_NAMED:
            instead[label].append(f"{given} ({documents})")
    rows = [_make_row(name, counts[name], run["measures"], ", ".join(instead[name])) for name in names]
    tests = {row.name: row.test for row in rows}
    pairs = [(*entry, 100.0 * entry[2] / tests[entry[0]]) for entry in confusions[:MAX_PAIRS]]
    return ClassTables(run["title"] or best, sort_worst_first(rows), pairs, describe_calibration(runs))


def describe_calibration(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a sentence with the calibration error of each run that has probabilities, or an empty text."""
    errors = {
        run["title"] or name: error
        for name, run in runs.items()
        if (error := run["measures"].get("probability.calibration_error")) is not None
    }
    named = ", ".join(f"{name} {error:.3f}" for name, error in errors.items())
    return f"Expected calibration error of the probabilities (15 bins, 0 is best): {named}." if named else ""


def _make_row(name: str, train: int, measures: Mapping[str, float | None], confused: str) -> ClassRow:
    def get(kind: str) -> float | None:
        return measures.get(f"category.{name}.{kind}")

    test = int((get("tp") or 0) + (get("fn") or 0))
    # Recall and F1 of a class without test documents are unknown.
    recall, f1 = (get("recall"), get("f1")) if test > 0 else (None, None)
    return ClassRow(name, train, test, get("precision"), recall, f1, confused)


def sort_worst_first(rows: Sequence[ClassRow]) -> list[ClassRow]:
    """Sort classes by F1, then the larger first, then by name; classes without F1 come last."""
    return sorted(rows, key=lambda row: (row.f1 is None, row.f1 or 0.0, -row.test, row.name))


CLASS_HEADERS = ("class", "training", "test", "precision", "recall", "F1", "given instead")


def class_tables_as_markdown(tables: ClassTables) -> str:
    """Format the classes and the confused pairs as Markdown."""
    classes = [
        [escape_markdown(row.name), *row.numbers, escape_markdown(row.confused)] for row in tables.rows
    ]
    pairs = [
        [escape_markdown(label), escape_markdown(given), str(documents), f"{share:.1f}"]
        for label, given, documents, share in tables.pairs
    ]
    parts = [
        f"## Classes of {escape_markdown(tables.run)}, the worst first",
        format_markdown_table(classes, CLASS_HEADERS),
        "## Confused classes",
        format_markdown_table(pairs, ("label", "given instead", "documents", "% of the label"))
        if pairs
        else "No test document is given a wrong class.",
    ]
    if tables.calibration:
        parts.append(escape_markdown(tables.calibration))
    return "\n\n".join(parts)
