"""`textcat copy`: write an experiment as one complete file of the user's own, to change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from textcat.cli.options import add_common_options, read_command_settings
from textcat.cli.output import write_new_file
from textcat.errors import UsageError


@click.command("copy", epilog="Example:  textcat copy zhang_2000/table1 mine.yaml")
@click.argument("experiment", type=click.Path(readable=False))
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--reading",
    metavar="READING",
    help="Copy it as `run` runs it under this reading of the paper: literal, reconstructed, held-out or "
    "QUESTION=OPTION,...",
)
@add_common_options
def copy_command(experiment: str, file: Path, reading: str | None, **settings: Any) -> None:
    """Write an experiment to a new FILE that inherits nothing: every setting with its value and what it means.

    FILE names the copy. The copy of a paper's experiment stays comparable: its numbers are printed next to the
    paper's. Until a setting is changed, a run of it takes all stages from the cache.
    """
    from textcat.experiment.run.reading_plan import load_under_reading
    from textcat.experiment.spec.config_files import find_experiment_files
    from textcat.experiment.spec.experiment_file import move_experiment, render_experiment
    from textcat.experiment.spec.loading import derive_experiment_name, load_experiment
    from textcat.published.printed_tables import find_varied_experiment

    options = read_command_settings(settings)
    original = load_experiment(experiment)
    chosen = load_under_reading(experiment, reading) if reading else original
    name = derive_experiment_name(file)
    if name in find_experiment_files():
        hint = "Name the copy otherwise, such as mine.yaml: results are written to a folder of its name."
        raise UsageError(f"there is an experiment {name!r} already", where=str(file), hint=hint)
    varied = find_varied_experiment("", (original.name, *original.extended), original.tables)
    changed = chosen.model_copy(update={"name": name, "variant_of": varied})
    under = f" under the reading {reading}" if reading else ""
    head = (
        f"# A copy of {original.name}{under}, to change and to run: textcat run {file.name}\n"
        f"# Its open questions and their answers: textcat show {original.name}\n"
        if varied
        else f"# A copy of {original.name}, to change and to run: textcat run {file.name}\n"
    )
    write_new_file(file, head + render_experiment(move_experiment(changed, file.parent)))
    load_experiment(file)
    beside = f" Its numbers are compared with those printed for {varied}." if varied else ""
    options.print_unless_quiet(f"Wrote {file}.{beside} Change it, then run: textcat run {file}")
