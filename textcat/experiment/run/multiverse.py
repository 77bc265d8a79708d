"""Find the readings of a paper: literal, reconstructed from all its printed numbers, and held out for each table.

The literal reading takes the option with the strongest support in words. The reconstructed reading has the least
misfit to the paper's printed numbers (`textcat.published.evidence`, `reading_search`). The held-out reading of a table
is found in the same way without any cell of that table; a question that only this table can answer is answered without
the cells of the run, a column or row, that is judged. Papers of one author on one collection are decided together.

Readings share the artifacts of every step on which they agree. The measures of each reading are an artifact of their
own, and multiverse.json keeps the values of all cells, so that an interrupted command resumes after the last reading.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from textcat.errors import TextcatError
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan, make_plan
from textcat.experiment.run.reading_plan import ReadableExperiment, project_reading
from textcat.experiment.run.reading_search import BEYOND_DOUBT, CLEAR, Choice, Losses, Reading, ReadingSearch
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.results_file import get_run_measures
from textcat.experiment.spec.experiment import Experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.fetch import DocumentSource, fetch_documents
from textcat.published.check import CellValues, MeasureValues, find_cell_values, judge_cells
from textcat.published.claims import evaluate_claim, load_claims
from textcat.published.evidence import Evidence, compute_losses, count_by_chance, is_evidence
from textcat.published.printed_tables import PublishedCell, load_all_cells
from textcat.published.readings import WHOLE_TABLE, Readings
from textcat.store import Recipe
from textcat.store.arrays import read_json, write_json
from textcat.store.artifacts import RecordingStore

log = logging.getLogger(__name__)

# multiverse.json keeps four decimals.
ROUNDING = 1e-3
# Artifacts that are small and that later readings are likely to need; models and scores of the last readings stay too.
KEPT_STAGES = {"reading", "tokenize", "vectorize", "select", "project", "course"}
KEPT_READINGS = 12
NEAR_BEST = 1.10
RunMeasures = Mapping[str, MeasureValues]
Reporter = Callable[[str], None]


@dataclass
class Laboratory:
    """Where readings are measured: a cache, and the time after which no new reading is started (None: no limit)."""

    context: RunContext
    report: Reporter
    budget: float | None = None
    keep: bool = False
    started: float = field(default_factory=time.monotonic)
    ran_out: bool = False
    recent: deque[set[str]] = field(default_factory=deque)

    @classmethod
    def open(
        cls, context: RunContext, report: Reporter, budget: float | None = None, *, keep: bool
    ) -> Laboratory:
        """Open a laboratory whose models and scores can be deleted."""
        return cls(replace(context, store_class=RecordingStore), report, budget, keep)

    @property
    def is_closed(self) -> bool:
        """Whether the time is over."""
        self.ran_out = self.budget is not None and time.monotonic() - self.started > self.budget
        return self.ran_out

    def plan(self, experiment: Experiment) -> Plan:
        """Return the plan of an experiment under a reading."""
        source: DocumentSource = fetch_documents(experiment, self.context)
        return make_plan(experiment, source.path, source.fingerprint)

    def measure(self, plan: Plan) -> tuple[RunMeasures, float]:
        """Return all measures of all runs, and the seconds that all their steps took when they were made."""

        def make(folder: Path) -> None:
            for step in plan.steps():
                if self.context.store.find(step.recipe) is None:
                    log.info("%s", step.title)
                    self.context.progress(0, None, step.title)
                step.build_artifact(self.context)
            write_json(folder, "measures", get_run_measures(collect_results(plan, self.context)))

        artifact = self.context.store.build(make_reading_recipe(plan), make)
        steps = [self.context.store.find(step.recipe) for step in plan.steps()]
        seconds = max(artifact.seconds, sum(step.seconds for step in steps if step))
        if not self.keep:
            self._free_space()
        return read_json(artifact.folder, "measures"), seconds

    def _free_space(self) -> None:
        """Delete the models and scores of all but the last readings."""
        store = self.context.store
        if not isinstance(store, RecordingStore):
            return
        known = set().union(*self.recent)
        made = {key for key, recipe in store.made.items() if recipe.stage not in KEPT_STAGES}
        self.recent.append(made - known)
        while len(self.recent) > KEPT_READINGS:
            store.forget(self.recent.popleft())


@dataclass
class MeasuredExperiment:
    """An experiment whose readings are measured; with `screen`, only the runs whose names match these patterns.

    `values` maps the options that make a difference here to the values of the cells, `measures` to all measures.
    """

    experiment: ReadableExperiment
    cells: tuple[PublishedCell, ...]
    laboratory: Laboratory
    screen: tuple[str, ...] = ()
    has_screen: bool = False
    earlier: Mapping[tuple[str, ...], CellValues] = field(default_factory=dict)
    values: dict[tuple[str, ...], CellValues] = field(default_factory=dict)
    measures: dict[tuple[str, ...], RunMeasures] = field(default_factory=dict)
    failed: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Find the options that make a difference."""
        self.same = self.experiment.find_effective_options()
        self.questions = tuple(self.same)

    @property
    def name(self) -> str:
        """The experiment's name, with a mark where only some of its runs are measured."""
        return f"{self.experiment.name} ({', '.join(self.screen)})" if self.screen else self.experiment.name

    @property
    def cost(self) -> float:
        """The seconds of the literal reading."""
        return self.seconds

    @property
    def literal(self) -> Reading:
        """The literal reading."""
        return {name: self.experiment.readings.questions[name].literal for name in self.questions}

    def project(self, reading: Mapping[str, str]) -> Reading:
        """Return the part of a reading that makes a difference here."""
        return project_reading({**self.literal, **reading}, self.same)

    def key(self, reading: Mapping[str, str]) -> tuple[str, ...]:
        """Return the options of a reading that make a difference here."""
        return tuple(self.project(reading).values())

    def find_losses(self, reading: Mapping[str, str]) -> Losses | None:
        """Return the loss of each cell under a reading; None where it was not measured and the time is over."""
        key = self.key(reading)
        if key not in self.values:
            self._measure(reading)
        if key not in self.values:
            return None
        return dict(
            zip((cell.id for cell in self.cells), compute_losses(self.cells, self.values[key]), strict=True)
        )

    def _measure(self, reading: Mapping[str, str]) -> None:
        """Measure a reading, or take its values from an earlier command; the literal one is measured anew.

        Of an experiment that has a screen, the literal reading of the screen tells whether earlier numbers still hold.
        """
        key = self.key(reading)
        is_literal = key == self.key(self.literal) and not (self.has_screen and key in self.earlier)
        if key in self.earlier and not is_literal:
            self.values[key] = self.earlier[key]
            return
        options = self.project(reading)
        laboratory = self.laboratory
        plan = laboratory.plan(self._apply(options))
        is_measured = laboratory.context.store.find(make_reading_recipe(plan)) is not None
        if not is_literal and not is_measured and laboratory.is_closed:
            return
        changed = ", ".join(
            f"{name} {option}" for name, option in options.items() if option != self.literal[name]
        )
        laboratory.report(f"{self.name}: {changed or 'literal reading'}")
        try:
            measures, seconds = laboratory.measure(plan)
        except TextcatError as error:
            if is_literal:
                raise
            log.warning("%s: a reading failed: %s", self.name, error)
            self.failed.append({"options": options, "error": error.what})
            self.values[key] = {}
            return
        self.measures[key] = measures
        self.values[key] = find_cell_values(self.cells, {self.experiment.name: measures})
        if is_literal:
            self.seconds = seconds
            self._check_earlier()

    def _apply(self, options: Mapping[str, str]) -> Experiment:
        read = self.experiment.apply(options)
        if not self.screen:
            return read
        kept = {
            name: run
            for name, run in read.runs.items()
            if any(fnmatchcase(name, pattern) for pattern in self.screen)
        }
        comparisons = {
            name: pair for name, pair in read.comparisons.items() if {pair.left, pair.right} <= kept.keys()
        }
        return read.model_copy(update={"runs": kept, "comparisons": comparisons})

    def _check_earlier(self) -> None:
        """Forget the earlier readings where the literal one is missing among them or has other numbers now."""
        key = self.key(self.literal)
        before, now = self.earlier.get(key), self.values[key]
        if self.earlier and (
            before is None or not all(_is_same(before.get(id_), now.get(id_)) for id_ in now)
        ):
            log.warning(
                "%s: the earlier readings are left out: the literal one has other numbers now", self.name
            )
            self.earlier = {}

    def list_readings(self) -> list[dict[str, Any]]:
        """Return every measured reading, also of earlier commands, as options that are not literal, and values."""
        literal = self.literal
        return [
            {
                "options": {
                    name: option
                    for name, option in zip(self.questions, key, strict=True)
                    if option != literal[name]
                },
                "values": [_round(values.get(cell.id)) for cell in self.cells],
            }
            for key, values in {**self.earlier, **self.values}.items()
            if values
        ]


