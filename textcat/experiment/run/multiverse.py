"""Run the readings of a paper's experiments and summarize their numbers.

Readings share the artifacts of every step on which they agree. The measures of each reading are an artifact of their
own, so that an interrupted command resumes after the last finished reading.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from textcat.errors import TextcatError
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan, make_plan
from textcat.experiment.run.reading_plan import (
    ReadableExperiment,
    ReadingSpace,
    check_earlier_readings,
    find_earlier_readings,
    project_reading,
)
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.results_file import get_run_measures
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.steps.fetch import DocumentSource, fetch_documents
from textcat.published.check import CellValues, MeasureValues, find_cell_values
from textcat.published.claims import load_claims
from textcat.published.printed_tables import PublishedCell, load_all_cells
from textcat.published.readings import (
    FITTED,
    MeasuredReading,
    Readings,
    compute_main_effects,
    compute_mean_difference,
    find_nearest,
    summarize_cells,
    summarize_claims,
)
from textcat.store import Recipe, Store
from textcat.store.arrays import read_json, write_json
from textcat.store.artifacts import RecordingStore

log = logging.getLogger(__name__)

FORMAT = 2
DEFAULT_SAMPLE = 96
MAX_READINGS = 1024
# Artifacts that several steps may share and that are not steps themselves: a descent, scores of held-out parts.
BESIDE_STEPS = {"course", "held_out"}
Reading = dict[str, str]
RunMeasures = Mapping[str, MeasureValues]
Reporter = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Selection:
    """How many readings are run (None: as many as the budget allows), and the seconds of the budget."""

    sample: int | None = DEFAULT_SAMPLE
    budget: float | None = None
    seed: int = 1


@dataclass
class MeasuredExperiment:
    """The readings of one experiment that were run: projected reading -> measures, the default first.

    `earlier` holds the cells of readings that an earlier command ran; they are not run again, the default excepted.
    """

    experiment: ReadableExperiment
    same: Mapping[str, Mapping[str, str]]
    measured: dict[tuple[str, ...], RunMeasures] = field(default_factory=dict)
    failed: list[dict[str, Any]] = field(default_factory=list)
    earlier: Mapping[tuple[str, ...], CellValues] = field(default_factory=dict)

    def project(self, reading: Mapping[str, str]) -> Reading:
        """Return the part of a reading that makes a difference here."""
        return project_reading(reading, self.same)

    def key(self, reading: Mapping[str, str]) -> tuple[str, ...]:
        """Return the options of a reading that make a difference here."""
        return tuple(self.project(reading).values())


@dataclass
class Multiverse:
    """The readings of one paper, or of one experiment of a user, and what was measured."""

    readings: Readings
    space: ReadingSpace
    selection: Selection
    selected: list[Reading]
    experiments: list[MeasuredExperiment]
    complete: bool = True

    @classmethod
    def plan(
        cls,
        wanted: Sequence[str],
        readings: Readings,
        selection: Selection,
        earlier: Mapping[str, Any] | None = None,
    ) -> Multiverse:
        """Choose the readings of the experiments; `earlier` is a summary whose readings are kept."""
        loaded = [ReadableExperiment.load(name, readings) for name in wanted]
        space = ReadingSpace.collect(loaded, readings)
        number = min(space.size, MAX_READINGS) if selection.sample is None else selection.sample
        chosen = space.select(number, selection.seed)
        before = earlier["experiments"] if earlier else {}
        measured = []
        for each in loaded:
            same = each.find_effective_options()
            kept = find_earlier_readings(before.get(each.name), same)
            measured.append(MeasuredExperiment(each, same, earlier=kept))
        return cls(readings, space, selection, chosen, measured)

    def list_jobs(self) -> Iterator[list[tuple[MeasuredExperiment, Reading]]]:
        """Yield batches of different readings by experiment, in the order in which they are run."""
        seen: set[tuple[str, tuple[str, ...]]] = set()
        for batch in self.space.batches(self.selected):
            jobs = []
            for experiment in self.experiments:
                for reading in batch:
                    identity = (experiment.experiment.name, experiment.key(reading))
                    is_kept = identity[1] in experiment.earlier and reading != self.space.default
                    if identity not in seen and not is_kept:
                        seen.add(identity)
                        jobs.append((experiment, reading))
            if jobs:
                yield jobs

    def run(self, site: RunContext, report: Reporter, *, keep: bool = False) -> None:
        """Run the readings until all are done or the time is over.

        One default reading is always run, and readings of the current batch that are in the cache are always taken.
        """
        started = time.monotonic()
        budget = self.selection.budget
        context = replace(site, store_class=RecordingStore)
        corpora: dict[str, DocumentSource] = {}
        batches = list(self.list_jobs())
        total, done = sum(map(len, batches)), 0
        following = _make_plans(batches[0], site, corpora)
        for number, batch in enumerate(batches):
            plans = following
            following = [
                plan
                for later in batches[number + 1 : number + 2]
                for plan in _make_plans(later, site, corpora)
            ]
            for position, (experiment, reading) in enumerate(batch):
                is_late = budget is not None and time.monotonic() - started > budget
                if done and is_late and context.store.find(_make_reading_recipe(plans[position])) is None:
                    self.complete = False
                    continue
                what = format_reading(experiment.project(reading), self.space)
                report(done, total, f"{experiment.experiment.name}: {what}")
                self._measure(experiment, reading, plans[position], context)
                done += 1
                if not keep:
                    _free_space(context.store, [*plans[position + 1 :], *following])
            if not self.complete:
                report(done, total, "time is over")
                return
        report(done, total, "done")

    def _measure(
        self, experiment: MeasuredExperiment, reading: Reading, plan: Plan, context: RunContext
    ) -> None:
        """Keep the measures of a reading, or why it failed; without the default reading nothing can be compared."""
        try:
            experiment.measured[experiment.key(reading)] = measure_reading(plan, context)
        except TextcatError as error:
            if reading == self.space.default:
                raise
            log.warning("%s: a reading failed: %s", experiment.experiment.name, error)
            experiment.failed.append({"options": experiment.project(reading), "error": error.what})

    @property
    def has_failures(self) -> bool:
        """Whether any reading failed."""
        return any(each.failed for each in self.experiments)

    def summarize(self) -> dict[str, Any]:
        """Return the contents of multiverse.json."""
        return {
            "format": FORMAT,
            "paper": self.readings.paper,
            "questions": describe_questions(self.readings),
            "experiments": {
                each.experiment.name: self._summarize_experiment(each)
                for each in self.experiments
                if each.measured
            },
            "claims": summarize_claims(
                [claim for claim in load_claims() if claim.paper == self.readings.paper],
                self._list_joint_results(),
            ),
        }

    def _list_joint_results(self) -> list[dict[str, RunMeasures]]:
        """Return the measures of all experiments for each reading that all of them have."""
        joint = []
        for reading in self.selected:
            results = {
                each.experiment.name: each.measured.get(each.key(reading)) for each in self.experiments
            }
            if all(measures is not None for measures in results.values()):
                joint.append({name: measures for name, measures in results.items() if measures is not None})
        return joint

    def _summarize_experiment(self, measured: MeasuredExperiment) -> dict[str, Any]:
        experiment = measured.experiment
        names = list(measured.same)
        cells = list_experiment_cells(experiment, next(iter(measured.measured.values())))
        found = [
            MeasuredReading(
                dict(zip(names, options, strict=True)), find_cell_values(cells, {experiment.name: measures})
            )
            for options, measures in measured.measured.items()
        ]
        default = measured.key(self.space.default)
        kept = check_earlier_readings(experiment.name, measured.earlier, default, found[0].values)
        found += [
            MeasuredReading(dict(zip(names, options, strict=True)), values)
            for options, values in kept.items()
            if options not in measured.measured
        ]
        nearest = find_nearest(cells, found)
        possible = None
        if self.space.size <= 4096:
            possible = len({measured.key(reading) for reading in self.space.iterate(0)})
        return {
            "title": experiment.committed.title,
            "possible": possible,
            "complete": self.complete,
            "failed": measured.failed,
            "seed": self.selection.seed,
            "default": _describe_reading(found[0], cells),
            "nearest": None
            if nearest is None
            else _describe_reading(found[nearest], cells) | {"note": FITTED},
            "committed": experiment.find_committed_options(),
            "cells": summarize_cells(cells, found),
            "effects": compute_main_effects(found, cells, names),
            "readings": [
                _describe_reading(each, cells)
                | {"values": [_round(each.values.get(cell.id)) for cell in cells]}
                for each in found
            ],
        }


def _make_plans(
    jobs: Sequence[tuple[MeasuredExperiment, Reading]], site: RunContext, corpora: dict[str, DocumentSource]
) -> list[Plan]:
    """Return the plan of each job; `corpora` has the documents fetched so far, by the settings of the corpus."""
    plans = []
    for experiment, reading in jobs:
        read = experiment.experiment.apply(reading)
        # Paths of documents are relative to the experiment's folder.
        key = f"{read.own_documents} {read.corpus.model_dump_json()}"
        if key not in corpora:
            corpora[key] = fetch_documents(read, site)
        plans.append(make_plan(read, corpora[key].path, corpora[key].fingerprint))
    return plans


def list_experiment_cells(experiment: ReadableExperiment, measures: RunMeasures) -> list[PublishedCell]:
    """Return the printed cells of an experiment; without any, cells for F1 or accuracy of each of its runs."""
    cells = (cell for cell in load_all_cells() if cell.group == "tables")
    printed = [cell for cell in cells if cell.experiment == experiment.name]
    if printed:
        return printed
    committed = experiment.committed
    wanted = (
        {"accuracy": "accuracy"}
        if committed.corpus.single_label
        else {"micro.f1": "micro_f1", "macro.f1": "macro_f1"}
    )
    return [
        PublishedCell(
            paper=experiment.name, table="runs", row=run, column=measure, printed=None,
            experiment=experiment.name, run=run, over=None, measure=measure, kind=kind, unit="percent",
            cannot_run=None, needs=None,
        )
        for run in committed.runs
        for name, kind in wanted.items()
        for measure in (name, f"{name}.mean")
        if measure in measures[run]
    ]  # fmt: skip


def _describe_reading(measured: MeasuredReading, cells: Sequence[PublishedCell]) -> dict[str, Any]:
    difference = _round(compute_mean_difference(cells, measured.values))
    return {"options": dict(measured.reading), "mean_difference": difference}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def describe_questions(readings: Readings) -> dict[str, Any]:
    """Return the questions as plain values, with the default option of each."""
    return {
        name: {
            "question": question.question,
            "where": question.where,
            "says": question.says,
            "default": question.default,
            "options": {
                option: entry.model_dump(include={"support", "because", "implemented", "contradicted"})
                for option, entry in question.options.items()
            },
        }
        for name, question in readings.questions.items()
    }


def measure_reading(plan: Plan, context: RunContext) -> RunMeasures:
    """Return all measures of all runs, from the cache where this reading was measured before."""

    def make(folder: Path) -> None:
        for step in plan.steps():
            if context.store.find(step.recipe) is None:
                log.info("%s", step.title)
                context.progress(0, None, step.title)
            step.build_artifact(context)
        write_json(folder, "measures", get_run_measures(collect_results(plan, context)))

    recipe = _make_reading_recipe(plan)
    measures: RunMeasures = read_json(context.store.build(recipe, make).folder, "measures")
    return measures


def _make_reading_recipe(plan: Plan) -> Recipe:
    """Return the recipe of everything that decides the measures of an experiment."""
    settings: Experiment = plan.experiment
    parameters = settings.model_dump(mode="json", include={"comparisons", "resample", "runs"})
    keys = {f"{chain.run}/{chain.repeat}": chain.evaluated.recipe.key for chain in plan.chains}
    return Recipe("reading", 1, parameters, keys)


def _free_space(store: Store, later: Sequence[Plan]) -> None:
    """Delete what was made here and no reading of this batch or the next needs; counted words and measures stay."""
    if not isinstance(store, RecordingStore):
        return
    needed = {step.recipe.key for plan in later for step in plan.steps()}
    kept = needed | {
        key
        for key, recipe in store.made.items()
        if recipe.stage in {"reading", "tokenize"}
        or (recipe.stage in BESIDE_STEPS and not needed.isdisjoint(recipe.inputs.values()))
    }
    store.forget(store.made.keys() - kept)


def format_reading(reading: Mapping[str, str], space: ReadingSpace) -> str:
    """Describe how a reading differs from the default one."""
    default = space.default
    changed = [f"{name}={option}" for name, option in reading.items() if option != default[name]]
    return ", ".join(changed) or "default reading"
