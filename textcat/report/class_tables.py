"""Tables for one label per document: each class with what it is confused with, the worst first, and confused pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabulate import tabulate

from textcat.report.escaping import escape_markdown
from textcat.report.runs_table import find_value_or_mean, format_number

MAX_PAIRS = 20
MAX_NAMED = 2


@dataclass(frozen=True)
class ClassRow:
    """One class: training and test documents, measures in percent, and the classes that its documents get instead."""

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
class ConfusedPair:
    """Test documents of `label` that are given `given`."""

    label: str
    given: str
    documents: int
    share: float


@dataclass(frozen=True)
class ClassTables:
    """The tables of one run."""

    run: str
    rows: Sequence[ClassRow]
    pairs: Sequence[ConfusedPair]
    calibration: str


def make_class_tables(results: Mapping[str, Any]) -> ClassTables | None:
    """Return the tables of the run with the highest accuracy; None where results do not describe single labels."""
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
    pairs = [ConfusedPair(*entry, 100.0 * entry[2] / tests[entry[0]]) for entry in confusions[:MAX_PAIRS]]
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
    # Of a class without test documents, recall and F1 are not known.
    known = test > 0
    return ClassRow(
        name,
        train,
        test,
        get("precision"),
        get("recall") if known else None,
        get("f1") if known else None,
        confused,
    )


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
        [escape_markdown(pair.label), escape_markdown(pair.given), str(pair.documents), f"{pair.share:.1f}"]
        for pair in tables.pairs
    ]
    parts = [
        f"## Classes of {escape_markdown(tables.run)}, the worst first",
        _as_markdown(classes, CLASS_HEADERS),
        "## Confused classes",
        _as_markdown(pairs, ("label", "given instead", "documents", "% of the label"))
        if pairs
        else "No test document is given a wrong class.",
    ]
    if tables.calibration:
        parts.append(escape_markdown(tables.calibration))
    return "\n\n".join(parts)


def _as_markdown(rows: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    return tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True)
