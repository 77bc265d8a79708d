"""Run an experiment: fetch its documents, make the plan, build each step, and time each stage."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from textcat.experiment.context import RunContext, Step
from textcat.experiment.run.document_checks import DocumentChecks
from textcat.experiment.run.plan import Chain, Plan, make_plan
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.compile_early import compile_early
from textcat.experiment.steps.fetch import fetch_documents, find_documents

log = logging.getLogger(__name__)


@dataclass
class Timings:
    """Seconds of each stage when its steps were made, and how many steps were built or found ready.

    `spent` has the seconds of this run alone, and `newest` the time at which the last ready step was built.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    built: dict[str, int] = field(default_factory=dict)
    ready: dict[str, int] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    newest: float = 0.0

    def note(self, stage: str, seconds: float, *, was_ready: bool, built_at: float = 0.0) -> None:
        """Add one step."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        counted = self.ready if was_ready else self.built
        counted[stage] = counted.get(stage, 0) + 1
        if was_ready:
            self.newest = max(self.newest, built_at)
        else:
            self.spent[stage] = self.spent.get(stage, 0.0) + seconds

    @property
    def summary(self) -> str:
        """The seconds spent in this run, and what came from the cache."""
        spent = "  ".join(f"{stage} {seconds:.1f} s" for stage, seconds in self.spent.items())
        ready = [stage for stage in self.ready if stage != "fetch"]
        if not ready:
            return f"Time: {spent}"
        day = datetime.fromtimestamp(self.newest).strftime("%Y-%m-%d %H:%M")
        if not self.spent:
            return f"Time: all stages from the cache, built on {day}"
        partly = [f"part of {stage}" if stage in self.spent else stage for stage in ready]
        return f"Time: {spent}  (from the cache, built until {day}: {', '.join(partly)})"


def plan_experiment(experiment: Experiment, context: RunContext) -> Plan | None:
    """Return the plan, or None where the documents are not on this machine. Download and build nothing."""
    source = find_documents(experiment, context)
    return make_plan(experiment, source.path, source.fingerprint) if source else None


def run_experiment(
    experiment: Experiment,
    context: RunContext,
    until: str = "report",
    show_first: Callable[[Chain], None] | None = None,
) -> tuple[Plan, Timings]:
    """Fetch the documents, then build every missing step up to and including a stage.

    `show_first` is called when the first run is evaluated, before the others are trained.
    """
    timings = Timings()
    started = time.perf_counter()
    source = fetch_documents(experiment, context)
    timings.note("fetch", time.perf_counter() - started, was_ready=not source.fresh)
    plan = make_plan(experiment, source.path, source.fingerprint)
    steps = plan.steps(until, intervals=True)
    checks = DocumentChecks(plan, context, until)
    untrained = [c.settings for c in plan.chains if context.store.find(c.trained.recipe) is None]
    with compile_early(untrained, context) as context_with_compiler:
        for step in steps:
            was_ready = _build_step(step, context_with_compiler, timings)
            checks.check_step(step)
            if show_first and not was_ready and step is plan.chains[0].evaluated and step is not steps[-1]:
                show_first(plan.chains[0])
    return plan, timings


def _build_step(step: Step, context: RunContext, timings: Timings) -> bool:
    """Build a step unless it is ready, and return whether it was."""
    ready = context.store.find(step.recipe) is not None
    if not ready:
        log.info("%s", step.title)
        context.progress(0, None, step.title)
    made = step.build_artifact(context)
    timings.note(step.stage, made.seconds, was_ready=ready, built_at=made.built_at)
    return ready
