"""LaTeX and Markdown tables stay valid for any name."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.experiment.own_table import results_of
from textcat.published.check import CellVerdict, judge_cells
from textcat.published.printed_tables import load_all_cells
from textcat.report.comparison_tables import ComparedTable, compare_tables, table_as_text
from textcat.report.writer import as_latex, write_report

NAMES = [
    "50% & more_of $x^2$",
    "a|b",
    r"\input{/etc/passwd}",
    "{",
    "~^#",
    '"<b>"',
    "new\nline\x1b",
    "`*[x](y)",
    "[1cm]",
    "*",
]
UNESCAPED = re.compile(r"(?<!\\)(?:\\\\)*[%$#_^~]")


def table(printed: str = "86.9", unit: str = "percent") -> ComparedTable:
    def cell(row: str, column: str, verdict: Any) -> CellVerdict:
        names = {"row": row, "column": column, "printed": printed, "unit": unit}
        return replace(
            judged,
            cell=judged.cell.model_copy(update=names),
            measured=86.84,
            difference=-0.06,
            verdict=verdict,
        )

    judged = judge_cells({}, load_all_cells()[:1], {})[0]

    columns = NAMES[:4]
    cells = {(r, c): cell(r, c, v) for r in NAMES for c, v in zip(columns, VERDICTS, strict=True)}
    return ComparedTable("paper_1.table_2", "100% of it & more", NAMES, columns, cells)


VERDICTS = ["reproduced", "close", "differs", "above"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    learner = {"learner": "naive_bayes"}
    runs = {f"run{k}": {**learner, "title": name} for k, name in enumerate(NAMES)}
    return results_of(tmp_path_factory.mktemp("paste"), {"runs": runs, "title": "A & B_1"})


def test_environments_close_and_rows_have_their_columns(results: dict[str, Any]) -> None:
    text = as_latex(results, [table()])
    opened = re.findall(r"\\(begin|end)\{(\w+)\}", text)
    assert opened == 2 * [("begin", "table"), ("begin", "tabular"), ("end", "tabular"), ("end", "table")]
    for shape, body in re.findall(r"\\begin\{tabular\}\{(l\w*)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len(rows) == len(NAMES) + 1
        for row in rows:
            assert len(re.findall(r"(?<!\\)&", row)) == len(shape) - 1, row
            plain = re.sub(r"\$[^$\\]*(?:\\sim|\\pm)?\$", "", row.replace(r"\$", ""))
            assert not UNESCAPED.search(plain), row
            assert not row.startswith(("[", "*")), "TeX reads it as an argument of the previous line"


def test_latex_compiles(results: dict[str, Any], tmp_path: Path) -> None:
    compiler = shutil.which("pdflatex")
    if compiler is None:
        pytest.skip("no pdflatex on this machine (apt install texlive-latex-recommended)")
    head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\usepackage[T1]{fontenc}\n\\begin{document}\n"
    (tmp_path / "paper.tex").write_text(head + as_latex(results, [table()]) + "\\end{document}\n")
    done = subprocess.run(
        [compiler, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_markdown_keeps_its_columns(results: dict[str, Any], tmp_path: Path) -> None:
    for line in table_as_text(table()).splitlines():
        assert len(re.findall(r"(?<!\\)\|", line)) == 6, line
    write_report(tmp_path, results, compare_tables(results), {})
    lines = [line for line in (tmp_path / "table.md").read_text().splitlines() if line.startswith("|")]
    assert len(lines) == len(NAMES) + 2
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
