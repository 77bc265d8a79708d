"""`textcat run`: all stages of one or more experiments."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.completions import complete_experiments
from textcat.cli.options import add_backend_options, add_work_options, read_command_settings
from textcat.cli.stages import run_experiments


@click.command("run", epilog="Example:  textcat run configs/reuters_modapte.yaml --jobs 2")
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...", shell_complete=complete_experiments)
@click.option("--all", "all_papers", is_flag=True, help="Every experiment of the five papers.")
@click.option("--keep-going", is_flag=True, help="Go on with the other experiments when one fails.")
@add_backend_options
@add_work_options
def command(experiments: tuple[str, ...], all_papers: bool, keep_going: bool, **settings: Any) -> int:
    """Fetch, tokenize, select, train, evaluate and report.

    EXPERIMENT is a YAML file or a name that `textcat list experiments` shows. What is already made is
    taken from the cache; a run that was stopped goes on where it was.
    """
    chosen = (*experiments, *_list_paper_experiments()) if all_papers else experiments
    if not chosen:
        raise click.UsageError("Name an experiment, or ask for --all.")
    return run_experiments(
        tuple(dict.fromkeys(chosen)), read_command_settings(settings), until="report", keep_going=keep_going
    )


def _list_paper_experiments() -> list[str]:
    from textcat.experiment.spec.config_files import find_experiment_files
    from textcat.experiment.spec.loading import load_experiment

    return [name for name, path in find_experiment_files().items() if load_experiment(path).paper]
