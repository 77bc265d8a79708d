"""Everything that stands in results/EXPERIMENT/ beside results.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textcat.report.compare import compared_tables
from textcat.report.escaping import markdown
from textcat.report.html import Picture, experiment_page
from textcat.report.latex import as_latex
from textcat.report.looks import Looks
from textcat.report.runs_table import runs_as_text
from textcat.report.tables import as_csv, as_markdown, as_text, legend
from textcat.store.files import write_whole


def terminal_text(results: Mapping[str, Any]) -> str:
    """The published tables with our numbers, or the runs of an experiment that makes none."""
    tables = compared_tables(results)
    parts = [f"{table.id}: {table.caption}\n\n{as_text(table, 'simple')}\n" for table in tables]
    return "\n".join([*parts, legend() if tables else runs_as_text(results)])


def write_report(
    folder: Path, results: Mapping[str, Any], seconds: Mapping[str, float], looks: Looks | None = None
) -> None:
    """table.md, table.csv, table.tex, report.html and figures/."""
    tables = compared_tables(results)
    own = runs_as_text(results, markdown)
    compared = as_markdown(tables) if tables else ""
    write_whole(folder / "table.md", f"# {markdown(results['title'])}\n\n{compared}\n{own}\n")
    write_whole(folder / "table.csv", as_csv(tables))
    write_whole(folder / "table.tex", as_latex(results, tables))
    pictures = draw(folder / "figures", results)
    write_whole(folder / "report.html", experiment_page(results, tables, pictures, seconds, looks))


def draw(folder: Path, results: Mapping[str, Any]) -> list[Picture]:
    """The papers' figures that it makes, or else those that every experiment has."""
    from textcat.report.figures import largest_categories, macro_by_classes, save  # noqa: PLC0415 - it is slow
    from textcat.report.figures_table import FIGURES  # noqa: PLC0415

    runs = {run["title"] or name: run["measures"] for name, run in results["runs"].items()}
    counts: Mapping[str, int] = results["corpus"]["train_counts"]
    by_size = sorted(counts, key=lambda name: -counts[name])
    pictures = []
    for figure_id in results["figures"]:
        figure = FIGURES[figure_id].draw(results)
        if figure:
            path = save(figure, folder, figure_id.replace(".", "_"))
            pictures.append(Picture(f"{figure_id}: {FIGURES[figure_id].caption}", path.read_bytes()))
    if results["figures"]:
        return pictures
    macro = macro_by_classes(runs, len(counts))
    if macro:
        path = save(macro, folder, "macro_f1_by_classes")
        pictures.append(Picture("Macro F1 over the largest classes", path.read_bytes()))
    if any(name.startswith("category.") for measures in runs.values() for name in measures):
        path = save(largest_categories(runs, by_size), folder, "largest_categories")
        pictures.append(Picture("F1 of the largest categories", path.read_bytes()))
    return pictures
