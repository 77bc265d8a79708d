"""Run experiments up to a stage, or print what that would do."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.completions import complete_experiments
from textcat.cli.options import CommandSettings, add_backend_options, add_work_options, read_command_settings

if TYPE_CHECKING:
    from textcat.cli.options import CommandSettings
    from textcat.experiment.run.plan import Plan
    from textcat.experiment.run.runner import RunContext, Timings
    from textcat.experiment.steps.step import StepContext
    from textcat.parallel import Executor


log = logging.getLogger(__name__)


def write_and_print_results(
    plan: Plan,
    workshop: StepContext,
    timings: Timings,
    place: CommandSettings,
    *,
    anew: bool,
    quote: bool | None = None,
) -> None:
    """Bring results/EXPERIMENT/ up to date as a whole, and print the tables on standard output."""
    from textcat.experiment.run.document_checks import most_empty
    from textcat.experiment.run.results import collect_results
    from textcat.experiment.run.results_file import (
        add_timings,
        collect_timings,
        encode_results,
        write_timings,
    )
    from textcat.report.diagnostics import diagnose_runs
    from textcat.report.results_folder import find_damage, seal, sweep
    from textcat.report.writer import format_for_terminal, write_report
    from textcat.store.files import hold_lock, write_atomically

    collected = collect_results(plan, workshop)
    folder = place.results / plan.experiment.name
    content = encode_results(collected)
    seconds = collect_timings(plan, workshop, timings)
    timed = add_timings(collected, seconds)
    empty = most_empty(plan, workshop)
    with hold_lock(folder, folder=True):
        damage = find_damage(folder, content)
        if anew or timings.built.get("train") or damage:
            log.info("writing %s%s", folder, f": {damage}" if damage else "")
            sweep(folder)
            looks = diagnose_runs(plan, workshop, collected["runs"], place.data, quote=quote)
            looks = replace(looks, empty=str(empty))
            kept = write_timings(folder, seconds)
            write_report(folder, timed, kept["stages"], looks)
            write_atomically(folder / "results.json", content)
            seal(folder)
    place.print_unless_quiet(format_for_terminal(timed))
    place.print_unless_quiet(f"\n{empty.summary}")
    stages = "  ".join(f"{stage} {seconds:.1f} s" for stage, seconds in timings.seconds.items())
    place.print_unless_quiet(f"\nTime: {stages}\nReport: {folder / 'report.html'}")


STAGE_EPILOG = "Example:  textcat {stage} configs/reuters_modapte.yaml"


def make_stage_command(stage: str, summary: str, detail: str) -> click.Command:
    """The command that carries experiments up to one stage."""

    @click.command(
        stage, short_help=summary, help=f"{summary}\n\n{detail}", epilog=STAGE_EPILOG.format(stage=stage)
    )
    @click.argument(
        "experiments", nargs=-1, required=True, metavar="EXPERIMENT...", shell_complete=complete_experiments
    )
    @add_backend_options
    @add_work_options
    def command(experiments: tuple[str, ...], **settings: Any) -> int:
        return run_experiments(
            experiments, read_command_settings(settings), until=stage, anew=stage == "report"
        )

    return command


def make_run_context(place: CommandSettings, executor: Executor | None = None) -> RunContext:
    """The workplace as the runner knows it, with progress on standard error when someone watches."""
    from textcat.cli.options import make_download_bar, make_progress_bar
    from textcat.experiment.run.runner import RunContext

    return RunContext(
        place.data,
        place.mirror,
        place.jobs,
        place.offline,
        make_progress_bar(),
        make_download_bar(),
        executor,
    )


def run_experiments(
    experiments: tuple[str, ...],
    place: CommandSettings,
    *,
    until: str,
    keep_going: bool = False,
    anew: bool = False,
    quote: bool | None = None,
) -> int:
    """Each experiment in turn; the exit code of the first that failed, when others were still to be done."""
    from textcat.errors import TextcatError
    from textcat.parallel import start_workers

    worst = 0
    with (
        nullcontext()
        if place.dry_run
        else start_workers(place.backend, place.jobs, place.scheduler) as executor
    ):
        for name in experiments:
            try:
                _run_experiment(name, place, executor, until, anew, quote)
            except TextcatError as error:
                if not keep_going or len(experiments) == 1:
                    raise
                click.echo(f"{name}: {error}", err=True)
                worst = worst or error.exit_code
    return worst


def _run_experiment(
    name: str, place: CommandSettings, executor: Executor | None, until: str, anew: bool, quote: bool | None
) -> None:
    from textcat.experiment.run.document_checks import most_empty
    from textcat.experiment.run.runner import prepare_plan, run_plan
    from textcat.experiment.spec.loading import load_experiment

    experiment = load_experiment(name)
    site = make_run_context(place, executor)
    if place.dry_run:
        _print_plan(experiment, site, until)
        return
    plan, timings = prepare_plan(experiment, site)
    workshop = run_plan(plan, site, timings, until="evaluate" if until == "report" else until)
    if until == "report":
        write_and_print_results(plan, workshop, timings, place, anew=anew, quote=quote)
        return
    for step in plan.steps(until):
        place.print_unless_quiet(f"{step.title}: {workshop.store.locate_artifact(step.recipe)}")
    place.print_unless_quiet(most_empty(plan, workshop, until).summary)
    if until == "train":
        from textcat.serving.export import export_models

        for folder in export_models(plan, workshop, place.data / "models" / experiment.name):
            place.print_unless_quiet(f"model: {folder}")


def _print_plan(experiment: Any, site: RunContext, until: str) -> None:
    from textcat.experiment.run.runner import is_corpus_available, list_step_states, prepare_plan

    corpus = experiment.corpus.name
    if not is_corpus_available(experiment, site):
        click.echo(f"fetch {corpus}: to do")
        click.echo("the stages after it: to do, since nothing can be made of a collection that is not here")
        return
    click.echo(f"fetch {corpus}: ready")
    plan, _ = prepare_plan(experiment, site)
    for step, state in list_step_states(plan.steps("evaluate" if until == "report" else until), site.store):
        click.echo(f"{step.title}: {state}")


def results_folder(results: Path, experiment: str) -> Path:
    """Where an experiment's report goes."""
    return results / experiment
