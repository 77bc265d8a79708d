"""HTML page of an experiment: self-contained, with all external text escaped; its one script sorts tables."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

import textcat
from textcat.experiment.run.results_file import get_run_measures
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.published.check import SIGNS, count_verdicts, describe_interval_counts
from textcat.published.claims import evaluate_claim, list_claim_experiments, load_claims
from textcat.report.category_tables import (
    CLASS_HEADERS,
    CategorySection,
    list_category_tables,
    make_class_tables,
)
from textcat.report.citations import join_unique_entries, list_used_entries
from textcat.report.comparison_tables import (
    SPREAD_NOTE,
    ComparedTable,
    choose_headline_columns,
    describe_cells,
    format_headline_numbers,
    has_intervals,
    list_shown_cells,
    number_notes,
)
from textcat.report.diagnostics import Diagnostics
from textcat.report.strips import Range, make_strip

# More lines cannot be distinguished: only the runs with the highest break-even points are drawn.
MAX_CURVES = 8
PACKAGES = ("numpy", "scipy", "numba", "nltk")


def evaluate_conclusions(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Evaluate the claims that use this experiment; `besides` names the other experiments that they need."""
    name, measures = results["experiment"], get_run_measures(results)
    return [
        evaluate_claim(claim, {name: measures}).describe() | {"besides": [n for n in needed if n != name]}
        for claim in load_claims()
        if name in (needed := list_claim_experiments(claim))
    ]


def make_curve_lines(
    curves: Mapping[str, Sequence[tuple[float, float]]], runs: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, str]]:
    """Return title and SVG point list (precision points up) of the curves to draw, in the order of the runs."""
    drawn = [name for name, points in curves.items() if len(points) > 1]
    best = sorted(drawn, key=lambda name: -(runs[name]["measures"].get("micro.bep") or 0.0))[:MAX_CURVES]
    return [
        {
            "title": runs[name]["title"] or name,
            "points": " ".join(f"{recall:g},{100 - precision:.4g}" for recall, precision in curves[name]),
        }
        for name in drawn
        if name in best
    ]


def collect_facts(results: Mapping[str, Any], seconds: Mapping[str, float]) -> dict[str, str]:
    """Return collection, versions, machine and seconds for a table of two columns."""
    corpus = results["corpus"]
    return {
        "corpus": f"{corpus['name']}, {corpus['train_documents']:,} training and {corpus['test_documents']:,} test "
        f"documents, {corpus['terms']:,} terms, {corpus['categories']} categories",
        "contents": f"sha256 {corpus['fingerprint'][:16]}",
        "textcat": results["version"],
        **describe_machine(),
        "time": ", ".join(f"{stage} {spent:.1f} s" for stage, spent in seconds.items()),
    }


