"""Carries out a plan stage by stage, timing each, and says what a dry run would do."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from textcat.corpora import OWN_FORMATS, fetch_corpus, is_fetched, list_corpora, open_corpus
from textcat.corpora.fetch.download import ProgressCallback
from textcat.corpora.registry import find_corpus_plugin, fingerprint_corpus
from textcat.errors import DataNotAvailableError
from textcat.experiment.run.document_checks import DocumentChecks
from textcat.experiment.run.plan import Plan, make_plan
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.step import ProgressReporter, Step, StepContext, ignore_progress
from textcat.parallel import Executor
from textcat.published.printed_tables import load_all_cells
from textcat.store import Store

log = logging.getLogger(__name__)


@dataclass
class Timings:
    """Seconds that each stage took when its steps were made, and how many of them were found ready."""

    seconds: dict[str, float] = field(default_factory=dict)
    built: dict[str, int] = field(default_factory=dict)
    ready: dict[str, int] = field(default_factory=dict)

    def note(self, stage: str, seconds: float, *, was_ready: bool) -> None:
        """Add one step."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        counted = self.ready if was_ready else self.built
        counted[stage] = counted.get(stage, 0) + 1


@dataclass(frozen=True)
class RunContext:
    """Where an experiment is carried out, and with what means."""

    data: Path
    mirror: Path | None = None
    jobs: int = 1
    offline: bool = False
    progress: ProgressReporter = ignore_progress
    download_progress: ProgressCallback | None = None
    executor: Executor | None = None

    @property
    def store(self) -> Store:
        """The cache of artifacts."""
        return Store(self.data / "cache")

    def make_step_context(self) -> StepContext:
        """The workshop of the steps."""
        return StepContext(self.store, self.jobs, self.progress, self.executor)


def is_corpus_available(experiment: Experiment, site: RunContext) -> bool:
    """Whether the experiment's documents are on this machine."""
    if experiment.corpus.name in OWN_FORMATS:
        return experiment.own_documents.exists()
    if find_corpus_plugin(experiment.corpus.name):
        return _find_plugin_corpus(experiment, site).exists()
    return is_fetched(experiment.corpus.name, site.data)


def resolve_corpus(experiment: Experiment, site: RunContext) -> tuple[Path, str]:
    """Where the experiment's documents are, fetched now if they are not here, and the sha256 of their contents."""
    corpus = experiment.corpus
    if find_corpus_plugin(corpus.name):
        place = _find_plugin_corpus(experiment, site)
        opened = open_corpus(corpus.name, place, split=corpus.split or None, **corpus.options)
        return place, opened.fingerprint()
    if unavailable := explain_unavailable(corpus.name):
        hint = "With files of your own, name their format and place in `corpus`."
        raise DataNotAvailableError(unavailable, where=experiment.name, hint=hint)
    if corpus.name in OWN_FORMATS:
        path = experiment.own_documents
        if not corpus.path or not path.exists():
            hint = "`corpus.path` says where they are, seen from the experiment file."
            raise DataNotAvailableError(f"{corpus.name}: there are no documents", where=str(path), hint=hint)
        return path, fingerprint_corpus(corpus.name, path)
    report = fetch_corpus(
        corpus.name, site.data, mirror=site.mirror, offline=site.offline, progress=site.download_progress
    )
    return report.folder, report.fingerprint


def _find_plugin_corpus(experiment: Experiment, site: RunContext) -> Path:
    """Where a plugin's collection is: the path in the experiment file, or else a folder of its name under data."""
    corpus = experiment.corpus
    return experiment.own_documents if corpus.path else site.data / corpus.name


def explain_unavailable(corpus: str) -> str:
    """Why nobody can have a collection that a paper used, where textcat has no reader for it."""
    if corpus in list_corpora():
        return ""
    reasons = {cell.needs: cell.cannot_run for cell in load_all_cells() if cell.cannot_run}
    return reasons.get(corpus) or ""


def prepare_plan(experiment: Experiment, site: RunContext) -> tuple[Plan, Timings]:
    """Fetch the collection and lay out the steps."""
    timings = Timings()
    started = time.perf_counter()
    ready = is_corpus_available(experiment, site)
    folder, contents = resolve_corpus(experiment, site)
    timings.note("fetch", time.perf_counter() - started, was_ready=ready)
    return make_plan(experiment, folder, contents), timings


def run_plan(plan: Plan, site: RunContext, timings: Timings, until: str = "evaluate") -> StepContext:
    """Make every step of the plan that is not there yet, up to and with a stage."""
    workshop = site.make_step_context()
    checks = DocumentChecks(plan, workshop, until)
    for step in plan.steps(until):
        started = time.perf_counter()
        ready = workshop.store.find(step.recipe) is not None
        if not ready:
            log.info("%s", step.title)
            site.progress(0, None, step.title)
        made = step.build_artifact(workshop)
        spent = made.seconds if ready else time.perf_counter() - started
        timings.note(step.stage, spent, was_ready=ready)
        checks.after(step)
    return workshop


def list_step_states(steps: Iterable[Step], store: Store) -> list[tuple[Step, str]]:
    """For each step: `ready`, or what is missing or differs from the nearest artifact."""
    return [(step, _describe_state(step, store)) for step in steps]


def _describe_state(step: Step, store: Store) -> str:
    if store.find(step.recipe):
        return "ready"
    difference = store.find_nearest_difference(step.recipe)
    return (
        f"to do: {difference} differs from what is here" if difference else "to do: nothing like it is here"
    )
