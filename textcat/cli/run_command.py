"""`textcat run`: all stages of one or more experiments."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.completions import experiments
from textcat.cli.options import crewed, working, workplace
from textcat.cli.stages import carry


@click.command("run", epilog="Example:  textcat run configs/reuters_modapte.yaml --jobs 2")
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...", shell_complete=experiments)
@click.option("--all", "all_papers", is_flag=True, help="Every experiment of the five papers.")
@click.option("--keep-going", is_flag=True, help="Go on with the other experiments when one fails.")
@crewed
@working
def command(experiments: tuple[str, ...], all_papers: bool, keep_going: bool, **settings: Any) -> int:
    """Fetch, tokenize, select, train, evaluate and report.

    EXPERIMENT is a YAML file or a name that `textcat list experiments` shows. What is already made is
    taken from the cache; a run that was stopped goes on where it was.
    """
    chosen = (*experiments, *_of_papers()) if all_papers else experiments
    if not chosen:
        raise click.UsageError("Name an experiment, or ask for --all.")
    return carry(tuple(dict.fromkeys(chosen)), workplace(settings), until="report", keep_going=keep_going)


def _of_papers() -> list[str]:
    from textcat.experiment.spec.loading import experiment_files, load_experiment

    return [name for name, path in experiment_files().items() if load_experiment(path).paper]
