"""Measured numbers next to published ones: tables of an experiment, its headline measures."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

from textcat.evaluation.intervals import RESAMPLES, Interval
from textcat.experiment.run.results_file import get_run_intervals, get_run_measures
from textcat.published.check import (
    CONTRADICTION_SIGN,
    REPEATS_SIGN,
    SIGNS,
    CellVerdict,
    find_cell_intervals,
    find_cell_values,
    judge_cells,
    load_deviations,
)
from textcat.published.printed_tables import load_all_cells, load_paper
from textcat.published.verdicts import describe_tolerances
from textcat.report.escaping import escape_markdown, format_markdown_table


@dataclass(frozen=True)
class ComparedTable:
    """A published table with measured numbers."""

    id: str
    caption: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: dict[tuple[str, str], CellVerdict]

    def counts(self) -> dict[str, int]:
        """Count the cells by verdict."""
        return dict(sorted(Counter(cell.verdict for cell in self.cells.values()).items()))

    def format_rows(
        self, name: Callable[[str], str], cell: Callable[[CellVerdict | None], str]
    ) -> list[list[str]]:
        """Return the rows; `name` and `cell` format their names and cells."""
        return [
            [name(row), *(cell(self.cells.get((row, column))) for column in self.columns)]
            for row in self.rows
        ]


def format_cell(cell: CellVerdict | None) -> str:
    """Format a cell as `measured (printed) sign`, with `±` and the sampling error; the sign shows the verdict.

    For a single topic the difference in documents follows the printed number; `[1]` is the number of a note.
    """
    if cell is None:
        return ""
    documents = "" if cell.documents is None else f"; {format_documents(cell.documents)}"
    note = "" if cell.note is None else f" [{cell.note}]"
    measured = f"{cell.text} {cell.spread}".rstrip()
    return f"{measured} ({cell.printed_text}{documents}) {cell.sign}".rstrip() + note


def format_documents(documents: int) -> str:
    """Format a difference in documents with its sign."""
    return f"{documents:+d}d".replace("-", "\u2212") if documents else "0d"


def table_as_text(table: ComparedTable, style: str = "github") -> str:
    """Format a table with cells `measured (printed) sign`; `style` is a table format of tabulate."""
    name = escape_markdown if style == "github" else str
    return format_markdown_table(table.format_rows(name, format_cell), ["", *map(name, table.columns)], style)


def format_legend(cells: Iterable[CellVerdict]) -> str:
    """Return the legend of the signs, and lines on what is in these cells."""
    signs = "  ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items())
    others = f"no sign: not judged, or no number  {REPEATS_SIGN} repeats another, not counted"
    return "\n\n".join([f"measured (printed): {signs}  {others}", *describe_cells(cells)])


SPREAD_NOTE = f"±: half of the 95 % interval over {RESAMPLES:,} bootstrap resamples of the test documents."


def describe_cells(cells: Iterable[CellVerdict]) -> list[str]:
    """Return the lines of a legend: sampling error, tolerances of the kinds of these cells, and contradictions."""
    shown = list(cells)
    lines = [SPREAD_NOTE] if any(cell.spread for cell in shown) else []
    if tolerances := describe_tolerances(cell.cell.kind for cell in shown):
        lines.append(f"Reproduced within: {tolerances}.")
    if any(CONTRADICTION_SIGN in cell.printed_text for cell in shown):
        lines.append(
            f"{CONTRADICTION_SIGN}: the printed number contradicts others of its paper (docs/readings.md)."
        )
    return lines


def list_shown_cells(tables: Iterable[ComparedTable]) -> list[CellVerdict]:
    """Return the cells of all tables."""
    return [cell for table in tables for cell in table.cells.values()]


def tables_as_markdown(tables: Sequence[ComparedTable]) -> str:
    """Format all tables, each with a heading and its counts of verdicts."""
    parts = [format_legend(list_shown_cells(tables)), ""]
    for table in tables:
        counted = ", ".join(f"{number} {verdict}" for verdict, number in table.counts().items())
        parts += [f"## {table.id}: {table.caption}", "", table_as_text(table), "", counted, ""]
    return "\n".join(parts)


def tables_as_csv(tables: Sequence[ComparedTable]) -> str:
    """Format all tables as CSV with one line per cell."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["table", "row", "column", "printed", "measured", "low", "high", "difference", "verdict"])
    for table in tables:
        for cell in table.cells.values():
            place = [table.id, cell.cell.row, cell.cell.column, cell.cell.printed]
            measured = "" if cell.measured is None else f"{cell.measured:.6g}"
            difference = "" if cell.difference is None else f"{cell.difference:+.4f}"
            ends = cell.interval or ("", "")
            writer.writerow([*place, measured, *ends, difference, cell.verdict])
    return stream.getvalue()