def _is_same(before: float | None, now: float | None) -> bool:
    return before is now if before is None or now is None else abs(before - now) <= ROUNDING


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def read_earlier(
    summary: Mapping[str, Any] | None, experiment: ReadableExperiment, name: str, ids: Sequence[str]
) -> dict[tuple[str, ...], CellValues]:
    """Return the readings of an experiment in an earlier multiverse.json that answer today's questions."""
    before = summary["experiments"].get(name) if summary else None
    if before is None or not set(ids) <= set(before["cells"]):
        return {}
    same = experiment.find_effective_options()
    literal = {each: experiment.readings.questions[each].literal for each in same}
    found: dict[tuple[str, ...], CellValues] = {}
    for reading in before["readings"]:
        options = reading["options"]
        if all(each in same and option in same[each] for each, option in options.items()):
            key = tuple(project_reading({**literal, **options}, same).values())
            found[key] = dict(zip(before["cells"], reading["values"], strict=True))
    return found


@dataclass
class Multiverse:
    """The experiments of papers that are decided together, and the search over their questions."""

    papers: Mapping[str, Readings]
    experiments: list[MeasuredExperiment]
    laboratory: Laboratory
    asked: Collection[str] = ()
    found_before: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Collect the questions that make a difference; the same name in two papers is the same question.

        Where only some are `asked`, the others keep their literal option. `found_before` are the answers of an earlier
        search, from which this one goes on if they fit better than the literal reading.
        """
        found: dict[str, dict[str, None]] = {}
        for measured in self.experiments:
            for name, same in measured.same.items():
                found.setdefault(name, {}).update(dict.fromkeys(same.values()))
        self.choices = {
            name: self._make_choice(name, list(options) if not self.asked or name in self.asked else [])
            for name, options in found.items()
        }
        self.searched = [each for each in self.experiments if not each.has_screen]
        self.evidence = Evidence(
            tuple(cell for each in self.searched for cell in each.cells if is_evidence(cell))
        )

    def _is_option(self, name: str, option: str) -> bool:
        return name in self.choices and option in self.choices[name].options

    def _make_choice(self, name: str, effective: Sequence[str]) -> Choice:
        question = next(each.questions[name] for each in self.papers.values() if name in each.questions)
        options = [question.literal, *(option for option in effective if option != question.literal)]
        by_paper = question.options[question.literal].support == "paper"
        return Choice(tuple(options), dict.fromkeys(options, BEYOND_DOUBT if by_paper else CLEAR))

    def find_readings(self) -> dict[str, Any]:
        """Search; return the literal, the reconstructed and the held-out readings, and how sure the answers are."""
        search = ReadingSearch(self.choices, self.searched, self.evidence)
        before = {**search.literal, **{k: v for k, v in self.found_before.items() if self._is_option(k, v)}}
        search.visited.append(search.choose_start([before]))
        reconstructed = search.descend(search.visited[0])
        held_out = {
            table: self._hold_out(table, search)
            for table in dict.fromkeys(cell.printed_table for cell in self.evidence.cells)
        }
        for measured in self.experiments:  # experiments of which the search saw only some runs
            for reading in (
                search.literal,
                reconstructed,
                *(each for by in held_out.values() for each in by.values()),
            ):
                measured.find_losses(reading)
        return {
            "literal": search.literal,
            "reconstructed": reconstructed,
            "held_out": held_out,
            "misfit": {
                "literal": search.compute_misfit(search.literal),
                "reconstructed": search.compute_misfit(reconstructed),
            },
            "answers": search.describe_answers(reconstructed),
            "against_literal": {
                name: search.compare_with_literal(reconstructed, name)
                for name, choice in self.choices.items()
                if reconstructed[name] != choice.literal
            },
        }

    def _hold_out(self, table: str, whole: ReadingSearch) -> dict[str, Reading]:
        """Return the readings for the cells of a printed table, found without them: by run, or for the whole table.

        The search starts from the best of the readings that the search on all numbers came by, as judged without the
        table; every answer has to be clear without it.
        """
        own = [cell for cell in self.evidence.cells if cell.printed_table == table]
        search = ReadingSearch(
            self.choices,
            self.searched,
            self.evidence.without(cell.id for cell in own),
            dict(whole.movements),
        )
        kept = {bench.name for bench in search.benches}
        asked = {name for each in self.searched if each.name in kept for name in each.questions}
        start = {
            **search.literal,
            **{k: v for k, v in search.choose_start(whole.visited).items() if k in asked},
        }
        base = search.descend(start, [name for name in self.choices if name in asked])
        here = [each for each in self.experiments if any(cell.printed_table == table for cell in each.cells)]
        alone = {name for each in here for name in each.questions} - asked
        if not alone:
            return {WHOLE_TABLE: base}
        found: dict[str, Reading] = {WHOLE_TABLE: base}
        for run in dict.fromkeys(
            cell.run for each in here for cell in each.cells if cell.printed_table == table
        ):
            judged = [cell.id for cell in own if cell.run == run]
            evidence = self.evidence.without(judged)
            others = ReadingSearch(self.choices, self.searched, evidence, dict(whole.movements))
            reading = others.descend(base, [name for name in self.choices if name in alone])
            if reading != base:
                found[run] = reading
        return found


def make_reading_recipe(plan: Plan) -> Recipe:
    """Return the recipe of everything that decides the measures of an experiment."""
    settings: Experiment = plan.experiment
    parameters = settings.model_dump(mode="json", include={"comparisons", "resample", "runs"})
    keys = {f"{chain.run}/{chain.repeat}": chain.evaluated.recipe.key for chain in plan.chains}
    return Recipe("reading", 1, parameters, keys)


def load_multiverse(
    names: Sequence[str],
    papers: Mapping[str, Readings],
    laboratory: Laboratory,
    earlier: Mapping[str, Mapping[str, Any] | None],
    asked: Collection[str] = (),
) -> Multiverse:
    """Prepare the search over some experiments; `earlier` holds the multiverse.json of each paper."""
    measured = []
    for name in names:
        paper = _find_paper(name, papers)
        experiment = ReadableExperiment.load(name, papers[paper])
        cells = list_experiment_cells(experiment)
        screen = experiment.readings.screen.get(experiment.name)
        for patterns in [screen, ()] if screen else [()]:
            seen = tuple(
                cell
                for cell in cells
                if not patterns or any(fnmatchcase(cell.run, each) for each in patterns)
            )
            each = MeasuredExperiment(
                experiment, seen, laboratory, patterns, screen is not None and not patterns
            )
            each.earlier = read_earlier(earlier.get(paper), experiment, each.name, [cell.id for cell in seen])
            measured.append(each)
    before: dict[str, str] = {}
    for summary in earlier.values():
        before |= summary["readings"]["reconstructed"] if summary and "readings" in summary else {}
    return Multiverse(papers, measured, laboratory, asked, before)


def _find_paper(name: str, papers: Mapping[str, Readings]) -> str:
    if len(papers) == 1:
        return next(iter(papers))
    return load_experiment(name).paper


def list_experiment_cells(experiment: ReadableExperiment) -> tuple[PublishedCell, ...]:
    """Return the printed cells of an experiment; without any, cells for F1 or accuracy of each of its runs."""
    printed = tuple(
        cell for cell in load_all_cells() if cell.experiment == experiment.name and is_evidence(cell)
    )
    if printed:
        return printed
    committed = experiment.committed
    mean = ".mean" if committed.resample else ""
    wanted = (
        {"accuracy": "accuracy"}
        if committed.corpus.single_label
        else {"micro.f1": "micro_f1", "macro.f1": "macro_f1"}
    )
    return tuple(
        PublishedCell(
            paper=experiment.name, table="runs", row=run, column=measure, printed=None,
            experiment=experiment.name, run=run, over=None, measure=measure + mean, kind=kind, unit="percent",
            cannot_run=None, needs=None,
        )
        for run in committed.runs
        for measure, kind in wanted.items()
    )  # fmt: skip


FORMAT = 3
READINGS = ("literal", "reconstructed", "held_out")


def measure_neighbours(multiverse: Multiverse) -> None:
    """Measure the literal reading and each that differs from it in one question."""
    literal = {name: choice.literal for name, choice in multiverse.choices.items()}
    for measured in multiverse.experiments:
        for name, choice in multiverse.choices.items():
            for option in choice.options:
                measured.find_losses({**literal, name: option})


def summarize(multiverse: Multiverse, paper: str, found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the contents of one paper's multiverse.json; `found` is what `find_readings` returned, if it searched."""
    own = [each for each in multiverse.experiments if each.experiment.readings is multiverse.papers[paper]]
    questions = multiverse.papers[paper].questions
    summary: dict[str, Any] = {
        "format": FORMAT,
        "paper": multiverse.papers[paper].paper,
        "complete": not multiverse.laboratory.ran_out,
        "options": multiverse.papers[paper].patches,
        "questions": describe_questions(multiverse.papers[paper]),
        "experiments": {
            each.name: {
                "title": each.experiment.committed.title,
                "seconds": round(each.seconds, 1),
                "cells": [cell.id for cell in each.cells],
                "failed": each.failed,
                "readings": each.list_readings(),
            }
            for each in own
        },
    }
    if found is None:
        return summary
    literal = found["literal"]

    def pack(reading: Mapping[str, str]) -> dict[str, str]:
        return {
            name: option for name, option in reading.items() if name in questions and option != literal[name]
        }

    tables = {cell.printed_table for each in own for cell in each.cells}
    summary["readings"] = {
        "reconstructed": pack(found["reconstructed"]),
        "held_out": {
            table: {place: pack(reading) for place, reading in by.items()}
            for table, by in found["held_out"].items()
            if table in tables
        },
    }
    summary["misfit"] = {name: _round(value) for name, value in found["misfit"].items()}
    summary["answers"] = {
        name: _describe_answer(name, found) for name in multiverse.choices if name in questions
    }
    summary["cells"] = _describe_cells(own, found)
    evidence = [cell for each in own if not each.screen for cell in each.cells if cell.group == "tables"]
    values = {name: each["held_out"] for name, each in summary["cells"].items()}
    summary["chance"] = [round(each, 1) for each in count_by_chance(evidence, values)]
    summary["claims"] = _judge_claims(multiverse, paper, found)
    return summary


