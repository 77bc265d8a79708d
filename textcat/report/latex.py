"""LaTeX tables for use in a paper: complete `table` environments with booktabs rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textcat.report.comparison_tables import ComparedCell, ComparedTable
from textcat.report.escaping import escape_latex, format_latex_number
from textcat.report.runs_table import choose_headline_columns, format_headline_numbers

BOOKTABS_NOTE = r"% In the preamble: \usepackage{booktabs}" + "\n"
LATEX_SIGNS = {
    "reproduced": "$=$",
    "close": r"$\sim$",
    "differs": "!",
    "above": "$+$",
}


def as_latex(results: Mapping[str, Any], tables: Sequence[ComparedTable]) -> str:
    """Format the published tables with measured numbers, then the table of runs."""
    return BOOKTABS_NOTE + "\n".join([*map(format_compared_table, tables), format_runs(results)])


def format_compared_table(table: ComparedTable) -> str:
    """Format one published table with cells `measured (printed) sign`."""
    used = table.counts()
    signs = ", ".join(f"{sign} {verdict}" for verdict, sign in LATEX_SIGNS.items() if verdict in used)
    caption = f"{escape_latex(table.caption)}. Measured (printed): {signs}."
    rows = [
        [escape_latex(row), *(_format_cell(table.cells.get((row, column))) for column in table.columns)]
        for row in table.rows
    ]
    return _format_table(caption, table.id, list(table.columns), rows)


def format_runs(results: Mapping[str, Any]) -> str:
    """Format the headline measures with one row per run."""
    columns = choose_headline_columns(results, every=bool(results["paper"]))
    rows = [
        [escape_latex(run["title"] or name), *format_headline_numbers(run["measures"], columns)]
        for name, run in results["runs"].items()
    ]
    return _format_table(escape_latex(results["title"]), f"{results['experiment']}.runs", columns, rows)


def _format_cell(cell: ComparedCell | None) -> str:
    if cell is None:
        return ""
    numbers = f"{format_latex_number(cell.text)} ({format_latex_number(cell.printed)})"
    return f"{numbers} {LATEX_SIGNS.get(cell.verdict, '')}".rstrip()


def _format_table(caption: str, label: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    # Labels cannot be escaped: replace every other character.
    safe = "".join(c if c.isascii() and (c.isalnum() or c in ".-/") else "-" for c in label)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{safe}}}",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(["", *map(escape_latex, columns)]) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
