"""Reproduction matrix: every printed table and claim with its verdict, as JSON, Markdown and HTML.

The JSON file stores shared texts once: `deviations` and `reasons` map short names, which the cells use, to texts. Paper
and table are stored with the table, not with its cells. The evidence of a claim maps experiment, run and measure to
the number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from tabulate import tabulate

from textcat.corpora import list_corpora
from textcat.experiment.run.results_file import TIMINGS_FILE, get_run_measures, read_timings
from textcat.published.check import (
    HEADLINE,
    VERDICTS,
    CellVerdict,
    describe_interval_counts,
    summarize_differences,
    summarize_verdicts,
)
from textcat.published.claims import ClaimResult, count_outcomes, evaluate_claim, load_claims
from textcat.published.printed_tables import PAPERS, load_paper
from textcat.report.citations import cite, join_unique_entries
from textcat.report.comparison_tables import (
    describe_cells,
    format_legend,
    make_compared_table,
    number_notes,
    table_as_text,
)
from textcat.report.experiment_page import Picture, describe_machine, render_template, show_table
from textcat.report.gate import ResultsByExperiment, judge_results, list_copies
from textcat.report.multiverse_page import LABELS
from textcat.report.paper_figures import FIGURES
from textcat.report.reading_headlines import (
    MEANINGS,
    describe_choices,
    draw_headline,
    format_headline,
    list_headline_rows,
    list_headline_sentences,
    list_paper_rows,
    read_ranges,
    summarize_by_reading,
)
from textcat.report.strips import Range
from textcat.store.files import write_atomically

SHARED_TEXTS = (("deviation", "deviations"), ("cannot_run", "reasons"), ("reason", "reasons"))
TABLE_KEYS = ("paper", "table")
DIGITS = 10
SHOWN_VERDICTS = (*VERDICTS[:4], "not judged", "not run", "cannot run")


def matrix_as_json(matrix: Mapping[str, Any]) -> str:
    """Format the matrix as JSON, without times, which differ between runs."""
    texts: dict[str, dict[str, str]] = {"deviations": {}, "reasons": {}}
    tables = [_format_table(table, texts) for table in matrix["tables"]]
    claims = [_compact_claim(claim, texts["reasons"]) for claim in matrix["each_claim"]]
    parts = {
        **{
            name: _format_value(matrix[name])
            for name in ("totals", "readings", "text", "spreads", "papers", "claims", "copies")
        },
        **{
            plural: _format_list([f"{json.dumps(n)}: {json.dumps(text)}" for text, n in named.items()], "{}")
            for plural, named in texts.items()
        },
        "tables": _format_list(tables, "[]"),
        "each_claim": _format_list([_format_value(claim) for claim in claims], "[]"),
    }
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in parts.items()) + "\n}\n"


def _format_table(table: Mapping[str, Any], texts: dict[str, dict[str, str]]) -> str:
    facts = {key: value for key, value in table.items() if key not in ("seconds", "cells")}
    cells = _format_list([_format_value(_compact_cell(cell, texts)) for cell in table["cells"]], "[]")
    return f'{_format_value(facts)[:-1]}, "cells": {cells}}}'


def _compact_cell(cell: Mapping[str, Any], texts: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Return a cell without empty fields and without the fields of its table."""
    kept = {key: value for key, value in cell.items() if key not in TABLE_KEYS and value not in (None, False)}
    kept |= {key: cell[key] for key in ("printed", "measured", "gated")}
    for one, many in SHARED_TEXTS:
        if one in kept:
            kept[one] = _name_text(kept[one], many.removesuffix("s"), texts[many])
    return kept


def _compact_claim(claim: Mapping[str, Any], reasons: dict[str, str]) -> dict[str, Any]:
    evidence: dict[str, Any] = {}
    for entry in claim["evidence"]:
        runs = evidence.setdefault(entry["experiment"], {})
        runs.setdefault(entry["run"], {})[entry["measure"]] = entry["value"]
    kept = {key: value for key, value in claim.items() if value is not None and key != "paper"}
    if "cannot_run" in kept:
        kept["cannot_run"] = _name_text(kept["cannot_run"], "reason", reasons)
    return {**kept, "evidence": evidence}


def _name_text(text: str, kind: str, known: dict[str, str]) -> str:
    return known.setdefault(text, f"{kind}_{len(known) + 1}")


def _format_list(lines: Sequence[str], brackets: str) -> str:
    return brackets if not lines else f"{brackets[0]}\n" + ",\n".join(lines) + f"\n{brackets[1]}"


def _format_value(value: Any) -> str:
    return json.dumps(_round_numbers(value), allow_nan=False)


def _round_numbers(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _round_numbers(one) for key, one in value.items()}
    return [_round_numbers(one) for one in value] if isinstance(value, list) else value


