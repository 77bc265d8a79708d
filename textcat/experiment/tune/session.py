"""A whole tuning session: search, threshold rule, tuned experiment, its one look at the test documents, tune.json."""

from __future__ import annotations

import json
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import textcat
from textcat.errors import UsageError
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.tune.documents import SINGLE_WORDS, TrainingDocuments
from textcat.experiment.tune.evaluation import Evaluator, choose_metric
from textcat.experiment.tune.findings import NO_FINDINGS, list_findings
from textcat.experiment.tune.first_look import FirstLook
from textcat.experiment.tune.search import Candidate, Clock, Journal, Search, SearchListener, make_journal_key
from textcat.experiment.tune.space import SEARCH_TOLERANCE, Space
from textcat.experiment.tune.tuned import (
    FILE,
    RUN,
    HeldOut,
    compute_held_out,
    make_experiment,
    write_experiment,
)
from textcat.linear.training import ALGORITHMS
from textcat.store.files import write_atomically

log = logging.getLogger(__name__)

JOURNAL_FILE, REPORT_FILE = "journal.json", "tune.json"
# What follows the search takes about as long as training the best configuration this often in the search: training on
# all documents and held-out scores, to a smaller tolerance, and the learning curve.
FITS_AFTER_SEARCH = 11.0


@dataclass(frozen=True)
class TuneSettings:
    """The options of a session; `configurations` and `seconds` of None mean no limit.

    The limit is for the whole session, final model included; `by_processor`: seconds of processor, not of the clock.
    """

    metric: str | None = None
    folds: int = 5
    configurations: int | None = None
    seconds: float | None = None
    seed: int = 1
    by_processor: bool = False
    # How often the caller trains the final model.
    trainings: int = 1


@dataclass(frozen=True)
class TuneResult:
    """The tuned experiment with its plan, the search, held-out scores and the report as JSON-able data."""

    experiment: Experiment
    plan: Plan
    search: Search
    held_out: HeldOut
    report: dict[str, Any]


def tune_experiment(
    base: Experiment,
    context: RunContext,
    settings: TuneSettings,
    output: Path,
    listener: SearchListener | None = None,
    report_step: Callable[[str], None] = lambda what: None,
    keep_model: Callable[[Plan], None] = lambda plan: None,
    clock: Clock | None = None,
) -> TuneResult:
    """Search the best configuration for an experiment's documents, and write tuned.yaml.

    `keep_model` is called as soon as the model is trained; what follows is left out where the time is over or the user
    interrupts. `clock` has the seconds that the caller spent before.
    """
    processor, clock = time.process_time(), clock or Clock(by_processor=settings.by_processor)
    report_step("Counting words")
    documents = TrainingDocuments.read(base, context)
    evaluator = _make_evaluator(documents, settings, context)
    key = make_journal_key(_list_key_facts(base, documents, evaluator, settings))
    journal = Journal.open(output / JOURNAL_FILE, key)
    looks = settings.seconds is not None and not documents.is_vectors
    search = Search(
        evaluator, journal, settings.seed, settings.configurations, settings.seconds, listener,
        FITS_AFTER_SEARCH * settings.trainings, clock, FirstLook.take(evaluator, clock) if looks else None,
    )  # fmt: skip
    search.run()
    best = search.best
    if best is None:
        raise UsageError("no configuration was tried", where="--configurations", hint="Allow one or more.")
    with _hold_interrupt_back() as interrupts:
        report_step("Training the best configuration on all training documents")
        held_out, experiment = _choose_thresholds(base, context, evaluator, best, settings, output)
        keep_model(run_experiment(experiment, context, "train")[0])
        report_step("Evaluating on the test documents")
        # The only time that test documents are looked at.
        plan, _ = run_experiment(experiment, context, "evaluate")
        report = _make_report(search, documents, held_out, collect_results(plan, context), settings)
    report_step("Measuring calibration and the learning curve")
    report |= NO_FINDINGS
    try:
        if interrupts:
            raise KeyboardInterrupt
        for name, find in list_findings(search, best, held_out):
            # The learning curve trains more models.
            if name == "learning_curve" and settings.seconds is not None and clock.elapsed > settings.seconds:
                report["left_out"] = "time"
            else:
                report[name] = find()
    except KeyboardInterrupt:
        report["left_out"] = "interrupt"
        log.warning("Ctrl-C: the learning curve and figures are left out; the model is kept.")
    report["processor_seconds"]["all"] = round(time.process_time() - processor, 2)
    report["seconds"]["all"] = round(clock.elapsed, 2)
    return TuneResult(experiment, plan, search, held_out, report)