def _describe_answer(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the literal option and the answer of a question, how sure it is, and what each other option would cost."""
    literal, answer = found["literal"][name], found["reconstructed"][name]
    against = found["against_literal"].get(name)
    others = found["answers"][name]
    if against is not None:
        certainty = against.share
    else:
        certainty = min((1.0 - each.share for each in others.values()), default=None)
    return {
        "literal": literal,
        "answer": answer,
        "certainty": _round(certainty),
        "gain": _round(against.gain) if against else 0.0,
        "options": {
            option: {"gain": _round(each.gain), "share": _round(each.share), "complete": each.complete}
            for option, each in others.items()
        },
    }


def _describe_cells(own: Sequence[MeasuredExperiment], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return each cell's value and verdict under the three readings, and its range over all measured readings."""
    described: dict[str, Any] = {}
    for measured in own:
        if measured.screen:
            continue

        def value(cell: PublishedCell, which: str, measured: MeasuredExperiment = measured) -> float | None:
            reading = find_reading_of(cell, found[which]) if which == "held_out" else found[which]
            return measured.values.get(measured.key(reading), {}).get(cell.id)

        by_reading = {which: {cell.id: value(cell, which) for cell in measured.cells} for which in READINGS}
        verdicts = {
            which: {entry.cell.id: entry.verdict for entry in judge_cells(values, measured.cells, {})}
            for which, values in by_reading.items()
        }
        for cell in measured.cells:
            known = [each for values in measured.values.values() if (each := values.get(cell.id)) is not None]
            described[cell.id] = {
                **{which: _round(by_reading[which][cell.id]) for which in READINGS},
                "verdicts": [verdicts[which][cell.id] for which in READINGS],
                "range": [_round(min(known)), _round(max(known))] if known else None,
            }
    return described


def find_reading_of(cell: PublishedCell, held_out: Mapping[str, Mapping[str, Reading]]) -> Reading:
    """Return the held-out reading of a cell: that of its run, or else of its table."""
    by_run = held_out.get(cell.printed_table, {})
    return by_run.get(cell.run, by_run.get(WHOLE_TABLE, {}))


def _judge_claims(multiverse: Multiverse, paper: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each claim its outcome under the reconstructed reading, and in what share of near-best ones it holds.

    Near-best are the reconstructed reading and those that differ from it in one question and have a misfit within 10 %.
    """
    best, allowed = found["reconstructed"], (NEAR_BEST - 1.0) * found["misfit"]["reconstructed"]
    near = [best] + [
        {**best, name: option}
        for name, others in found["answers"].items()
        for option, each in others.items()
        if each.complete and each.gain >= -allowed
    ]
    results = [
        {
            each.experiment.name: measures
            for each in multiverse.experiments
            if not each.screen and (measures := each.measures.get(each.key(reading))) is not None
        }
        for reading in near
    ]
    judged: dict[str, Any] = {}
    for claim in load_claims():
        if claim.paper != multiverse.papers[paper].paper:
            continue
        outcomes = [evaluate_claim(claim, each).outcome for each in results]
        decided = [outcome for outcome in outcomes if outcome != "not run"]
        if outcomes[0] != "not run":
            holds = sum(outcome == "holds" for outcome in decided) / len(decided)
            judged[claim.id] = {"outcome": outcomes[0], "readings": len(decided), "holds": round(holds, 4)}
    return judged


def describe_questions(readings: Readings) -> dict[str, Any]:
    """Return the questions as plain values, with the literal option of each."""
    return {
        name: {
            "question": question.question,
            "where": question.where,
            "says": question.says,
            "literal": question.literal,
            "options": {
                option: entry.model_dump(include={"support", "because", "implemented", "contradicted"})
                for option, entry in question.options.items()
            },
        }
        for name, question in readings.questions.items()
    }


def make_answers(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return what answers.yaml keeps of a paper's multiverse.json."""
    reconstructed = summary["readings"]["reconstructed"]
    return {
        "reconstructed": reconstructed,
        "certainty": {name: summary["answers"][name]["certainty"] for name in reconstructed},
        "held_out": summary["readings"]["held_out"],
    }
