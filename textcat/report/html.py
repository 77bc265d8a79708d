"""One self-contained page: no network, no script, every text from outside escaped."""

from __future__ import annotations

import base64
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

import textcat
from textcat.published.load import PAPERS, load_paper
from textcat.report.runs_table import HEADLINE, headline_of, number, value_of
from textcat.report.tables import SIGNS, ComparedTable


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
) -> str:
    """The page of one experiment."""
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
        deviations=_deviations(tables),
        headline=columns,
        runs=[_run(name, run, columns) for name, run in results["runs"].items()],
        figures=pictures,
        categories=_categories(results),
        command=f"textcat run {results['experiment']}",
        facts=_facts(results, seconds),
        settings=yaml.safe_dump(results["settings"], sort_keys=False, width=100),
        bibtex=bibtex_of(results["paper"]),
    )


def _deviations(tables: Sequence[ComparedTable]) -> list[dict[str, str]]:
    """Each known deviation once, with the cells that it explains."""
    cells: dict[tuple[str, str], list[str]] = {}
    for table in tables:
        for cell in table.cells.values():
            if cell.reason:
                cells.setdefault((cell.reason, cell.evidence), []).append(
                    f"{table.id}[{cell.row}][{cell.column}]"
                )
    return [{"cells": ", ".join(ids), "reason": r, "evidence": e} for (r, e), ids in cells.items()]


def bibtex_of(paper: str) -> str:
    """How to cite the paper, when it is one of the five."""
    return load_paper(paper).bibtex if paper in PAPERS else ""


def _run(name: str, run: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    values = [number(value_of(run["measures"], HEADLINE.get(column, column))) for column in columns]
    return {"title": run["title"] or name, "numbers": values, "signature": run["signature"]}


def _categories(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    counts: Mapping[str, int] = results["corpus"]["train_counts"]
    runs = [run["measures"] for run in results["runs"].values()]
    return [
        {
            "name": name,
            "documents": counts[name],
            "numbers": [number(value_of(measures, f"category.{name}.f1")) for measures in runs],
        }
        for name in sorted(counts, key=lambda name: (-counts[name], name))
    ]


def _facts(results: Mapping[str, Any], seconds: Mapping[str, float]) -> dict[str, str]:
    corpus = results["corpus"]
    return {
        "corpus": f"{corpus['name']}, {corpus['train_documents']:,} training and {corpus['test_documents']:,} test "
        f"documents, {corpus['terms']:,} terms, {corpus['categories']} categories",
        "contents": f"sha256 {corpus['fingerprint'][:16]}",
        "textcat": results["version"],
        "Python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "time": ", ".join(f"{stage} {spent:.1f} s" for stage, spent in seconds.items()),
    }