def compare_tables(results: Mapping[str, Any]) -> list[ComparedTable]:
    """Return the published tables of an experiment, in its order, with the cells that it measures."""
    judged = judge_against_print(results)
    by_table = {
        table_id: [entry for entry in judged if entry.cell.table_id == table_id]
        for table_id in results["tables"]
    }
    return [_drop_empty_lines(make_compared_table(entries)) for entries in by_table.values() if entries]


def judge_against_print(results: Mapping[str, Any]) -> list[CellVerdict]:
    """Judge the cells of an experiment's tables; those of a variant are the cells of the experiment that it varies."""
    name, varied = results["experiment"], results.get("variant_of")
    published = [
        cell.model_copy(update={"experiment": name})
        for cell in load_all_cells()
        if cell.table_id in results["tables"] and cell.experiment == (varied or name)
    ]
    measured = find_cell_values(published, {name: get_run_measures(results)})
    intervals = find_cell_intervals(published, {name: get_run_intervals(results)})
    return judge_cells(measured, published, {}, [] if varied else load_deviations(), intervals=intervals)


def _drop_empty_lines(table: ComparedTable) -> ComparedTable:
    """Drop rows and columns without a cell; other experiments measure them."""
    rows = [row for row in table.rows if any(row == of for of, _ in table.cells)]
    columns = [column for column in table.columns if any(column == of for _, of in table.cells)]
    return replace(table, rows=rows, columns=columns)


def make_compared_table(verdicts: Sequence[CellVerdict]) -> ComparedTable:
    """Build one published table from its judged cells."""
    first = verdicts[0].cell
    table = load_paper(first.paper).tables[first.table]
    return ComparedTable(
        id=first.table_id,
        caption=table.caption,
        rows=list(table.rows),
        columns=list(table.columns),
        cells={
            (entry.cell.row, entry.cell.column): entry for entry in verdicts if entry.cell.printed is not None
        },
    )


def number_notes(table: ComparedTable) -> tuple[ComparedTable, list[str]]:
    """Return the table with a note's number at every miss that has a known deviation, and the notes in that order."""
    notes: dict[str, int] = {}
    cells = {}
    for place, cell in table.cells.items():
        if cell.reason and cell.verdict in ("differs", "above"):
            number = notes.setdefault(cell.reason, len(notes) + 1)
            cells[place] = replace(cell, note=number)
        else:
            cells[place] = cell
    return replace(table, cells=cells), list(notes)


HEADLINE_MEASURES = {
    "micro P": "micro.precision",
    "micro R": "micro.recall",
    "micro F1": "micro.f1",
    "BEP": "micro.bep",
    "macro F1": "macro.f1",
    "accuracy": "accuracy",
    "errors": "micro.errors",
}
# Measures of rankings in the table, by the part of their column's name before @.
RANKING_COLUMNS = {"P": "precision", "nDCG": "ndcg", "PSP": "psp", "coverage": "coverage"}


# Percentage of documents whose label is among the highest scores.
TOP_MEASURES = {"top 3": "accuracy.top3", "top 5": "accuracy.top5"}
# Columns of runs that reject documents.
REJECT_MEASURES = {
    "in-scope accuracy": "reject.in_scope_accuracy",
    "out-of-scope recall": "reject.out_of_scope_recall",
    "answered": "reject.answered",
    "right of answered": "reject.right_of_answered",
}
# With one category per document, given and assigned, micro precision, recall and F1 are the accuracy.
SINGLE_LABEL_COLUMNS = ("accuracy", "macro F1", "wrong")
EQUAL_MEASURES = ("micro.precision", "micro.recall", "micro.f1")


def choose_headline_columns(results: Mapping[str, Any], *, every: bool = False) -> list[str]:
    """Return the headline columns with at least one value, then the measures requested in the settings.

    If every document has one category and gets one, several measures equal the accuracy: they share one column, there
    is no break-even point, and each wrong document counts once. `every` asks for all columns nevertheless.
    """
    runs = results["runs"].values()
    if not every and _has_one_label(results):
        usual = ["accuracy", *_list_present_columns(results, TOP_MEASURES), *SINGLE_LABEL_COLUMNS[1:]]
        if rejecting := _list_present_columns(results, REJECT_MEASURES):
            usual = [*rejecting, "macro F1"]
    else:
        usual = _list_present_columns(results, HEADLINE_MEASURES)
    usual += _list_ranking_columns(results)
    asked = [name for run in runs for name in run["settings"]["evaluation"].get("measures", [])]
    return [*usual, *dict.fromkeys(name for name in asked if name not in HEADLINE_MEASURES.values())]


