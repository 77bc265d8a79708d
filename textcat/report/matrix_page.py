"""The page of the whole reproduction: every printed table beside our numbers, the figures, the conclusions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from textcat.corpora import corpus_names
from textcat.published.check import CellVerdict
from textcat.published.load import PAPERS, load_paper
from textcat.published.summary import VERDICTS
from textcat.report.citations import cited, each_once
from textcat.report.compare import table_of
from textcat.report.environment import machine
from textcat.report.figures_table import FIGURES
from textcat.report.gate import Results
from textcat.report.html import Picture, deviations_of, render

SHOWN = (*VERDICTS[:4], "not run", "cannot run")


def matrix_page(
    folder: Path,
    results: Results,
    matrix: Mapping[str, Any],
    verdicts: Sequence[CellVerdict],
    seconds: Mapping[str, float],
) -> str:
    """The page as HTML; figures are taken from the results below `folder`."""
    tables = {table["table"]: table for table in matrix["tables"]}
    return render(
        "matrix.html",
        title="Do the numbers of five papers come out again?",
        kicker="reproduction",
        summary={name: matrix["totals"]["verdicts"].get(name, 0) for name in VERDICTS[:4]},
        matrix=matrix,
        shown=SHOWN,
        papers=[_paper(paper, tables, verdicts, folder, results) for paper in PAPERS],
        facts={**machine(), "time": f"{sum(seconds.values()):,.0f} s for {len(seconds)} experiments"},
        bibtex=each_once(cited(name).strip() for name in ("textcat", *PAPERS, *_corpora(results))),
    )


def _paper(
    key: str,
    tables: Mapping[str, Any],
    verdicts: Sequence[CellVerdict],
    folder: Path,
    results: Results,
) -> dict[str, Any]:
    paper = load_paper(key)
    return {
        "key": key,
        "title": paper.title,
        "source": f"{', '.join(paper.authors)}. {paper.venue}, {paper.year}.",
        "tables": [
            _table(table, [entry for entry in verdicts if entry.cell.table_id == table_id], folder)
            for table_id, table in tables.items()
            if table_id.startswith(f"{key}.")
        ],
        "figures": _figures(key, folder, results),
    }


def _table(table: Mapping[str, Any], entries: Sequence[CellVerdict], folder: Path) -> dict[str, Any]:
    printed = any(entry.cell.printed is not None for entry in entries)
    compared = table_of(entries) if printed else None
    reasons = {entry.cell.cannot_run for entry in entries if entry.state == "cannot run"} - {None}
    experiments = dict.fromkeys(entry.cell.experiment for entry in entries)
    return {
        **table,
        "compared": compared,
        "deviations": deviations_of([compared]) if compared else [],
        "reasons": sorted(map(str, reasons)),
        "pages": [name for name in experiments if (folder / name / "report.html").is_file()],
    }


def _figures(paper: str, folder: Path, results: Results) -> list[Picture]:
    """The paper's figures that results hold, each once."""
    wanted = {figure: name for name, one in results.items() for figure in one["figures"]}
    found = []
    for figure, drawing in FIGURES.items():
        path = folder / wanted.get(figure, "") / "figures" / f"{figure.replace('.', '_')}.svg"
        if figure.startswith(f"{paper}.") and figure in wanted and path.is_file():
            found.append(Picture(f"{figure}: {drawing.caption}", path.read_bytes()))
    return found


def _corpora(results: Results) -> list[str]:
    used = {one["corpus"]["name"] for one in results.values()}
    return [name for name in corpus_names() if name in used]