def render_matrix_page(
    folder: Path,
    results: ResultsByExperiment,
    matrix: Mapping[str, Any],
    verdicts: Sequence[CellVerdict],
    seconds: Mapping[str, float],
) -> str:
    """Render the HTML page; figures are read from the results in `folder`."""
    tables = {table["table"]: table for table in matrix["tables"]}
    ranges = read_ranges(folder)
    used = {one["corpus"]["name"] for one in results.values()}
    corpora = [name for name in list_corpora() if name in used]
    return render_template(
        "matrix.html",
        title="Reproduction of the numbers of five papers",
        kicker="reproduction",
        summary={name: matrix["totals"]["headline"][name] for name in HEADLINE},
        headline=list_headline_sentences(matrix),
        rows=list_headline_rows(matrix),
        paper_rows=list_paper_rows(matrix["readings"]),
        bars=Markup(draw_headline(matrix["readings"])),  # noqa: S704
        labels=[LABELS[name] for name in MEANINGS],
        places=HEADLINE,
        intervals=describe_interval_counts(matrix["totals"]),
        legend=describe_cells(verdicts),
        matrix=matrix,
        shown=SHOWN_VERDICTS,
        papers=[
            {
                **_describe_paper(paper, folder, results),
                "tables": [
                    _describe_table(
                        table,
                        [entry for entry in verdicts if entry.cell.table_id == table_id],
                        folder,
                        ranges,
                    )
                    for table_id, table in tables.items()
                    if table_id.startswith(f"{paper}.")
                ],
            }
            for paper in PAPERS
        ],
        facts={
            **describe_machine(),
            "collections": " ".join(matrix["copies"]),
            "time": f"{sum(seconds.values()):,.0f} s for {len(seconds)} experiments",
        },
        bibtex=join_unique_entries(cite(name).strip() for name in ("textcat", *PAPERS, *corpora)),
    )


def _describe_paper(key: str, folder: Path, results: ResultsByExperiment) -> dict[str, Any]:
    paper = load_paper(key)
    return {
        "key": key,
        "title": paper.title,
        "source": f"{', '.join(paper.authors)}. {paper.venue}, {paper.year}.",
        "figures": _collect_figures(key, folder, results),
    }


def _describe_table(
    table: Mapping[str, Any],
    entries: Sequence[CellVerdict],
    folder: Path,
    ranges: Mapping[str, Range],
) -> dict[str, Any]:
    printed = any(entry.cell.printed is not None for entry in entries)
    reasons = {entry.cell.cannot_run for entry in entries if entry.state == "cannot run"} - {None}
    experiments = dict.fromkeys(entry.cell.experiment for entry in entries)
    return {
        **table,
        "shown": show_table(make_compared_table(entries), ranges) if printed else None,
        "reasons": sorted(map(str, reasons)),
        "pages": [name for name in experiments if (folder / name / "report.html").is_file()],
    }


def _collect_figures(paper: str, folder: Path, results: ResultsByExperiment) -> list[Picture]:
    """Return the figures of a paper that the results contain, each once."""
    wanted = {figure: name for name, one in results.items() for figure in one["figures"]}
    found = []
    for figure, (caption, _) in FIGURES.items():
        path = folder / wanted.get(figure, "") / "figures" / f"{figure.replace('.', '_')}.svg"
        if figure.startswith(f"{paper}.") and figure in wanted and path.is_file():
            found.append(Picture(f"{figure}: {caption}", path.read_bytes()))
    return found


def write_matrix(folder: Path, results: ResultsByExperiment) -> dict[str, Any]:
    """Write reproduction.json, .md, .svg and .html to the results folder, and return the matrix as plain values."""
    verdicts = judge_results(results, everything=True)
    measures = {name: get_run_measures(one) for name, one in results.items()}
    claims = [evaluate_claim(claim, measures) for claim in load_claims()]
    seconds = read_seconds(folder, results)
    matrix = make_matrix(verdicts, claims, seconds, folder)
    matrix["copies"] = list_copies(results)
    write_atomically(folder / "reproduction.json", matrix_as_json(matrix))
    write_atomically(folder / "reproduction.svg", draw_headline(matrix["readings"]))
    write_atomically(folder / "reproduction.md", matrix_as_markdown(matrix, verdicts))
    write_atomically(
        folder / "reproduction.html", render_matrix_page(folder, results, matrix, verdicts, seconds)
    )
    return matrix


def read_seconds(folder: Path, results: ResultsByExperiment) -> dict[str, float]:
    """Map experiments to the total seconds of their stages."""
    found: dict[str, float] = {}
    for name in results:
        # A damaged file was reported when the results were read.
        timings = read_timings(folder / name / TIMINGS_FILE, warn=False)
        stages: Mapping[str, float] = timings.get("stages", {})
        found[name] = round(sum(stages.values()), 1)
    return found


