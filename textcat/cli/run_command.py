"""`textcat run`: all stages of one or more experiments."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.options import working, workplace
from textcat.cli.stages import carry


@click.command("run", epilog="Example:  textcat run configs/reuters_modapte.yaml --jobs 2")
@click.argument("experiments", nargs=-1, required=True, metavar="EXPERIMENT...")
@click.option("--keep-going", is_flag=True, help="Go on with the other experiments when one fails.")
@working
def command(experiments: tuple[str, ...], keep_going: bool, **settings: Any) -> int:
    """Fetch, tokenize, select, train, evaluate and report.

    EXPERIMENT is a YAML file or a name that `textcat list experiments` shows. What is already made is
    taken from the cache; a run that was stopped goes on where it was.
    """
    return carry(experiments, workplace(settings), until="report", keep_going=keep_going)
