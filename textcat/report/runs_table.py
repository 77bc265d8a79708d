"""Table of the headline measures of an experiment, with one row per run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isclose
from typing import Any

from textcat.report.escaping import format_markdown_table

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
# For runs that reject documents: classes right in scope, rejected out of scope, and what is answered.
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

    Where every document has one category and gets one, there is one column for the equal measures, no break-even
    point, and each wrong document counts once; unless `every` column is wanted.
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
    """Return P@k for every k that a run asks for, and the other kinds for the largest."""
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


def format_headline_numbers(measures: Mapping[str, float | None], columns: Sequence[str]) -> list[str]:
    """Format the numbers of one run; errors are whole numbers unless they are a mean."""
    found = []
    for column in columns:
        value = find_value_or_mean(measures, _find_measure(column))
        if column == "wrong" and value is not None:
            # A wrong document is an error of the category that it has and of the one that it gets.
            value /= 2
        counted = column in ("errors", "wrong") and value is not None and float(value).is_integer()
        found.append(format_number(value, 0 if counted else 1))
    return found


def runs_as_text(results: Mapping[str, Any], name: Callable[[str], str] = str, *, every: bool = False) -> str:
    """Format the headline measures as a Markdown table; `name` escapes the names of the runs."""
    columns = choose_headline_columns(results, every=every)
    rows = [
        [name(run["title"] or key), *format_headline_numbers(run["measures"], columns)]
        for key, run in results["runs"].items()
    ]
    return format_markdown_table(rows, ["run", *columns])