@contextmanager
def _hold_interrupt_back() -> Iterator[list[int]]:
    """Note the first Ctrl-C of a block in the list that is yielded, and raise the second."""
    noted: list[int] = []

    def note(number: int, frame: object) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    of_python = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not of_python or threading.current_thread() is not threading.main_thread():
        yield noted
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def write_report(report: dict[str, Any], output: Path) -> Path:
    """Write tune.json and return its path."""
    write_atomically(output / REPORT_FILE, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return output / REPORT_FILE


def _make_evaluator(documents: TrainingDocuments, settings: TuneSettings, context: RunContext) -> Evaluator:
    single = documents.experiment.corpus.single_label
    metric = choose_metric(settings.metric, single_label=single)
    number = documents.number
    if number < 2 * settings.folds:
        raise UsageError(
            f"{number} training documents are too few for {settings.folds} folds",
            where="--folds",
            hint="Add labelled documents, or use fewer folds.",
        )
    folds = documents.make_folds(settings.folds, settings.seed)
    space = Space.read(
        vectors=documents.is_vectors,
        single_label=single,
        short_texts=documents.has_short_texts,
        label_names=len(documents.names) > 0,
        large=documents.is_large,
    )
    return Evaluator(documents, space, metric, folds, settings.seed, context.jobs_per_task)


def _list_key_facts(
    base: Experiment, documents: TrainingDocuments, evaluator: Evaluator, settings: TuneSettings
) -> dict[str, Any]:
    """Return what decides the values of the journal: documents, settings, folds and the version."""
    return {
        "version": textcat.__version__,
        "counts": documents.make_step([SINGLE_WORDS]).recipe.key,
        "solver": ALGORITHMS["fast"].version,
        "corpus": base.corpus.model_dump(mode="json", exclude={"path"}),
        "text": base.text.model_dump(mode="json", exclude={"groups"}),
        "metric": evaluator.metric,
        "rules": evaluator.rules,
        "folds": settings.folds,
        "seed": settings.seed,
        "tolerance": SEARCH_TOLERANCE,
        "first_rung_words": evaluator.space.first_rung_words,
    }


def _choose_thresholds(
    base: Experiment,
    context: RunContext,
    evaluator: Evaluator,
    best: Candidate,
    settings: TuneSettings,
    output: Path,
) -> tuple[HeldOut, Experiment]:
    """Choose the threshold rule by held-out scores and write the tuned experiment."""
    path = output / FILE
    is_same = len(evaluator.documents.names) == 0 or evaluator.space.learns_names(best.configuration)
    if is_same and not evaluator.documents.is_vectors:
        evaluator.documents.store_counts(evaluator.space.list_groups(best.configuration))
    plain = write_experiment(make_experiment(base, evaluator, best, {}, output), path)
    held_out, threshold = compute_held_out(plain, context, evaluator, settings.folds)
    return held_out, write_experiment(make_experiment(base, evaluator, best, threshold, output), path)


def _make_report(
    search: Search,
    documents: TrainingDocuments,
    held_out: HeldOut,
    results: dict[str, Any],
    settings: TuneSettings,
) -> dict[str, Any]:
    """Return the report: the choice, the test result and all candidates."""
    evaluator, best = search.evaluator, search.best
    if best is None:
        raise ValueError("the search has measured nothing")
    measures = results["runs"][RUN]["measures"]
    cost, _, value = best.find_best()
    name = evaluator.metric.replace("p@", "precision@")
    return {
        "format": 1,
        "version": textcat.__version__,
        "experiment": results["experiment"],
        "title": documents.experiment.title,
        "metric": evaluator.metric,
        "single_label": evaluator.single_label,
        "seed": settings.seed,
        "folds": settings.folds,
        "documents": {
            "train": documents.number,
            "test": results["corpus"]["test_documents"],
            "categories": len(documents.categories),
            "first_rung": len(evaluator.small[0]),
        },
        "best": {
            "options": best.configuration.chosen,
            "name": best.configuration.name,
            "cost": cost,
            "threshold": held_out.rule,
            # The value of this threshold rule on all folds; the search may have compared others, on some folds.
            "value": held_out.values[held_out.rule],
            "search_value": value,
            "held_out": held_out.values,
            "measured_folds": len(best.folds),
        },
        "test": {"metric": measures.get(name), "measures": measures},
        "stopped_by": search.stopped_by,
        "processor_seconds": {"search": round(search.processor_spent, 2)},
        "seconds": {"search": round(search.spent, 2)},
        "history": search.history,
        "candidates": [_describe_candidate(each) for each in search.rank()],
    }


def _describe_candidate(candidate: Candidate) -> dict[str, Any]:
    cost, rule, value = candidate.find_best()
    return {
        "number": candidate.number,
        "name": candidate.configuration.name,
        "options": candidate.configuration.chosen,
        "cost": cost,
        "threshold": rule,
        "value": value,
        "folds": candidate.list_fold_values(),
        "processor_seconds": round(sum(path.processor_seconds for path in candidate.paths.values()), 3),
        "paths": {
            "part of fold 0" if fold is None else f"fold {fold}": path.as_dict()["values"]
            for fold, path in candidate.paths.items()
        },
    }