def make_matrix(
    verdicts: Sequence[CellVerdict], claims: Sequence[ClaimResult], seconds: Mapping[str, float], folder: Path
) -> dict[str, Any]:
    """Return totals, counts by reading, tables with their cells, and claims as plain values."""
    facts = summarize_verdicts(verdicts)
    cells: dict[str, list[dict[str, Any]]] = {}
    for cell in facts["cells"]:
        cells.setdefault(f"{cell['paper']}.{cell['table']}", []).append(cell)
    tables = [
        {
            **_summarize_table(table_id, facts["tables"][table_id], found, seconds),
            "differences": summarize_differences(v for v in verdicts if v.cell.table_id == table_id),
        }
        for table_id, found in cells.items()
    ]
    return {
        "totals": facts["totals"],
        "readings": summarize_by_reading(verdicts, folder),
        "text": facts["text"],
        "spreads": facts["spreads"],
        "papers": facts["papers"],
        "tables": tables,
        "claims": count_outcomes(claims),
        "each_claim": [claim.describe() for claim in claims],
    }


def _summarize_table(
    table_id: str, counted: Mapping[str, Any], cells: Sequence[dict[str, Any]], seconds: Mapping[str, float]
) -> dict[str, Any]:
    paper, _, name = table_id.partition(".")
    experiments = list(dict.fromkeys(cell["experiment"] for cell in cells))
    counts = {verdict: counted["verdicts"].get(verdict, 0) for verdict in VERDICTS[:4]}
    return {
        "table": table_id,
        "caption": load_paper(paper).tables[name].caption,
        "choices": describe_choices(experiments),
        "command": "textcat run " + " ".join(experiments),
        "seconds": round(sum(seconds.get(experiment, 0.0) for experiment in experiments), 1),
        "counts": {
            **counts,
            "not judged": counted["headline"]["not judged"],
            "not run": counted["not_run"],
            "cannot run": counted["cannot_run"],
        },
        "cells": list(cells),
    }


def matrix_as_markdown(matrix: Mapping[str, Any], verdicts: Sequence[CellVerdict]) -> str:
    """Format a summary row per table, then every table, then the claims."""
    rows = [
        [
            f"[{t['table']}](#{t['table'].replace('.', '')})",
            t["caption"],
            *(t["counts"][s] or "" for s in SHOWN_VERDICTS),
            *_format_differences(t["differences"]),
            t["seconds"],
        ]
        for t in matrix["tables"]
    ]
    headers = ["table", "caption", *SHOWN_VERDICTS, "mean difference", "mean absolute", "seconds"]
    parts = [
        "# Reproduction of the numbers of five papers\n",
        format_headline(matrix),
        tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True),
        f"\n{describe_interval_counts(matrix['totals'])}\n",
        f"{format_legend(verdicts)}\n\nd: difference in test documents\n",
        " ".join(matrix["copies"]) + "\n",
    ]
    for table in matrix["tables"]:
        parts += _format_table_section(
            table, [entry for entry in verdicts if entry.cell.table_id == table["table"]]
        )
    parts += ["## Conclusions\n", _format_claims(matrix["each_claim"])]
    return "\n".join(parts) + "\n"


def _format_differences(differences: Mapping[str, float] | None) -> tuple[str, str]:
    if differences is None:
        return "", ""
    return f"{differences['signed']:+.2f}", f"{differences['absolute']:.2f}"


def _format_table_section(table: Mapping[str, Any], verdicts: Sequence[CellVerdict]) -> list[str]:
    parts = [f"## {table['table']}\n", f"{table['caption']}. `{table['command']}`\n", f"{table['choices']}\n"]
    if any(entry.cell.printed is not None for entry in verdicts):
        numbered, notes = number_notes(make_compared_table(verdicts))
        parts.append(table_as_text(numbered) + "\n")
        parts += [f"[{number}] {reason}\n" for number, reason in enumerate(notes, 1)]
    reasons = {entry.cell.cannot_run for entry in verdicts if entry.state == "cannot run"} - {None}
    parts += [f"Cannot run: {reason}.\n" for reason in sorted(map(str, reasons))]
    parts += [
        f"Not run: {entry.cell.row}: {entry.cell.not_run}.\n"
        for entry in verdicts
        if entry.state == "not run" and entry.cell.not_run
    ]
    return parts


def _format_claims(claims: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            "cannot fail" if c["identity"] and c["outcome"] == "holds" else c["outcome"],
            c["id"],
            c["statement"],
            " ".join(c["figures"]),
            c["note"] or "",
        ]
        for c in claims
    ]
    return tabulate(rows, headers=["", "claim", "statement", "numbers", "note"], tablefmt="github")
