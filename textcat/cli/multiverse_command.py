"""`textcat multiverse`: find the reading of a paper that its own printed numbers support best."""

from __future__ import annotations

import time
from collections.abc import Mapping
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
from textcat.cli.output import print_json, print_text
from textcat.errors import DataNotAvailableError, UsageError

if TYPE_CHECKING:
    from textcat.published.readings import Readings


@click.command("multiverse", epilog="Example:  textcat multiverse zhang_oles_2001 --budget 30m")
@click.argument("target", metavar="PAPER|EXPERIMENT", type=click.Path(readable=False))
@click.option("--budget", type=Duration(), help="Start no further reading after this time, such as 30m.")
@click.option(
    "--readings",
    "own",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file of questions and options for an experiment of your own.",
)
@click.option(
    "--questions", help="Search only these, separated by commas; the others keep their literal option."
)
@click.option(
    "--replace", is_flag=True, help="Forget the readings that multiverse.json holds; they are kept otherwise."
)
@click.option("--keep", is_flag=True, help="Keep models and scores of all readings in the cache.")
@click.option(
    "--pin",
    is_flag=True,
    help="Write the answers that were found to textcat/published/readings/answers.yaml.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
@add_backend_options
@add_work_options
def multiverse_command(
    target: str,
    budget: float | None,
    own: Path | None,
    questions: str | None,
    replace: bool,
    keep: bool,
    pin: bool,
    as_json: bool,
    **settings: Any,
) -> int:
    """Search the readings of a paper for the one that its printed numbers support best.

    A paper leaves questions open; textcat/published/readings lists them with their options and what supports each. The
    search starts from the literal reading and ends with the reconstructed one and, for each table, with the held-out
    reading, found without that table. Writes results/PAPER/multiverse.json and a page. Finished readings are kept: run
    the same command again to resume. Of a single experiment, readings are measured and added to the file.
    """
    from textcat.experiment.run.multiverse import Laboratory, load_multiverse, measure_neighbours, summarize
    from textcat.experiment.run.results_file import LOCAL_FOLDER, locate_results
    from textcat.experiment.spec.loading import load_experiment
    from textcat.report.multiverse_page import format_summary, read_summary, write_answers, write_multiverse

    place = read_command_settings(settings)
    papers, names, is_whole = _find_experiments(target, own, place)
    # Numbers of another copy of a collection than the pinned one stay apart from those of the repository.
    located = [locate_results(load_experiment(name), place) for name in names]
    is_local = any(folder.is_relative_to(place.results / LOCAL_FOLDER) for folder in located)
    root = place.results / LOCAL_FOLDER if is_local else place.results
    folders = {
        paper: root / (readings.paper or load_experiment(names[0]).name) for paper, readings in papers.items()
    }
    earlier: Mapping[str, Any] = (
        {} if replace else {paper: read_summary(folder) for paper, folder in folders.items()}
    )
    asked = _check_questions(questions, papers)
    if place.dry_run:
        _print_plan(papers, names)
        return 0

    def report(what: str) -> None:
        if not place.quiet:
            print_text(f"[{time.monotonic() - laboratory.started:5.0f} s] {what}", err=True)

    with start_context(place) as context:
        laboratory = Laboratory.open(context, report, budget, keep=keep)
        multiverse = load_multiverse(names, papers, laboratory, earlier, asked)
        found = multiverse.find_readings() if multiverse.evidence.cells else None
        if found is None:
            measure_neighbours(multiverse)
        written = {}
        for paper in papers:
            summary = summarize(multiverse, paper, found if is_whole else None)
            written[paper] = write_multiverse(folders[paper], summary, earlier.get(paper))
    if pin:
        write_answers(written)
    if as_json:
        print_json(written)
    else:
        for paper, summary in written.items():
            place.print_unless_quiet(format_summary(summary))
            place.print_unless_quiet(f"\nReport: {folders[paper] / 'multiverse.html'}\n")
    return 4 if any(each.failed for each in multiverse.experiments) else 0


def _check_questions(named: str | None, papers: Mapping[str, Readings]) -> list[str]:
    asked = [name.strip() for name in named.split(",")] if named else []
    known = [name for readings in papers.values() for name in readings.questions]
    for name in asked:
        if name not in known:
            hint = f"The questions are {', '.join(dict.fromkeys(known))}."
            raise UsageError(f"there is no question '{name}'", where="--questions", hint=hint)
    return asked


def _find_experiments(
    target: str, own: Path | None, place: CommandSettings
) -> tuple[dict[str, Readings], list[str], bool]:
    """Return the papers with their readings, the experiments, and whether these are all of the papers' experiments."""
    from textcat.experiment.spec.loading import load_experiment
    from textcat.published.printed_tables import PAPERS
    from textcat.published.readings import load_readings, read_readings

    if own is not None:
        return {"": read_readings(own)}, [target], True
    if target in PAPERS:
        together = (target, *load_readings(target).decided_with)
        papers = {paper: load_readings(paper) for paper in PAPERS if paper in together}
        return papers, [name for paper in papers for name in _list_runnable(paper, place)], True
    paper = load_experiment(target).paper
    if not paper:
        hint = "Name a file with its open questions: --readings FILE."
        raise UsageError("there are no readings for this experiment", where=target, hint=hint)
    return {paper: load_readings(paper)}, [target], False


def _list_runnable(paper: str, place: CommandSettings) -> list[str]:
    """Return the experiments that measure printed numbers of a paper and whose collection is here or can be fetched."""
    from textcat.experiment.spec.loading import load_experiment
    from textcat.experiment.steps.fetch import explain_unavailable, fetch_documents
    from textcat.published.evidence import is_evidence
    from textcat.published.printed_tables import load_all_cells

    found = []
    cells = [cell for cell in load_all_cells() if cell.paper == paper and is_evidence(cell)]
    for name in dict.fromkeys(cell.experiment for cell in cells):
        experiment = load_experiment(name)
        if place.dry_run:
            if not explain_unavailable(experiment.corpus.name):
                found.append(name)
            continue
        try:
            fetch_documents(experiment, place)
            found.append(name)
        except DataNotAvailableError as error:
            print_text(f"{name} is left out: {error.what}", err=True)
    if not found:
        hint = "Name a --mirror or allow downloads."
        raise DataNotAvailableError("no collection of this paper is available", where=paper, hint=hint)
    return found


def _print_plan(papers: Mapping[str, Readings], names: list[str]) -> None:
    """List the experiments, and the questions with their options; nothing is run."""
    print_text(f"experiments: {', '.join(names)}")
    seen = {name: question for readings in papers.values() for name, question in readings.questions.items()}
    for name, question in seen.items():
        others = [option for option in question.tried if option != question.literal]
        print_text(f"{name}: {question.literal} (literal), {', '.join(others) or 'no other option is tried'}")
