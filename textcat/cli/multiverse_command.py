"""`textcat multiverse`: run all defensible readings of a paper, or a sample of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.options import (
    CommandSettings,
    Duration,
    add_backend_options,
    add_work_options,
    read_command_settings,
    start_context,
)
from textcat.cli.output import print_json
from textcat.errors import DataNotAvailableError, UsageError

if TYPE_CHECKING:
    from textcat.experiment.run.multiverse import Multiverse, Selection
    from textcat.published.readings import Readings


@click.command("multiverse", epilog="Example:  textcat multiverse zhang_oles_2001 --budget 20m")
@click.argument(
    "targets",
    nargs=-1,
    required=True,
    metavar="EXPERIMENT|PAPER...",
    type=click.Path(readable=False),
)
@click.option("--budget", type=Duration(), help="Start no further reading after this time, such as 20m.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    help="Number of readings: the default, those that differ in one option, then random ones.  "
    "[default: 96, or what the budget allows]",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of the sample.")
@click.option(
    "--readings",
    "own",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of readings for an experiment of your own.",
)
@click.option("--extend", is_flag=True, help="Keep the readings that multiverse.json holds, and run others.")
@click.option("--keep", is_flag=True, help="Keep models and scores of all readings in the cache.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
@add_backend_options
@add_work_options
def multiverse_command(
    targets: tuple[str, ...],
    budget: float | None,
    sample: int | None,
    seed: int,
    own: Path | None,
    extend: bool,
    keep: bool,
    as_json: bool,
    **settings: Any,
) -> int:
    """Run the readings of a paper and show how far its numbers depend on them.

    A paper leaves questions open; textcat/published/readings lists them with their options and what supports each.
    Writes results/PAPER/multiverse.json, a page and specification curves. Finished readings are kept: run the same
    command again to resume.
    """
    from textcat.experiment.run.multiverse import DEFAULT_SAMPLE, Selection

    place = read_command_settings(settings)
    number = sample if sample is not None or budget is not None else DEFAULT_SAMPLE
    selection = Selection(number, budget, seed)
    groups = _group_targets(targets, own, place)
    codes = [
        _run_multiverse(names, readings, selection, place, extend=extend, keep=keep, as_json=as_json)
        for readings, names in groups
    ]
    return max(codes)


def _group_targets(
    targets: tuple[str, ...], own: Path | None, place: CommandSettings
) -> list[tuple[Readings, list[str]]]:
    """Return the readings of each paper with its experiments."""
    from textcat.experiment.spec.loading import load_experiment
    from textcat.published.printed_tables import PAPERS
    from textcat.published.readings import load_readings, read_readings

    if own is not None:
        return [(read_readings(own), list(targets))]
    groups: dict[str, list[str]] = {}
    for target in targets:
        if target in PAPERS:
            groups.setdefault(target, []).extend(_list_runnable(target, place))
            continue
        paper = load_experiment(target).paper
        if not paper:
            hint = "Name a file with its open questions: --readings FILE."
            raise UsageError("there are no readings for this experiment", where=target, hint=hint)
        groups.setdefault(paper, []).append(target)
    return [(load_readings(paper), list(dict.fromkeys(names))) for paper, names in groups.items()]


def _list_runnable(paper: str, place: CommandSettings) -> list[str]:
    """Return the experiments of a paper's tables whose collection is here or can be fetched."""
    from textcat.experiment.spec.config_files import find_experiment_files
    from textcat.experiment.spec.loading import load_experiment
    from textcat.experiment.steps.fetch import explain_unavailable, fetch_documents

    found = []
    for name in find_experiment_files():
        experiment = load_experiment(name)
        if experiment.paper != paper or not experiment.tables:
            continue
        if place.dry_run and explain_unavailable(experiment.corpus.name):
            continue
        try:
            if not place.dry_run:
                fetch_documents(experiment, place)
            found.append(name)
        except DataNotAvailableError as error:
            click.echo(f"{name} is left out: {error.what}", err=True)
    if not found:
        raise DataNotAvailableError(
            "no collection of this paper is available",
            where=paper,
            hint="Name a --mirror or allow downloads.",
        )
    return found


def _run_multiverse(
    names: list[str],
    readings: Readings,
    selection: Selection,
    place: CommandSettings,
    *,
    extend: bool,
    keep: bool,
    as_json: bool,
) -> int:
    """Run the readings of one paper; return the exit code, 4 where a reading failed."""
    from textcat.experiment.run.multiverse import Multiverse
    from textcat.experiment.spec.loading import load_experiment
    from textcat.report.multiverse_page import format_summary, read_summary, write_multiverse

    folder = place.results / (readings.paper or load_experiment(names[0]).name)
    multiverse = Multiverse.plan(names, readings, selection, read_summary(folder) if extend else None)
    if place.dry_run:
        _print_plan(multiverse, as_json=as_json)
        return 0

    def report(done: int, total: int, what: str) -> None:
        if not place.quiet:
            counted = f"{done}/{total}" if selection.budget is None else f"{done}, at most {total}"
            click.echo(f"[{counted}] {what}", err=True)

    with start_context(place) as context:
        multiverse.run(context, report, keep=keep)
    summary = write_multiverse(folder, multiverse.summarize())
    if as_json:
        print_json(summary)
    else:
        place.print_unless_quiet(format_summary(summary))
        place.print_unless_quiet(f"\nReport: {folder / 'multiverse.html'}")
    return 4 if multiverse.has_failures else 0


def _print_plan(multiverse: Multiverse, *, as_json: bool) -> None:
    """List the readings and their number; nothing is run."""
    from textcat.experiment.run.multiverse import format_reading

    jobs = [
        (experiment.experiment.name, experiment.project(reading))
        for batch in multiverse.list_jobs()
        for experiment, reading in batch
    ]
    if as_json:
        listed = [{"experiment": name, "reading": reading} for name, reading in jobs]
        print_json({"possible": multiverse.space.size, "readings": listed}, ensure_ascii=True)
        return
    for name, reading in jobs:
        click.echo(f"{name}: {format_reading(reading, multiverse.space)}")
    click.echo(f"{len(jobs)} runs; {multiverse.space.size} readings are possible.")
