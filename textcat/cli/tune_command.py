"""`textcat tune`: find the best model for given documents within a time limit."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from textcat.cli.init_command import choose_name
from textcat.cli.options import (
    CommandSettings,
    Duration,
    add_backend_options,
    add_work_options,
    read_command_settings,
)
from textcat.cli.output import print_json, print_text

if TYPE_CHECKING:
    from textcat.experiment.run.plan import Plan
    from textcat.experiment.spec.experiment import Experiment
    from textcat.experiment.tune.search import Candidate, Clock, Search
    from textcat.experiment.tune.session import TuneResult, TuneSettings

METRICS = ("micro.f1", "macro.f1", "accuracy", "p@1", "p@3", "p@5")


@click.command("tune", epilog="Example:  textcat tune documents.csv --time 5m")
@click.argument("documents", metavar="FILE|EXPERIMENT", type=click.Path(readable=False))
@click.option(
    "--test",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A second file with the test documents.  [default: drawn at random, or by a split column]",
)
@click.option(
    "--time",
    "seconds",
    type=Duration(),
    help="Time for all, the final model included, such as 90s, 5m or 1h.  [default: 5m]",
)
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    help="Measure to optimize.  [default: accuracy for one label per document, else micro.f1]",
)
@click.option("--folds", type=click.IntRange(2, 20), default=5, show_default=True, help="Number of folds.")
@click.option(
    "--configurations",
    type=click.IntRange(min=1),
    help="Number of configurations to try; without --time there is then no time limit.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of folds and draws."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to write.  [default: NAME-tuned]",
)
@click.option("--json", "as_json", is_flag=True, help="Print tune.json on standard output.")
@add_backend_options
@add_work_options
def tune_command(
    documents: str,
    test: Path | None,
    seconds: float | None,
    metric: str | None,
    folds: int,
    configurations: int | None,
    seed: int,
    output: Path | None,
    as_json: bool,
    **settings: Any,
) -> int:
    """Find the best model for your documents.

    FILE is a CSV, TSV, JSON Lines or svmlight file, a file of lines such as `__label__price What does it cost?`, or
    a folder with one folder per class. EXPERIMENT is an experiment file or name. Features, learner and thresholds
    are chosen on training documents only, by cross-validation; test documents are used once, at the end.

    The command writes tuned.yaml (an experiment for `textcat run`), a model for `textcat predict`, tune.json and
    tune.html. Ctrl-C ends the search and keeps the best so far; after the search it leaves out the learning curve and
    figures (exit code 0). A second Ctrl-C there stops the command (exit code 130), and the model is kept once it is
    written. Running the same command again continues the search for another --time.
    """
    from textcat.experiment.tune.search import Clock
    from textcat.experiment.tune.session import TuneSettings

    place, clock = read_command_settings(settings), Clock()
    limit = 300.0 if seconds is None and configurations is None else seconds
    options = TuneSettings(metric, folds, configurations, limit, seed)
    target = output or Path(f"{choose_name(Path(documents))}-tuned")
    if place.dry_run:
        with TemporaryDirectory() as folder:
            _read_experiment(documents, test, Path(folder), place)
        _print_plan(documents, options, target)
        return 0
    if not _names_experiment(documents):
        _refuse_other_documents(target, Path(documents))
    experiment = _read_experiment(documents, test, target, place)
    if experiment.corpus.path:
        _refuse_other_documents(target, experiment.own_documents)
    result = _tune(experiment, options, target, place, clock)
    if as_json:
        print_json(result.report)
    else:
        _print_result(result, target, place)
    return 0


def _names_experiment(documents: str) -> bool:
    """Return whether a YAML file or the name of an experiment is given, not documents."""
    from textcat.experiment.spec.config_files import find_experiment_files

    path = Path(documents)
    return not path.exists() or path.suffix in (".yaml", ".yml") or documents in find_experiment_files()


def _refuse_other_documents(target: Path, documents: Path) -> None:
    """Refuse a folder with the model of other documents: files of one name in two folders would share it."""
    from textcat.errors import UsageError
    from textcat.store.files import find_other_source

    if other := find_other_source(target, documents):
        raise UsageError(
            f"it holds the search of {other}, not of {documents}",
            where=str(target),
            hint="Name another folder with --output, or delete this one.",
        )


def _read_experiment(documents: str, test: Path | None, target: Path, place: CommandSettings) -> Experiment:
    """Return the experiment of a YAML file or a name, or the one that `textcat init` would write for documents."""
    import os

    from textcat.errors import UsageError
    from textcat.experiment.spec.loading import load_experiment

    path = Path(documents)
    if _names_experiment(documents):
        if test is not None:
            hint = "Write `test` below `corpus.options` of the experiment."
            raise UsageError("--test goes with a file of documents", where=documents, hint=hint)
        experiment = load_experiment(documents)
        _warn_of_unused_settings(experiment, documents)
        return experiment
    from textcat.corpora.own.inspect import inspect_documents
    from textcat.experiment.spec.schema import render_first_experiment
    from textcat.store.files import write_atomically

    inspection = inspect_documents(path, test)
    for line in inspection.report:
        if not place.quiet:
            print_text(line, err=True)
    name = choose_name(path)
    relative = os.path.relpath(path.resolve(), target.resolve())
    written = target / f"{name}.yaml"
    write_atomically(written, render_first_experiment(inspection, name, relative))
    return load_experiment(written)


def _warn_of_unused_settings(experiment: Experiment, name: str) -> None:
    """Warn of settings about features and about documents without a class that the search leaves out."""
    import logging

    from textcat.experiment.steps.features import keeps_all_features

    runs = experiment.runs.values()
    found = {
        "selection": any(not keeps_all_features(run.selection) for run in runs),
        "projection": any(run.projection for run in runs),
        "reject": any(run.reject for run in runs),
    }
    if unused := [f"`{key}`" for key, is_set in found.items() if is_set]:
        logging.getLogger(__name__).warning(
            "Warning: %s: %s %s no part of the search, nor of its model. Add what you need to tuned.yaml.",
            name,
            " and ".join(unused),
            "is" if len(unused) == 1 else "are",
        )


def _print_plan(documents: str, options: TuneSettings, target: Path) -> None:
    limits = [f"{options.seconds:.0f} s"] if options.seconds is not None else []
    limits += [f"{options.configurations} configurations"] if options.configurations is not None else []
    print_text(f"search the best configuration for {documents}: {', '.join(limits)}")
    print_text(f"write {target}")


def _tune(
    experiment: Experiment, options: TuneSettings, target: Path, place: CommandSettings, clock: Clock
) -> TuneResult:
    """Search, and write the experiment, the model, the report and the page."""
    from textcat.experiment.tune.session import tune_experiment, write_report
    from textcat.parallel import start_workers
    from textcat.report.tune_page import write_tune_page
    from textcat.serving.export import assemble_categorizer, replace_model
    from textcat.store.cache_folder import use_cache
    from textcat.store.files import delete_unfinished, hold_lock, record_source

    with (
        hold_lock(target / ".lock"),
        use_cache(place.data / "cache"),
        start_workers(place.backend, place.jobs, place.scheduler) as executor,
        _LiveTable(place.quiet) as table,
    ):
        delete_unfinished(target)
        if experiment.corpus.path:
            record_source(target, experiment.own_documents)

        def keep_model(plan: Plan) -> None:
            replace_model(target / "model", assemble_categorizer(plan, plan.chains[0], place))

        context = replace(place, executor=executor)
        result = tune_experiment(
            experiment, context, options, target, table.show, table.report_step, keep_model, clock
        )
        write_report(result.report, target)
        try:
            write_tune_page(target, result.report, result.experiment, place)
        except KeyboardInterrupt:
            if result.report["left_out"] == "interrupt":
                raise
            print_text("Ctrl-C: the page is left out; the model is kept.", err=True)
    return result


class _LiveTable:
    """The best configurations so far and the time left, on standard error: a table on a terminal, else lines."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live: Any = None
        self._last = -1.0

    def __enter__(self) -> _LiveTable:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live is not None:
            self._live.stop()

    def report_step(self, what: str) -> None:
        """Print the name of a step."""
        if not self._quiet and self._live is None:
            print_text(what, err=True)

    def show(self, search: Search, candidate: Candidate) -> None:
        """Show the best configurations, or print a line where the best so far has changed."""
        if self._live is not None:
            self._live.update(_make_table(search))
            return
        best = search.best
        if best is not None and not self._quiet and best.number != self._last:
            self._last = best.number
            cost, _, value = best.find_best()
            print_text(
                f"[{_describe_progress(search)}] best so far {value:.2f} on {_describe_folds(best)}: "
                f"{best.configuration.name}, C {cost:g}",
                err=True,
            )


