"""Write the files of results/EXPERIMENT/ except results.json and timings.json: pages, figures, CSV, Markdown, LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textcat.corpora.cards import combine_hashes
from textcat.experiment.run.results_file import list_figures
from textcat.published.check import CONTRADICTION_SIGN, CellVerdict
from textcat.report.category_tables import class_tables_as_markdown, make_class_tables
from textcat.report.comparison_tables import (
    ComparedTable,
    choose_headline_columns,
    format_legend,
    format_run_rows,
    list_shown_cells,
    runs_as_text,
    table_as_text,
    tables_as_csv,
    tables_as_markdown,
)
from textcat.report.diagnostics import Diagnostics
from textcat.report.escaping import escape_latex, escape_markdown, format_latex_number
from textcat.report.experiment_page import Picture, render_experiment_page
from textcat.report.gate import describe_copy
from textcat.report.reading_headlines import describe_choices
from textcat.report.strips import Range
from textcat.store.files import hash_file, write_atomically

if TYPE_CHECKING:
    from textcat.report.figures import FigureEntry

# Endings of the files that decide what a report looks like.
REPORT_CODE = (".py", ".html", ".css", ".js", ".yaml", ".bib")
BOOKTABS_NOTE = r"% In the preamble: \usepackage{booktabs}" + "\n"
LATEX_SIGNS = {"reproduced": "$=$", "close": r"$\sim$", "differs": "!", "above": "$+$"}


def as_latex(results: Mapping[str, Any], tables: Sequence[ComparedTable]) -> str:
    """Format the published tables with measured numbers, then the table of runs."""
    return BOOKTABS_NOTE + "\n".join([*map(format_compared_table, tables), format_runs(results)])


def format_compared_table(table: ComparedTable) -> str:
    """Format one published table with cells `measured (printed) sign`."""
    used = table.counts()
    signs = ", ".join(f"{sign} {verdict}" for verdict, sign in LATEX_SIGNS.items() if verdict in used)
    caption = f"{escape_latex(table.caption)}. Measured (printed): {signs}."
    return _format_table(caption, table.id, table.columns, table.format_rows(escape_latex, _format_cell))


def format_runs(results: Mapping[str, Any]) -> str:
    """Format the headline measures with one row per run."""
    columns = choose_headline_columns(results, every=bool(results["paper"]))
    rows = [
        [cell.replace("±", r"$\pm$") for cell in row]
        for row in format_run_rows(results, columns, escape_latex)
    ]
    return _format_table(escape_latex(results["title"]), f"{results['experiment']}.runs", columns, rows)


def _format_cell(cell: CellVerdict | None) -> str:
    if cell is None:
        return ""
    spread = cell.spread.replace("±", r" $\pm$")
    printed = format_latex_number(cell.cell.printed or "")
    mark = r"$^\ddagger$" if CONTRADICTION_SIGN in cell.printed_text else ""
    numbers = f"{format_latex_number(cell.text)}{spread} ({printed}{mark})"
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


def format_for_terminal(results: Mapping[str, Any], tables: Sequence[ComparedTable]) -> str:
    """Format the published tables of an experiment, or its runs if it has none."""
    parts = [f"{table.id}: {table.caption}\n\n{table_as_text(table, 'simple')}\n" for table in tables]
    notes = [f"{note}\n" for note in _list_notes(results)]
    legend = format_legend(list_shown_cells(tables)) if tables else runs_as_text(results)
    return "\n".join([*notes, *parts, legend])


def _list_notes(results: Mapping[str, Any], *, choices: bool = False) -> list[str]:
    """Return what must be known to read the numbers: the copy of the collection, what it varies, and `choices`."""
    notes = [describe_copy(results)]
    if varied := results.get("variant_of"):
        notes.append(
            f"{results['experiment']} is a variant of {varied}, next to the numbers that are printed for that."
        )
    elif reading := results.get("reading"):
        notes.append(f"Reading: {reading}, asked for by --reading.")
    elif choices and results["paper"]:
        notes.append(describe_choices([results["experiment"]]))
    return list(filter(None, notes))


def write_report(
    folder: Path,
    results: Mapping[str, Any],
    tables: Sequence[ComparedTable],
    seconds: Mapping[str, float],
    diagnostics: Diagnostics | None = None,
    file: str = "",
    ranges: Mapping[str, Range] | None = None,
) -> None:
    """Write table.md, table.csv, table.tex, report.html and figures/.

    `tables` come from `compare_tables`, `file` is the experiment's file, to run it again; `ranges` are those of cells
    over readings.
    """
    # Runs of the papers show every column, because the printed tables do.
    own = runs_as_text(results, escape_markdown, every=bool(results["paper"]))
    compared = tables_as_markdown(tables) if tables else ""
    classes = make_class_tables(results)
    added = f"\n{class_tables_as_markdown(classes)}\n" if classes else ""
    notes = _list_notes(results, choices=True)
    head = "\n\n".join([f"# {escape_markdown(results['title'])}", *notes]) + "\n\n"
    write_atomically(folder / "table.md", f"{head}{compared}\n{own}\n{added}")
    write_atomically(folder / "table.csv", tables_as_csv(tables))
    write_atomically(folder / "table.tex", as_latex(results, tables))
    pictures = draw_figures(folder / "figures", results)
    page = render_experiment_page(
        results, tables, pictures, seconds, diagnostics, notes=notes, file=file, ranges=ranges
    )
    write_atomically(folder / "report.html", page)


def hash_report_code(ranges: Mapping[str, Range] | None = None) -> str:
    """Return the sha256 over the code and templates of reports, the printed numbers in them, and ranges of cells."""
    folders = [Path(__file__).parent, Path(str(files("textcat.published")))]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in REPORT_CODE]
    code = [(f"{path.parent.name}/{path.name}", hash_file(path)) for path in paths]
    return combine_hashes([*code, *((name, repr(each)) for name, each in (ranges or {}).items())])


def draw_figures(folder: Path, results: Mapping[str, Any]) -> list[Picture]:
    """Draw the paper's figures, or the default figures if there are none, and delete other figures."""
    from textcat.report.figures import save_figure  # noqa: PLC0415

    drawings = _draw_paper_figures(results) if results["figures"] else _draw_default_figures(results)
    pictures = {
        name: Picture(caption, save_figure(figure, folder, name).read_bytes())
        for name, caption, figure in drawings
        if figure
    }
    for path in list_figures(folder):
        if path.stem not in pictures:
            path.unlink()
    return list(pictures.values())


