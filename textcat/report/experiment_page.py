"""The HTML page of an experiment: self-contained, no network, no script, all external text escaped."""

from __future__ import annotations

import base64
import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

import textcat
from textcat.experiment.run.results_file import measures_of
from textcat.experiment.spec.loading import experiment_files
from textcat.published.claims import evaluate, experiments_of, load_claims
from textcat.report.citations import cited_by
from textcat.report.diagnostics import Looks
from textcat.report.published_tables import SIGNS, ComparedTable
from textcat.report.runs_table import headline_numbers, headline_of, number, value_of


def conclusions_of(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each claim that looks at this experiment, tested on it; what it needs besides is named."""
    name = results["experiment"]
    found = []
    for claim in load_claims():
        needed = experiments_of(claim)
        if name in needed:
            tested = evaluate(claim, {name: measures_of(results)}).describe()
            found.append({**tested, "besides": [each for each in needed if each != name]})
    return found


# More lines than this nobody tells apart: the runs of the highest break-even points are drawn.
MOST_CURVES = 8


@dataclass(frozen=True)
class Line:
    """One run's curve; `points` is an SVG list with precision upwards."""

    title: str
    points: str


def lines_of(
    curves: Mapping[str, Sequence[tuple[float, float]]], runs: Mapping[str, Mapping[str, Any]]
) -> list[Line]:
    """The curves to be drawn, in the order of the runs."""
    drawn = [name for name, points in curves.items() if len(points) > 1]
    best = sorted(drawn, key=lambda name: -(runs[name]["measures"].get("micro.bep") or 0.0))[:MOST_CURVES]
    return [
        Line(runs[name]["title"] or name, _svg_points(curves[name])) for name in drawn if name in set(best)
    ]


def _svg_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{recall:g},{100 - precision:.4g}" for recall, precision in points)


PACKAGES = ("numpy", "scipy", "numba", "nltk")


def facts_of(results: Mapping[str, Any], seconds: Mapping[str, float]) -> dict[str, str]:
    """The collection, the versions, the machine and the seconds, for a table of two columns."""
    corpus = results["corpus"]
    return {
        "corpus": f"{corpus['name']}, {corpus['train_documents']:,} training and {corpus['test_documents']:,} test "
        f"documents, {corpus['terms']:,} terms, {corpus['categories']} categories",
        "contents": f"sha256 {corpus['fingerprint'][:16]}",
        "textcat": results["version"],
        **machine(),
        "time": ", ".join(f"{stage} {spent:.1f} s" for stage, spent in seconds.items()),
    }


def machine() -> dict[str, str]:
    """Versions and machine; no host name and no path, since reports are shown to others."""
    return {
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


@dataclass(frozen=True)
class Picture:
    """A figure for the page, as SVG."""

    caption: str
    svg: bytes

    @property
    def data(self) -> str:
        """For a data: address, where a browser runs nothing that an image may contain."""
        return base64.b64encode(self.svg).decode("ascii")


def environment() -> Environment:
    """Templates that escape everything."""
    return Environment(
        loader=PackageLoader("textcat.report", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: Any) -> str:
    """A template of this house with the shared style."""
    loaded = environment()
    source = loaded.loader.get_source(loaded, "style.css")[0] if loaded.loader else ""
    # The style sheet is a file of this package, not text from outside.
    style = Markup(source)  # noqa: S704
    return loaded.get_template(template).render(
        style=style, version=textcat.__version__, signs=SIGNS, **values
    )


def experiment_page(
    results: Mapping[str, Any],
    tables: Sequence[ComparedTable],
    pictures: Sequence[Picture],
    seconds: Mapping[str, float],
    looks: Looks | None = None,
) -> str:
    """The page of one experiment; `looks` adds what results.json does not hold."""
    looks = looks or Looks()
    summary: Counter[str] = Counter()
    for table in tables:
        summary.update(table.counts())
    columns = headline_of(results)
    return render(
        "experiment.html",
        title=results["title"],
        kicker=results["experiment"],
        summary=dict(sorted(summary.items())),
        tables=tables,
        deviations=deviations_of(tables),
        headline=columns,
        runs=[_run(name, run, columns) for name, run in results["runs"].items()],
        figures=pictures,
        single_label=bool(results["settings"]["corpus"]["single_label"]),
        curves=lines_of(looks.curves, results["runs"]),
        categories=_categories(results),
        mistakes=looks.mistakes,
        quoted=looks.quoted,
        conclusions=conclusions_of(results),
        command=f"textcat run {_spelled(results['experiment'])}",
        facts=facts_of(results, seconds) | ({"terms": looks.empty} if looks.empty else {}),
        settings=yaml.safe_dump(results["settings"], sort_keys=False, width=100),
        bibtex=bibtex_of(results),
    )


def _spelled(experiment: str) -> str:
    """An experiment as it is named to a command: those of configs/ by name, one's own by file."""
    return experiment if experiment in experiment_files() else f"{experiment}.yaml"


def deviations_of(tables: Sequence[ComparedTable]) -> list[dict[str, str]]:
    """Each known deviation once, with the cells that it explains."""
    cells: dict[tuple[str, str], list[str]] = {}
    for table in tables:
        for cell in table.cells.values():
            if cell.reason:
                cells.setdefault((cell.reason, cell.evidence), []).append(
                    f"{table.id}[{cell.row}][{cell.column}]"
                )
    return [{"cells": ", ".join(ids), "reason": r, "evidence": e} for (r, e), ids in cells.items()]


def bibtex_of(results: Mapping[str, Any]) -> str:
    """How to cite the software, the paper, the collection and the methods."""
    runs = [run["settings"] for run in results["runs"].values()]
    return cited_by(results["paper"], results["corpus"]["name"], runs)


def _run(name: str, run: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    numbers = headline_numbers(run["measures"], columns)
    return {"title": run["title"] or name, "numbers": numbers, "signature": run["signature"]}


def _categories(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """F1 of every category with a value, the largest first."""
    counts: Mapping[str, int] = results["corpus"]["train_counts"]
    runs = [run["measures"] for run in results["runs"].values()]
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "documents": counts[name],
            "numbers": [number(value_of(measures, f"category.{name}.f1")) for measures in runs],
        }
        for name in sorted(counts, key=lambda name: (-counts[name], name))
    ]
    return rows if any(any(row["numbers"]) for row in rows) else []
