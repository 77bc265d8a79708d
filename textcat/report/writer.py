"""Everything that stands in results/EXPERIMENT/ beside results.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textcat.report.diagnostics import Looks
from textcat.report.escaping import markdown
from textcat.report.experiment_page import Picture, experiment_page
from textcat.report.latex import as_latex
from textcat.report.published_tables import as_csv, as_markdown, as_text, compared_tables, legend
from textcat.report.results_folder import figures_in
from textcat.report.runs_table import runs_as_text
from textcat.store.files import write_whole

Drawn = tuple[str, str, Any]


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
    """The papers' figures that it makes, or else those that every experiment has; others are cleared away."""
    from textcat.report.figures import save  # noqa: PLC0415

    drawings = _of_papers(results) if results["figures"] else _of_every_experiment(results)
    pictures = {
        name: Picture(caption, save(figure, folder, name).read_bytes())
        for name, caption, figure in drawings
        if figure
    }
    for path in figures_in(folder):
        if path.stem not in pictures:
            path.unlink()
    return list(pictures.values())


def _of_papers(results: Mapping[str, Any]) -> list[Drawn]:
    from textcat.report.paper_figures import FIGURES  # noqa: PLC0415

    return [
        (
            figure_id.replace(".", "_"),
            f"{figure_id}: {FIGURES[figure_id].caption}",
            FIGURES[figure_id].draw(results),
        )
        for figure_id in results["figures"]
    ]


def _of_every_experiment(results: Mapping[str, Any]) -> list[Drawn]:
    """Two comparisons of the runs, where a picture can hold so many."""
    from textcat.report.figures import MOST_RUNS, largest_categories, macro_by_classes  # noqa: PLC0415

    runs = {run["title"] or name: run["measures"] for name, run in results["runs"].items()}
    if len(runs) > MOST_RUNS:
        return []
    counts: Mapping[str, int] = results["corpus"]["train_counts"]
    by_size = sorted(counts, key=lambda name: -counts[name])
    each = any(name.startswith("category.") for measures in runs.values() for name in measures)
    return [
        ("macro_f1_by_classes", "Macro F1 over the largest classes", macro_by_classes(runs, len(counts))),
        (
            "largest_categories",
            "F1 of the largest categories",
            largest_categories(runs, by_size) if each else None,
        ),
    ]
