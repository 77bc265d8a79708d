"""`textcat report`: carry experiments as far as this stage, or write the matrix of all papers."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.completions import experiments
from textcat.cli.options import crewed, working, workplace
from textcat.cli.stages import EPILOG, carry


@click.command(
    "report",
    short_help="Write an experiment's tables, figures and page.",
    epilog=EPILOG.format(stage="report"),
)
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...", shell_complete=experiments)
@click.option(
    "--matrix", is_flag=True, help="Write results/reproduction.md, .html and .json from all results."
)
@click.option(
    "--excerpts/--no-excerpts",
    default=None,
    help="Quote the documents that are most wrong, in the page.  [default: one's own documents only]",
)
@crewed
@working
def command(experiments: tuple[str, ...], matrix: bool, excerpts: bool | None, **settings: Any) -> int:
    """Write an experiment's tables, figures and page.

    Carries out whatever is still missing, writes results/EXPERIMENT/ and prints the tables. With --matrix the
    front page of all papers is written from the results that are there; nothing is run for it.
    """
    if not experiments and not matrix:
        raise click.UsageError("Name an experiment, or ask for --matrix.")
    place = workplace(settings)
    code = carry(experiments, place, until="report", anew=True, quote=excerpts) if experiments else 0
    if matrix:
        from textcat.report.gate import collected
        from textcat.report.matrix import write_matrix

        totals = write_matrix(place.results, collected([place.results]))["totals"]
        place.say(f"{totals['run']} of {totals['cells']} cells run: {place.results / 'reproduction.md'}")
    return code
