"""Compare every number that a page quotes from results/ with the file it comes from."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from tests.conftest import PROJECT
from tests.documents.page import PAGES
from tests.loops import for_each
from textcat.experiment.run.results_file import get_run_measures, read_results

QUOTED: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (PROJECT / "tests" / "documents" / "quoted_numbers.yaml").read_text(encoding="utf-8")
)
NUMBER = r"\d[\d,]*(?:\.\d+)?"
TEXTS = [(page, quote) for page, quotes in QUOTED.items() for quote in quotes if "text" in quote]
ROWS = [(page, quote) for page, quotes in QUOTED.items() for quote in quotes if "row" in quote]
GENERATED = {"configuration.md", "methods.md", "performance.md"}

# A number with one of these words next to it is a measurement, so it must be in quoted_numbers.yaml.
MEASUREMENT = re.compile(
    rf"({NUMBER})(?:%| percent of the cells| times as | documents a second| points of micro F1| seconds on)"
    rf"|micro F1 (?:of )?({NUMBER})"
)
# Quoted from files that the repository does not keep, or not measured by textcat.
NOT_FROM_RESULTS = {
    "docs/decisions.md": {"0.2 points of micro F1"},
}
REDUCTIONS = {"min": min, "max": max, "geometric mean": lambda values: float(np.exp(np.mean(np.log(values))))}


@cache
def read_page(page: str) -> str:
    """Return the page's text with single spaces in place of line ends, indents and table padding."""
    return re.sub(r"\s+", " ", (PROJECT / page).read_text(encoding="utf-8"))


@cache
def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@cache
def read_measures(folder: str) -> Any:
    return get_run_measures(read_results(PROJECT / "results" / folder))


def compute_value(source: dict[str, Any]) -> float:
    """Return the number that a source of quoted_numbers.yaml describes."""
    if "results" in source:
        value = float(read_measures(source["results"])[source["run"]][source["measure"]])
    else:
        found = read_json(PROJECT / "results" / source["file"])
        rows = [found]
        if "where" in source:
            rows = [row for row in found if source["where"].items() <= row.items()]
        values = [follow_path(row, source["path"]) for row in rows]
        assert len(values) == 1 or ("reduce" in source and values), source
        value = REDUCTIONS[source["reduce"]](values) if "reduce" in source else values[0]
    value = 1.0 / value if source.get("inverse") else value
    value = 100.0 * value if source.get("percent") else value
    value += compute_value(source["plus"]) if "plus" in source else 0.0
    return value - (compute_value(source["minus"]) if "minus" in source else 0.0)


def follow_path(value: Any, path: str) -> float:
    for key in path.split("/"):
        value = value[key]
    return float(value)


def is_rounded(quoted: str, value: float) -> bool:
    """Return whether `quoted` is the value at its own precision; "92,000" is rounded to thousands."""
    plain = quoted.replace(",", "")
    unit = 10.0 ** -len(plain.partition(".")[2])
    if quoted.endswith(",000"):
        unit = 1000.0
    return abs(float(plain) - value) <= unit / 2 + 1e-9


@for_each(("page", "quote"), TEXTS)
def test_number_in_text(page: str, quote: dict[str, Any]) -> None:
    pattern = re.escape(quote["text"]).replace(r"\{\}", f"({NUMBER})")
    found = re.findall(pattern, read_page(page))
    value = compute_value(quote["value"])
    assert found, f"{page} no longer says {quote['text']!r}"
    assert all(is_rounded(number, value) for number in found), f"{found} in {page}, {value} in results/"


@for_each(("page", "quote"), ROWS)
def test_numbers_in_row(page: str, quote: dict[str, Any]) -> None:
    rows = re.findall(rf"{re.escape(quote['row'])}(?= \**\d)(.*)", read_page(page))
    assert len(rows) == 1, f"{page} has no single row {quote['row']!r}"
    source = quote["values"]
    expected = [
        compute_value({"results": source["results"], "run": run, "measure": measure})
        for run in source["runs"]
        for measure in source["measures"]
    ]
    found = re.findall(NUMBER, rows[0])[:: quote.get("every", 1)][: len(expected)]
    assert [is_rounded(number, value) for number, value in zip(found, expected, strict=True)] == [True] * len(
        expected
    ), (found, expected)


@for_each("page", [page for page in PAGES if page.name not in GENERATED])
def test_every_measurement_is_compared(page: Path) -> None:
    name = str(page.relative_to(PROJECT))
    text = read_page(name)
    compared = [
        match.span(1)
        for quote in QUOTED.get(name, [])
        if "text" in quote
        for match in re.finditer(re.escape(quote["text"]).replace(r"\{\}", f"({NUMBER})"), text)
    ]
    unknown = [
        match.group(0)
        for match in MEASUREMENT.finditer(text)
        if match.span(match.lastindex or 1) not in compared
        and match.group(0).strip() not in NOT_FROM_RESULTS.get(name, set())
    ]
    assert unknown == [], f"add these numbers of {name} to tests/documents/quoted_numbers.yaml"


@for_each(
    ("quoted", "value", "same"),
    [
        ("92,000", 92_239, True),
        ("85,000", 92_239, False),
        ("70", 70, True),
        ("70", 71, False),
        ("6.9", 6.87, True),
        ("6.8", 6.87, False),
        ("1,046", 1046, True),
    ],
)
def test_rounding(quoted: str, value: float, same: bool) -> None:
    assert is_rounded(quoted, value) == same