def describe_machine() -> dict[str, str]:
    """Return versions and machine, without host name or paths, because reports are published."""
    return {
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


@dataclass(frozen=True)
class Picture:
    """An SVG figure of the page."""

    caption: str
    svg: bytes

    @property
    def data(self) -> str:
        """Return the SVG as base64 for a data: URL, where browsers run no scripts."""
        return base64.b64encode(self.svg).decode("ascii")


def _read_trusted(name: str) -> Markup:
    """Return a file of this package's templates, which is not escaped."""
    folder = files("textcat.report").joinpath("templates")
    return Markup(folder.joinpath(name).read_text(encoding="utf-8"))  # noqa: S704


def render_template(template: str, **values: Any) -> str:
    """Render a template with the shared style; values are escaped."""
    environment = Environment(
        loader=PackageLoader("textcat.report", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(
        style=_read_trusted("style.css"), version=textcat.__version__, signs=SIGNS, **values
    )


def load_script() -> dict[str, str]:
    """Return the page's script with its hash; by the Content-Security-Policy, browsers run no other one."""
    source = _read_trusted("sort.js")
    digest = hashlib.sha256(source.encode()).digest()
    return {"source": source, "hash": "sha256-" + base64.b64encode(digest).decode("ascii")}


def render_experiment_page(
    results: Mapping[str, Any],
    tables: Sequence[ComparedTable],
    pictures: Sequence[Picture],
    seconds: Mapping[str, float],
    diagnostics: Diagnostics | None = None,
    *,
    notes: Sequence[str] = (),
    file: str = "",
    ranges: Mapping[str, Range] | None = None,
) -> str:
    """Render the page of one experiment; `diagnostics` adds what results.json does not contain.

    `notes` are shown above the tables, `file` is the experiment's file; `ranges` are those of cells over readings.
    """
    diagnostics, name = diagnostics or Diagnostics(), results["experiment"]
    summary = Counter(cell.verdict for table in tables for cell in table.cells.values())
    columns = choose_headline_columns(results)
    classes = make_class_tables(results)
    return render_template(
        "experiment.html",
        title=results["title"],
        kicker=name,
        summary=dict(sorted(summary.items())),
        notes=notes,
        tables=[show_table(table, ranges or {}) for table in tables],
        intervals=describe_interval_counts(count_verdicts(list_shown_cells(tables))),
        legend=describe_cells(list_shown_cells(tables)),
        runs_note=SPREAD_NOTE if has_intervals(results) else "",
        headline=columns,
        runs=[
            {
                "title": run["title"] or key,
                "numbers": format_headline_numbers(run["measures"], columns, run.get("intervals")),
                "signature": run["signature"],
            }
            for key, run in results["runs"].items()
        ],
        figures=pictures,
        single_label=bool(results["settings"]["corpus"]["single_label"]),
        # With one label per document, accuracy and risk against coverage take the place of the break-even point.
        curves=[] if classes else make_curve_lines(diagnostics.curves, results["runs"]),
        categories=CategorySection() if classes else list_category_tables(results),
        classes=classes,
        class_headers=CLASS_HEADERS,
        label_errors=diagnostics.label_errors,
        script=load_script() if classes else None,
        mistakes=diagnostics.mistakes,
        quoted=diagnostics.quoted,
        conclusions=evaluate_conclusions(results),
        # A name for experiments in configs/, else a file.
        command=f"textcat run {name if name in find_experiment_files() else file or f'{name}.yaml'}",
        facts=collect_facts(results, seconds) | ({"terms": diagnostics.empty} if diagnostics.empty else {}),
        settings=yaml.safe_dump(results["settings"], sort_keys=False, width=100),
        bibtex=join_unique_entries(
            list_used_entries(
                results["paper"],
                results["corpus"]["name"],
                [run["settings"] for run in results["runs"].values()],
            )
        ),
    )


def show_table(table: ComparedTable, ranges: Mapping[str, Range]) -> dict[str, Any]:
    """Return a table with numbered notes, the notes, and its strip; `ranges` are those of cells over readings."""
    numbered = number_notes(table)[0]
    return {
        "table": numbered,
        "deviations": group_deviations(numbered),
        "strip": make_strip(list(numbered.cells.values()), ranges),
    }


def group_deviations(table: ComparedTable) -> list[dict[str, str]]:
    """Return the notes of a table in the order of their numbers, each with the cells that it explains, in words."""
    cells: dict[str, list[tuple[str, str]]] = {}
    evidence: dict[str, dict[str, None]] = {}
    for place, cell in table.cells.items():
        if cell.note is not None:
            cells.setdefault(cell.reason, []).append(place)
            evidence.setdefault(cell.reason, {})[cell.evidence] = None
    return [
        {"cells": name_cells(table, places), "reason": reason, "evidence": "; ".join(evidence[reason])}
        for reason, places in cells.items()
    ]


def name_cells(table: ComparedTable, places: Sequence[tuple[str, str]]) -> str:
    """Name cells of a table in words: whole columns and rows, then the others row by row, or column by column."""
    if set(places) == set(table.cells):
        return "all cells"
    left, parts = set(places), []
    for axis, names, kind in ((1, table.columns, "column"), (0, table.rows, "row")):
        for name in names:
            line = {place for place in table.cells if place[axis] == name}
            if len(line) > 1 and line <= set(places) and line & left:
                left -= line
                parts.append(f"{kind} {name}")
    rows, columns = ({place[axis] for place in left} for axis in (0, 1))
    axis = 0 if len(rows) <= len(columns) else 1
    for name in (table.rows, table.columns)[axis]:
        if others := [place[1 - axis] for place in table.cells if place in left and place[axis] == name]:
            parts.append(f"{name}: {', '.join(others)}")
    return "; ".join(parts)
