"""`textcat report`: carry experiments as far as this stage, or write the matrix of all papers."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.completions import complete_experiments
from textcat.cli.options import add_backend_options, add_work_options, read_command_settings
from textcat.cli.stages import STAGE_EPILOG, run_experiments


@click.command(
    "report",
    short_help="Write an experiment's tables, figures and page.",
    epilog=STAGE_EPILOG.format(stage="report"),
)
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...", shell_complete=complete_experiments)
@click.option(
    "--matrix", is_flag=True, help="Write results/reproduction.md, .html and .json from all results."
)
@click.option(
    "--excerpts/--no-excerpts",
    default=None,
    help="Quote the documents that are most wrong, in the page.  [default: one's own documents only]",
)
@add_backend_options
@add_work_options
def command(experiments: tuple[str, ...], matrix: bool, excerpts: bool | None, **settings: Any) -> int:
    """Write an experiment's tables, figures and page.

    Carries out whatever is still missing, writes results/EXPERIMENT/ and prints the tables. With --matrix the
    front page of all papers is written from the results that are there; nothing is run for it.
    """
    if not experiments and not matrix:
        raise click.UsageError("Name an experiment, or ask for --matrix.")
    place = read_command_settings(settings)
    code = (
        run_experiments(experiments, place, until="report", rebuild=True, quote=excerpts)
        if experiments
        else 0
    )
    if matrix:
        from textcat.report.gate import find_results
        from textcat.report.matrix import write_matrix

        totals = write_matrix(place.results, find_results([place.results]))["totals"]
        place.print_unless_quiet(
            f"{totals['run']} of {totals['cells']} cells run: {place.results / 'reproduction.md'}"
        )
    return code
