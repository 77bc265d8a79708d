"""Run experiments up to a stage, or print what that would do."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.completions import experiments
from textcat.cli.options import Workplace, crewed, working, workplace

if TYPE_CHECKING:
    from textcat.cli.options import Workplace
    from textcat.experiment.run.plan import Plan
    from textcat.experiment.run.runner import Site, Timings
    from textcat.experiment.steps.step import Workshop
    from textcat.parallel import Crew


log = logging.getLogger(__name__)


def write_and_print(
    plan: Plan,
    workshop: Workshop,
    timings: Timings,
    place: Workplace,
    *,
    anew: bool,
    quote: bool | None = None,
) -> None:
    """Bring results/EXPERIMENT/ up to date as a whole, and print the tables on standard output."""
    from textcat.experiment.run.document_checks import most_empty
    from textcat.experiment.run.results import collect
    from textcat.experiment.run.results_file import encoded, timings_of, with_timings, write_timings
    from textcat.report.diagnostics import look
    from textcat.report.results_folder import find_damage, seal, sweep
    from textcat.report.writer import terminal_text, write_report
    from textcat.store.files import folder_held, write_whole

    collected = collect(plan, workshop)
    folder = place.results / plan.experiment.name
    content = encoded(collected)
    seconds = timings_of(plan, workshop, timings)
    timed = with_timings(collected, seconds)
    empty = most_empty(plan, workshop)
    with folder_held(folder):
        damage = find_damage(folder, content)
        if anew or timings.built.get("train") or damage:
            log.info("writing %s%s", folder, f": {damage}" if damage else "")
            sweep(folder)
            looks = look(plan, workshop, collected["runs"], place.data, quote=quote)
            looks = replace(looks, empty=str(empty))
            kept = write_timings(folder, seconds)
            write_report(folder, timed, kept["stages"], looks)
            write_whole(folder / "results.json", content)
            seal(folder)
    place.say(terminal_text(timed))
    place.say(f"\n{empty.summary}")
    stages = "  ".join(f"{stage} {seconds:.1f} s" for stage, seconds in timings.seconds.items())
    place.say(f"\nTime: {stages}\nReport: {folder / 'report.html'}")


EPILOG = "Example:  textcat {stage} configs/reuters_modapte.yaml"


def stage_command(stage: str, summary: str, detail: str) -> click.Command:
    """The command that carries experiments up to one stage."""

    @click.command(
        stage, short_help=summary, help=f"{summary}\n\n{detail}", epilog=EPILOG.format(stage=stage)
    )
    @click.argument(
        "experiments", nargs=-1, required=True, metavar="EXPERIMENT...", shell_complete=experiments
    )
    @crewed
    @working
    def command(experiments: tuple[str, ...], **settings: Any) -> int:
        return carry(experiments, workplace(settings), until=stage, anew=stage == "report")

    return command


def site_of(place: Workplace, crew: Crew | None = None) -> Site:
    """The workplace as the runner knows it, with progress on standard error when someone watches."""
    from textcat.cli.options import download_watcher, watcher
    from textcat.experiment.run.runner import Site

    return Site(place.data, place.mirror, place.jobs, place.offline, watcher(), download_watcher(), crew)


def carry(
    experiments: tuple[str, ...],
    place: Workplace,
    *,
    until: str,
    keep_going: bool = False,
    anew: bool = False,
    quote: bool | None = None,
) -> int:
    """Each experiment in turn; the exit code of the first that failed, when others were still to be done."""
    from textcat.errors import TextcatError
    from textcat.parallel import hired

    worst = 0
    with nullcontext() if place.dry_run else hired(place.backend, place.jobs, place.scheduler) as crew:
        for name in experiments:
            try:
                _carry_one(name, place, crew, until, anew, quote)
            except TextcatError as error:
                if not keep_going or len(experiments) == 1:
                    raise
                click.echo(f"{name}: {error}", err=True)
                worst = worst or error.exit_code
    return worst


def _carry_one(
    name: str, place: Workplace, crew: Crew | None, until: str, anew: bool, quote: bool | None
) -> None:
    from textcat.experiment.run.document_checks import most_empty
    from textcat.experiment.run.runner import carry_out, plan_of
    from textcat.experiment.spec.loading import load_experiment

    experiment = load_experiment(name)
    site = site_of(place, crew)
    if place.dry_run:
        _say_plan(experiment, site, until)
        return
    plan, timings = plan_of(experiment, site)
    workshop = carry_out(plan, site, timings, until="evaluate" if until == "report" else until)
    if until == "report":
        write_and_print(plan, workshop, timings, place, anew=anew, quote=quote)
        return
    for step in plan.steps(until):
        place.say(f"{step.title}: {workshop.store.folder_of(step.recipe)}")
    place.say(most_empty(plan, workshop, until).summary)
    if until == "train":
        from textcat.serving.export import export_models

        for folder in export_models(plan, workshop, place.data / "models" / experiment.name):
            place.say(f"model: {folder}")


def _say_plan(experiment: Any, site: Site, until: str) -> None:
    from textcat.experiment.run.runner import forecast, is_here, plan_of

    corpus = experiment.corpus.name
    if not is_here(experiment, site):
        click.echo(f"fetch {corpus}: to do")
        click.echo("the stages after it: to do, since nothing can be made of a collection that is not here")
        return
    click.echo(f"fetch {corpus}: ready")
    plan, _ = plan_of(experiment, site)
    for step, state in forecast(plan.steps("evaluate" if until == "report" else until), site.store):
        click.echo(f"{step.title}: {state}")


def results_folder(results: Path, experiment: str) -> Path:
    """Where an experiment's report goes."""
    return results / experiment