def _has_one_label(results: Mapping[str, Any]) -> bool:
    """Return whether each document has one category and gets one in every run."""
    if not results["settings"]["corpus"].get("single_label"):
        return False
    if all("confusions" in run for run in results["runs"].values()):
        return True
    return all(
        (accuracy := find_value_or_mean(run["measures"], "accuracy")) is not None
        and (equal := [find_value_or_mean(run["measures"], name) for name in EQUAL_MEASURES])
        and all(value is not None and isclose(value, accuracy, abs_tol=1e-9) for value in equal)
        for run in results["runs"].values()
    )


def _list_present_columns(results: Mapping[str, Any], columns: Mapping[str, str]) -> list[str]:
    """Return the columns whose measure has a value in some run."""
    runs = [run["measures"] for run in results["runs"].values()]
    return [
        column
        for column, name in columns.items()
        if any(find_value_or_mean(measures, name) is not None for measures in runs)
    ]


def _list_ranking_columns(results: Mapping[str, Any]) -> list[str]:
    """Return P@k for every k in the settings of a run, and the other rankings for the largest k."""
    asked = {k for run in results["runs"].values() for k in run["settings"]["evaluation"].get("ranking", [])}
    last = [f"{kind}@{max(asked)}" for kind in RANKING_COLUMNS if kind != "P"] if asked else []
    return [*(f"P@{k}" for k in sorted(asked)), *last]


def _find_measure(column: str) -> str:
    """Return the measure of a column."""
    kind, at, k = column.partition("@")
    if at and kind in RANKING_COLUMNS:
        return f"{RANKING_COLUMNS[kind]}@{k}"
    known = {**HEADLINE_MEASURES, **TOP_MEASURES, **REJECT_MEASURES, "wrong": "micro.errors"}
    return known.get(column, column)


def find_value_or_mean(measures: Mapping[str, float | None], measure: str) -> float | None:
    """Return a measure, or its mean over repetitions."""
    value = measures.get(measure)
    return value if value is not None else measures.get(f"{measure}.mean")


def format_number(value: float | None, decimals: int = 1) -> str:
    """Format a number for a table; None becomes an empty text."""
    return "" if value is None else f"{value:.{decimals}f}"


def format_headline_numbers(
    measures: Mapping[str, float | None],
    columns: Sequence[str],
    intervals: Mapping[str, Interval] | None = None,
) -> list[str]:
    """Format the numbers of one run with their sampling errors; errors are whole numbers unless they are a mean."""
    found = []
    for column in columns:
        name = _find_measure(column)
        value = find_value_or_mean(measures, name)
        if column == "wrong" and value is not None:
            # A wrong document is an error for the category that it has and for the one that it gets.
            value /= 2
        counted = column in ("errors", "wrong") and value is not None and float(value).is_integer()
        used = name if measures.get(name) is not None else f"{name}.mean"
        ends = (intervals or {}).get(used)
        spread = f" ±{(ends[1] - ends[0]) / 2:.1f}" if ends and value is not None else ""
        found.append(format_number(value, 0 if counted else 1) + spread)
    return found


def format_run_rows(
    results: Mapping[str, Any], columns: Sequence[str], name: Callable[[str], str]
) -> list[list[str]]:
    """Return name and headline numbers of each run; `name` escapes the names."""
    return [
        [
            name(run["title"] or key),
            *format_headline_numbers(run["measures"], columns, run.get("intervals")),
        ]
        for key, run in results["runs"].items()
    ]


def runs_as_text(results: Mapping[str, Any], name: Callable[[str], str] = str, *, every: bool = False) -> str:
    """Format the headline measures as a Markdown table; `name` escapes the names of the runs."""
    columns = choose_headline_columns(results, every=every)
    table = format_markdown_table(format_run_rows(results, columns, name), ["run", *columns])
    return f"{table}\n\n{SPREAD_NOTE}" if has_intervals(results) else table


def has_intervals(results: Mapping[str, Any]) -> bool:
    """Return whether any run's numbers are shown with their sampling error."""
    return any(run.get("intervals") for run in results["runs"].values())