def _draw_paper_figures(results: Mapping[str, Any]) -> list[FigureEntry]:
    from textcat.report.paper_figures import FIGURES  # noqa: PLC0415

    chosen = {figure: FIGURES[figure] for figure in results["figures"]}
    return [
        (figure.replace(".", "_"), f"{figure}: {caption}", draw(results))
        for figure, (caption, draw) in chosen.items()
    ]


def _draw_default_figures(results: Mapping[str, Any]) -> list[FigureEntry]:
    """Compare the runs in two figures, unless there are too many runs."""
    from textcat.report.figures import MAX_RUNS, plot_largest_categories, plot_macro_f1_by_classes  # noqa: PLC0415

    runs = {run["title"] or name: run["measures"] for name, run in results["runs"].items()}
    if len(runs) > MAX_RUNS:
        return []
    if classes := make_class_tables(results):
        from textcat.report.figures import draw_one_label_figures  # noqa: PLC0415

        return draw_one_label_figures(results, classes)
    counts: Mapping[str, int] = results["corpus"]["train_counts"]
    by_size = sorted(counts, key=lambda name: -counts[name])
    has_categories = any(name.startswith("category.") for measures in runs.values() for name in measures)
    return [
        (
            "macro_f1_by_classes",
            "Macro F1 over the largest classes",
            plot_macro_f1_by_classes(runs, results["corpus"]["categories"]),
        ),
        (
            "largest_categories",
            "F1 of the largest categories",
            plot_largest_categories(runs, by_size) if has_categories else None,
        ),
    ]
