"""Tables that paste into a paper: whole `table` environments in the style of booktabs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textcat.report.escaping import latex, latex_number
from textcat.report.published_tables import ComparedTable, TableCell
from textcat.report.runs_table import headline_numbers, headline_of

HEAD = r"% In the preamble: \usepackage{booktabs}" + "\n"
SIGNS = {
    "reproduced": "$=$",
    "close": r"$\sim$",
    "differs": "!",
    "better": "$+$",
    "missing": "?",
    "ungated": ".",
}


def as_latex(results: Mapping[str, Any], tables: Sequence[ComparedTable]) -> str:
    """The published tables with our numbers, then the runs."""
    return HEAD + "\n".join([*map(compared, tables), runs(results)])


def compared(table: ComparedTable) -> str:
    """A cell reads: measured, as printed in parentheses, the sign of the verdict."""
    used = table.counts()
    signs = ", ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items() if verdict in used)
    caption = f"{latex(table.caption)}. Measured (printed): {signs}."
    rows = [
        [latex(row), *(_cell(table.cells.get((row, column))) for column in table.columns)]
        for row in table.rows
    ]
    return _environment(caption, table.id, list(table.columns), rows)


def runs(results: Mapping[str, Any]) -> str:
    """The headline measures, a line a run."""
    columns = headline_of(results)
    rows = [
        [latex(run["title"] or name), *headline_numbers(run["measures"], columns)]
        for name, run in results["runs"].items()
    ]
    return _environment(latex(results["title"]), f"{results['experiment']}.runs", columns, rows)


def _cell(cell: TableCell | None) -> str:
    if cell is None:
        return ""
    return f"{latex_number(cell.text)} ({latex_number(cell.printed)}) {SIGNS.get(cell.verdict, '')}".rstrip()


def _environment(caption: str, label: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    # A label is read as it stands, so it holds only what TeX takes so.
    safe = "".join(c if c.isascii() and (c.isalnum() or c in ".-/") else "-" for c in label)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{safe}}}",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(["", *map(latex, columns)]) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