def _describe_progress(search: Search) -> str:
    left = "" if search.seconds is None else f", {max(search.seconds - search.elapsed, 0):.0f} s left"
    number = len(search.candidates)
    return f"{number} configuration{'' if number == 1 else 's'}{left}"


def _describe_folds(candidate: Candidate) -> str:
    """Return how many folds a value is of: the best on more folds may have a lower value than on one."""
    number = len(candidate.folds)
    return "part of a fold" if not number else f"{number} fold{'' if number == 1 else 's'}"


def _make_table(search: Search) -> Any:
    from rich.table import Table

    table = Table(title=f"{_describe_progress(search)}; Ctrl-C keeps the best so far")
    for name in (search.evaluator.metric, "folds", "C", "configuration"):
        table.add_column(name)
    for each, _ in zip(search.rank(), range(8), strict=False):
        cost, _, value = each.find_best()
        table.add_row(f"{value:.2f}", str(len(each.folds)), f"{cost:g}", each.configuration.name)
    return table


def _print_result(result: TuneResult, target: Path, place: CommandSettings) -> None:
    """Print what was chosen and what it scores."""
    report = result.report
    best, test = report["best"], report["test"]["metric"]
    place.print_unless_quiet(f"{best['name']}, C {best['cost']:g}, threshold: {best['threshold']}")
    number = len(report["candidates"])
    counted = f"{number} configuration{'' if number == 1 else 's'}"
    measured = f"{counted}, {report['processor_seconds']['all']:.1f} s of processor"
    tests = f"{report['documents']['test']:,} test documents"
    place.print_unless_quiet(
        f"{report['metric']}: {best['value']:.2f} in cross-validation, {test:.2f} on {tests} ({measured})"
    )
    if left_out := report["test"]["measures"].get("macro.left_out"):
        place.print_unless_quiet(f"macro F1 leaves out {left_out:.0f} categories without test documents")
    if best["measured_folds"] < report["folds"]:
        place.print_unless_quiet(
            f"The search measured the best on {best['measured_folds']} of {report['folds']} folds only: "
            "give it more time."
        )
    if curve := report["learning_curve"]:
        place.print_unless_quiet(curve["answer"])
    elif report["left_out"] == "time":
        place.print_unless_quiet("The learning curve was left out: the time was over.")
    for name, file in (("experiment", "tuned.yaml"), ("model", "model"), ("page", "tune.html")):
        place.print_unless_quiet(f"{name}: {target / file}")
