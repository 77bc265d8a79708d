"""`textcat run`: run all stages of one or more experiments."""

from __future__ import annotations

from typing import Any

import click

from textcat.cli.completions import complete_experiments
from textcat.cli.options import add_backend_options, add_work_options, read_command_settings
from textcat.cli.stages import run_experiments


@click.command("run", epilog="Example:  textcat run configs/reuters_modapte.yaml --jobs 2")
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...", shell_complete=complete_experiments)
@click.option("--all", "all_papers", is_flag=True, help="Run every experiment of the five papers.")
@click.option("--keep-going", is_flag=True, help="Continue with the other experiments if one fails.")
@add_backend_options
@add_work_options
def command(experiments: tuple[str, ...], all_papers: bool, keep_going: bool, **settings: Any) -> int:
    """Run all stages: fetch, tokenize, select, train, evaluate and report.

    EXPERIMENT is a YAML file or a name from `textcat list experiments`. Finished steps are read from the cache;
    an interrupted run continues where it stopped.
    """
    chosen = (*experiments, *_list_paper_experiments()) if all_papers else experiments
    if not chosen:
        raise click.UsageError("Give an experiment, or use --all.")
    return run_experiments(
        tuple(dict.fromkeys(chosen)), read_command_settings(settings), until="report", keep_going=keep_going
    )


def _list_paper_experiments() -> list[str]:
    from textcat.experiment.spec.config_files import find_experiment_files
    from textcat.experiment.spec.loading import load_experiment

    return [name for name, path in find_experiment_files().items() if load_experiment(path).paper]
