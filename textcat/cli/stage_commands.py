"""`textcat tokenize`, `select`, `train`, `evaluate`, `report` and `run`: run experiments up to a stage."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

import click

from textcat.cli.main import COMMANDS
from textcat.cli.options import (
    CommandSettings,
    add_backend_options,
    add_work_options,
    make_progress_bar,
    read_command_settings,
    set_up_logging,
    start_context,
)
from textcat.cli.output import print_text
from textcat.errors import DataNotAvailableError, TextcatError

if TYPE_CHECKING:
    from textcat.experiment.run.plan import Chain, Plan
    from textcat.experiment.run.runner import Timings
    from textcat.experiment.spec.experiment import Experiment


STAGE_EPILOG = "Example:  textcat {stage} configs/reuters_modapte.yaml"


def make_stage_command(stage: str, detail: str) -> click.Command:
    """Return the command that runs experiments up to one stage."""

    @click.command(stage, help=f"{COMMANDS[stage]}\n\n{detail}", epilog=STAGE_EPILOG.format(stage=stage))
    @click.argument(
        "experiments", nargs=-1, required=True, metavar="EXPERIMENT...", type=click.Path(readable=False)
    )
    @add_backend_options
    @add_work_options
    def command(experiments: tuple[str, ...], **settings: Any) -> int:
        return run_experiments(experiments, read_command_settings(settings), until=stage)

    return command


def run_experiments(
    experiments: tuple[str, ...],
    settings: CommandSettings,
    *,
    until: str,
    keep_going: bool = False,
    rebuild: bool = False,
    quote: bool | None = None,
) -> int:
    """Run each experiment up to a stage. Return 0, or with `keep_going` the exit code of the first failure.

    Missing data counts only when nothing else failed. `rebuild` writes the report again even if it is up to date;
    `quote` is whether reports quote documents (None: only the user's own).
    """

    failures: list[TextcatError] = []
    with nullcontext(settings) if settings.dry_run else start_context(settings) as context:
        for name in experiments:
            try:
                _run_experiment(name, context, until, rebuild=rebuild, quote=quote)
            except TextcatError as error:
                if not keep_going or len(experiments) == 1:
                    raise
                failures.append(error)
                _print_failure(name, error)
    return _choose_exit_code(failures)


def _print_failure(name: str, error: TextcatError) -> None:
    message = str(error)
    print_text(message if message.startswith(f"{name}:") else f"{name}: {message}", err=True)


def _choose_exit_code(failures: Sequence[TextcatError]) -> int:
    """Return the exit code of the first failure other than missing data, or else of the first failure, or 0."""
    codes = [error.exit_code for error in failures]
    missing = DataNotAvailableError.exit_code
    return next((code for code in codes if code != missing), missing if codes else 0)


@dataclass(frozen=True)
class _FinishedRun:
    """What an experiment printed in a worker process, and its error."""

    name: str
    output: str
    messages: str
    error: TextcatError | None


def run_experiments_at_once(
    experiments: tuple[str, ...], settings: CommandSettings, at_once: int, *, keep_going: bool
) -> int:
    """Run all stages of several experiments at a time, each in a process with `jobs` threads; print in their order.

    Return as `run_experiments` does. An artifact that two experiments need is made once: the other one waits for it.
    """
    from textcat.parallel.executors import LocalExecutor

    failures: list[TextcatError] = []
    progress = make_progress_bar()
    progress(0, len(experiments), "experiments")
    with catch_warnings():
        # joblib warns of running tasks that are stopped, because the first failure ends the command.
        filterwarnings("ignore", message=".* have been cancelled", category=UserWarning)
        executor = LocalExecutor("processes", at_once)
        with closing(executor.map_items(_run_in_worker, settings, experiments)) as runs:
            for done, run in enumerate(runs, start=1):
                print_text(run.messages, err=True, nl=False)
                print_text(run.output, nl=False)
                progress(done, len(experiments), "experiments")
                if run.error is not None:
                    if not keep_going:
                        raise run.error
                    failures.append(run.error)
                    _print_failure(run.name, run.error)
    return _choose_exit_code(failures)


def _run_in_worker(settings: CommandSettings, name: str) -> _FinishedRun:
    output, messages, error = io.StringIO(), io.StringIO(), None
    with redirect_stdout(output), redirect_stderr(messages):
        set_up_logging(int(settings.verbose), settings.quiet)
        try:
            _run_experiment(name, settings, "report", rebuild=False, quote=None)
        except TextcatError as caught:
            error = caught
    return _FinishedRun(name, output.getvalue(), messages.getvalue(), error)


def _run_experiment(
    name: str, context: CommandSettings, until: str, *, rebuild: bool, quote: bool | None
) -> None:
    from textcat.experiment.run.document_checks import find_emptiest_run
    from textcat.experiment.run.reading_plan import load_under_reading
    from textcat.experiment.run.results_file import LOCAL_FOLDER, locate_results
    from textcat.experiment.run.runner import run_experiment
    from textcat.experiment.spec.loading import find_experiment, load_experiment
    from textcat.store.files import record_source

    experiment, path = load_experiment(name), find_experiment(name)
    if context.reading:
        experiment = load_under_reading(name, context.reading)
        label = context.reading.replace("=", "-").replace(",", "+")
        context = replace(context, results=context.results / LOCAL_FOLDER / "readings" / label)
    if context.dry_run:
        _print_plan(experiment, context, until)
        return
    _warn_of_other_experiment(experiment, path, context, until)
    shows_first = until == "report" and not (context.quiet or experiment.paper or experiment.resample)
    show_first = partial(_show_first_run, experiment, context) if shows_first else None
    plan, timings = run_experiment(experiment, context, until, show_first)
    if until == "report":
        _report_results(plan, timings, context, path, rebuild=rebuild, quote=quote)
        record_source(locate_results(experiment, context), path)
        return
    if context.verbose:
        for step in plan.steps(until):
            context.print_unless_quiet(f"{step.title}: {context.store.locate_artifact(step.recipe)}")
    if until == "evaluate":
        from textcat.experiment.run.results import collect_results
        from textcat.report.comparison_tables import runs_as_text

        context.print_unless_quiet(f"{runs_as_text(collect_results(plan, context))}\n")
    elif not context.quiet:
        from textcat.experiment.run.stage_summary import summarize_stage

        for line in summarize_stage(plan, context, until):
            print_text(line)
    context.print_unless_quiet(find_emptiest_run(plan, context, until).summary)
    context.print_unless_quiet(timings.summary)
    if until == "train":
        from textcat.serving.export import export_models

        models = _locate_models(experiment, context)
        for folder in export_models(plan, context, models):
            context.print_unless_quiet(f"model: {folder}")
        context.print_unless_quiet(
            f"Label documents: textcat predict {models / next(iter(experiment.runs))} FILE"
        )
        record_source(models, path)


def _show_first_run(experiment: Experiment, context: CommandSettings, chain: Chain) -> None:
    """Print the numbers of the first learner on standard error, while the others are trained."""
    from textcat.experiment.steps.evaluate import read_measures
    from textcat.report.comparison_tables import runs_as_text

    first = {
        "title": chain.settings.title,
        "measures": read_measures(chain.evaluated.read_folder(context)),
        "settings": chain.settings.model_dump(mode="json"),
    }
    corpus = {"single_label": experiment.corpus.single_label}
    table = runs_as_text({"runs": {chain.run: first}, "settings": {"corpus": corpus}})
    print_text(f"{table}\n\nThe other learners follow.\n", err=True)


def _locate_models(experiment: Experiment, context: CommandSettings) -> Path:
    return context.data / "models" / experiment.name


def _warn_of_other_experiment(
    experiment: Experiment, path: Path, context: CommandSettings, until: str
) -> None:
    """Warn where the files of another experiment with the same name will be replaced."""

    from textcat.experiment.run.results_file import locate_results
    from textcat.store.files import find_other_source

    written = {
        "report": (locate_results(experiment, context), "--results"),
        "train": (_locate_models(experiment, context), "--data"),
    }
    if until not in written:
        return
    folder, option = written[until]
    if other := find_other_source(folder, path):
        logging.getLogger(__name__).warning(
            "Warning: %s: it holds the files of %s, which those of %s replace: both experiments are named %r. "
            "Write another `name` into one of them, or name another folder with %s.",
            folder, other, path, experiment.name, option,
        )  # fmt: skip


def _report_results(
    plan: Plan, timings: Timings, context: CommandSettings, path: Path, *, rebuild: bool, quote: bool | None
) -> None:
    """Bring results/EXPERIMENT/ up to date and print the tables."""
    from textcat.experiment.run.document_checks import find_emptiest_run
    from textcat.experiment.run.results import collect_results
    from textcat.experiment.run.results_file import (
        add_timings,
        collect_timings,
        locate_results,
        write_results_folder,
    )
    from textcat.report.comparison_tables import compare_tables
    from textcat.report.diagnostics import diagnose_runs
    from textcat.report.reading_headlines import read_ranges
    from textcat.report.writer import format_for_terminal, hash_report_code, write_report

    results = collect_results(plan, context)
    seconds = collect_timings(plan, context, timings)
    timed = add_timings(results, seconds)
    tables = compare_tables(timed)
    empty = find_emptiest_run(plan, context)

    def write(folder: Path, stage_seconds: Mapping[str, float]) -> None:
        diagnostics = diagnose_runs(plan, context, results["runs"], empty=str(empty), quote=quote)
        write_report(folder, timed, tables, stage_seconds, diagnostics, os.path.relpath(path), ranges)

    folder = locate_results(plan.experiment, context)
    papers = {table.id.partition(".")[0] for table in tables}
    ranges = read_ranges(folder.parents[plan.experiment.name.count("/")], papers)
    trained = bool(timings.built.get("train"))
    code = hash_report_code(ranges)
    context.print_unless_quiet(format_for_terminal(timed, tables))
    write_results_folder(folder, results, seconds, write, report_code=code, rebuild=rebuild or trained)
    context.print_unless_quiet(f"\n{empty.summary}")
    context.print_unless_quiet(f"\n{timings.summary}\nReport: {folder / 'report.html'}")
    models = _locate_models(plan.experiment, context)
    used = f"textcat predict {models / next(iter(plan.experiment.runs))} FILE uses one"
    context.print_unless_quiet(f"Models: textcat train {os.path.relpath(path)} writes {models}/RUN; {used}")


def _print_plan(experiment: Experiment, context: CommandSettings, until: str) -> None:
    """Print the state of each step; without the collection on this machine, the steps are unknown."""
    from textcat.experiment.run.cache_state import describe_state
    from textcat.experiment.run.runner import plan_experiment

    corpus, plan = experiment.corpus.name, plan_experiment(experiment, context)
    if plan is None:
        print_text(f"fetch {corpus}: to do")
        print_text("all later stages: to do, once the collection is here")
        return
    print_text(f"fetch {corpus}: ready")
    for step in plan.steps(until, intervals=True):
        print_text(f"{step.title}: {describe_state(step, context.store)}")


tokenize_command = make_stage_command(
    "tokenize", "Writes a documents x terms count matrix to the cache; all later stages share it."
)


select_command = make_stage_command(
    "select",
    "Writes the weighted vectors of training and test documents and the selected terms of each category to the cache.",
)


train_command = make_stage_command(
    "train",
    "Writes a model directory with certificates for each run to data/models/EXPERIMENT/RUN. Categories are trained in "
    "blocks; an interrupted run continues with the next block.",
)


evaluate_command = make_stage_command(
    "evaluate", "Writes scores, decisions and all measures of each run to the cache."
)


@click.command("run", epilog="Example:  textcat run configs/reuters_modapte.yaml --jobs 2")
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...", type=click.Path(readable=False))
@click.option("--all", "all_papers", is_flag=True, help="Run every experiment of the five papers.")
@click.option("--keep-going", is_flag=True, help="Continue with the other experiments if one fails.")
@click.option(
    "--at-once",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Run N experiments at a time, each in its own process with --jobs threads.  [default: 1]",
)
@click.option(
    "--reading",
    metavar="READING",
    help="Answer the paper's open questions by the literal, reconstructed or held-out reading, or by "
    "QUESTION=OPTION,...; results go to results/local/readings/.",
)
@add_backend_options
@add_work_options
def run_command(
    experiments: tuple[str, ...],
    all_papers: bool,
    keep_going: bool,
    at_once: int,
    reading: str | None,
    **settings: Any,
) -> int:
    """Run all stages: fetch, tokenize, select, train, evaluate and report.

    EXPERIMENT is a YAML file or a name from `textcat list experiments`. Finished steps are read from the cache;
    an interrupted run continues where it stopped.
    """
    from textcat.experiment.spec.config_files import find_experiment_files
    from textcat.experiment.spec.loading import load_experiment

    chosen = list(experiments)
    if all_papers:
        chosen += [name for name, path in find_experiment_files().items() if load_experiment(path).paper]
    if not chosen:
        raise click.UsageError("Give an experiment, or use --all.")
    names, context = tuple(dict.fromkeys(chosen)), replace(read_command_settings(settings), reading=reading)
    if at_once == 1 or context.dry_run:
        return run_experiments(names, context, until="report", keep_going=keep_going)
    if context.backend or context.scheduler:
        raise click.UsageError(
            "--at-once is for runs without --backend and --scheduler: leave one of them out."
        )
    return run_experiments_at_once(names, context, at_once, keep_going=keep_going)


@click.command("report", epilog=STAGE_EPILOG.format(stage="report"))
@click.argument("experiments", nargs=-1, metavar="EXPERIMENT...", type=click.Path(readable=False))
@click.option(
    "--matrix", is_flag=True, help="Write results/reproduction.md, .html and .json from all results."
)
@click.option(
    "--excerpts/--no-excerpts",
    default=None,
    help="Quote the worst mistakes on the page, or not.  [default: quote your own documents only]",
)
@add_backend_options
@add_work_options
def report_command(experiments: tuple[str, ...], matrix: bool, excerpts: bool | None, **settings: Any) -> int:
    """Write tables, figures and an HTML page to results/EXPERIMENT/, and print the tables.

    Missing stages are run first. With --matrix, write the reproduction matrix of all papers from existing
    results, without running anything.
    """
    if not experiments and not matrix:
        raise click.UsageError("Give an experiment, or use --matrix.")
    place = read_command_settings(settings)
    code = run_experiments(experiments, place, until="report", rebuild=True, quote=excerpts)
    if matrix:
        from textcat.report.gate import find_results, require_one_copy
        from textcat.report.matrix import write_matrix

        results = find_results([place.results])
        require_one_copy(results)
        totals = write_matrix(place.results, results)["totals"]
        place.print_unless_quiet(
            f"{totals['run']} of {totals['counted']} printed numbers were run: {place.results / 'reproduction.md'}"
        )
    return code
