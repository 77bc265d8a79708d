"""Table of the headline measures of an experiment, with one row per run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

HEADLINE_MEASURES = {
    "micro P": "micro.precision",
    "micro R": "micro.recall",
    "micro F1": "micro.f1",
    "BEP": "micro.bep",
    "macro F1": "macro.f1",
    "accuracy": "accuracy",
    "errors": "micro.errors",
}


def choose_headline_columns(results: Mapping[str, Any]) -> list[str]:
    """Return the headline columns with at least one value, then the measures requested in the settings."""
    runs = results["runs"].values()
    usual = [
        name
        for name, measure in HEADLINE_MEASURES.items()
        if any(find_value_or_mean(run["measures"], measure) is not None for run in runs)
    ]
    asked = [name for run in runs for name in run["settings"]["evaluation"].get("measures", [])]
    return [*usual, *dict.fromkeys(name for name in asked if name not in HEADLINE_MEASURES.values())]


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
        value = find_value_or_mean(measures, HEADLINE_MEASURES.get(column, column))
        counted = column == "errors" and value is not None and float(value).is_integer()
        found.append(format_number(value, 0 if counted else 1))
    return found


def runs_as_text(results: Mapping[str, Any], name: Callable[[str], str] = str) -> str:
    """Format the headline measures as a Markdown table; `name` escapes the names of the runs."""
    columns = choose_headline_columns(results)
    rows = [
        [name(run["title"] or key), *format_headline_numbers(run["measures"], columns)]
        for key, run in results["runs"].items()
    ]
    return tabulate(rows, headers=["run", *columns], tablefmt="github", disable_numparse=True)
