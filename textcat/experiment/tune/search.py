"""Successive halving over folds: many configurations on one fold, the best of them on more, the winner on all.

Rounds follow one another while there is time. Each draws new configurations (space.yaml, then neighbours of the best
so far and random ones), measures them on the first rung and lets one in three go on to the next. The first
configuration with a loss is measured for all values of C, later ones for the best C so far, and other values are tried
for a new best.
What is drawn depends on the seed and on values measured before, never on the clock: time only cuts the list, and passes
over configurations whose counts, search and final model do not fit into what is left of it.

The journal of a search has every measured path, so that a search that was stopped continues where it was.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from textcat.errors import BadDataError
from textcat.experiment.tune.evaluation import Evaluator, PathResult, PathTask
from textcat.experiment.tune.first_look import FirstLook
from textcat.experiment.tune.space import Configuration
from textcat.store.files import write_atomically

log = logging.getLogger(__name__)

JOURNAL_FORMAT = 1


class Clock:
    """The seconds since a session began: of the clock, or with `by_processor` of this process's processor."""

    def __init__(self, *, by_processor: bool = False) -> None:
        self.by_processor = by_processor
        self._started = self._read()

    def _read(self) -> float:
        return time.process_time() if self.by_processor else time.monotonic()

    @property
    def elapsed(self) -> float:
        """The seconds so far."""
        return self._read() - self._started


def make_journal_key(facts: Mapping[str, Any]) -> str:
    """Return a key of everything that decides the measured values."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass
class Journal:
    """Measured paths by configuration, fold and values of C, written to a file after each."""

    path: Path
    key: str
    entries: dict[str, PathResult] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, key: str) -> Journal:
        """Return the journal in a file, or an empty one if there is none or it is of other data or settings."""
        if not path.exists():
            return cls(path, key)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != JOURNAL_FORMAT or data["key"] != key:
                return cls(path, key)
            entries = {name: PathResult.from_dict(entry) for name, entry in data["entries"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            hint = "Delete it; the search then starts again."
            raise BadDataError(f"not readable as a journal: {error}", where=str(path), hint=hint) from error
        return cls(path, key, entries)

    def find(self, entry: str) -> PathResult | None:
        """Return a measured path."""
        return self.entries.get(entry)

    def add(self, entry: str, result: PathResult) -> None:
        """Keep a measured path and write the file."""
        self.entries[entry] = result
        written = {name: result.as_dict() for name, result in self.entries.items()}
        text = json.dumps({"format": JOURNAL_FORMAT, "key": self.key, "entries": written}, indent=1)
        write_atomically(self.path, text + "\n")


# A configuration this far (in percent) below the best so far on the same folds does not go on.
HOPELESS = 1.0
# After this many draws of configurations none of which fits into the time left, the search ends.
MOST_DRAWS = 20
# Held-out documents of the first rung: with fewer, chance decides which configurations go on.
LEAST_HELD_OUT = 1000


@dataclass
class Candidate:
    """A configuration with the paths measured so far; the key None is the small fold."""

    configuration: Configuration
    number: int
    paths: dict[int | None, PathResult] = field(default_factory=dict)

    @property
    def folds(self) -> list[int]:
        """The whole folds that were measured."""
        return sorted(fold for fold in self.paths if fold is not None)

    @property
    def comparable(self) -> list[int | None]:
        """The folds whose mean counts: the whole ones, or else the small one."""
        return [fold for fold in self.paths if fold is not None] or list(self.paths)

    def list_values(self, folds: Sequence[int | None]) -> dict[tuple[float, str], float]:
        """Return the mean over folds for each C and threshold rule that was measured on all of them."""
        measured = [self.paths[fold].values for fold in folds]
        return {
            (cost, rule): sum(values[cost][rule] for values in measured) / len(measured)
            for cost in measured[0]
            if all(cost in values for values in measured)
            for rule in measured[0][cost]
        }

    def add(self, fold: int | None, result: PathResult) -> None:
        """Add a measured path; values of C that were measured before on this fold are kept."""
        self.paths[fold] = self.paths[fold].join(result) if fold in self.paths else result

    def find_best(self, folds: Sequence[int | None] | None = None) -> tuple[float, str, float]:
        """Return C, threshold rule and metric where the mean is best; of equals the strongest regularization."""
        values = self.list_values(self.comparable if folds is None else folds)
        (cost, rule), value = max(values.items(), key=lambda item: item[1])
        return cost, rule, value

    def list_fold_values(self) -> dict[str, float]:
        """Return the metric of each fold at the best C and threshold rule."""
        cost, rule, _ = self.find_best()
        return {str(fold): self.paths[fold].values[cost][rule] for fold in self.comparable}


class SearchListener(Protocol):
    """Receives the state of a search after each measured path."""

    def __call__(self, search: Search, candidate: Candidate) -> None:
        """Show the state."""
        ...


@dataclass
class Search:
    """A search and what it has measured so far."""

    evaluator: Evaluator
    journal: Journal
    seed: int
    most: int | None = None
    seconds: float | None = None
    listener: SearchListener | None = None
    reserved_fits: float = 0.0
    clock: Clock = field(default_factory=Clock)
    look: FirstLook | None = None
    candidates: list[Candidate] = field(default_factory=list)
    passed_over: list[Configuration] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    spent: float = 0.0
    processor_spent: float = 0.0
    stopped_by: str = ""

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        return self.clock.elapsed

    @property
    def rungs(self) -> list[list[int | None]]:
        """The folds that each rung adds; the first has enough held-out documents to tell configurations apart."""
        folds = list(range(len(self.evaluator.folds)))
        enough = math.ceil(LEAST_HELD_OUT / len(self.evaluator.folds[0][1]))
        first: list[int | None] = [None] if self.evaluator.has_small_fold else [*folds[:enough]]
        middle = [fold for fold in folds[: max(2, math.ceil(len(folds) / 2))] if fold not in first]
        return [first, [*middle], [fold for fold in folds if fold not in (*first, *middle)]]

    @property
    def best(self) -> Candidate | None:
        """The candidate with the highest mean among those measured on the most folds."""
        most = max((len(each.folds) for each in self.candidates if each.paths), default=None)
        if most is None:
            return None
        longest = [each for each in self.candidates if each.paths and len(each.folds) == most]
        return max(longest, key=lambda each: (each.find_best()[2], -each.number))

    def run(self) -> None:
        """Search until the configurations or the time are used up, or the user interrupts."""
        try:
            for number in range(len(self.evaluator.space.all)):
                if not self._run_round(number):
                    return
        except KeyboardInterrupt:
            self.stopped_by = "interrupt"
            if self.best is None:
                raise

    def _run_round(self, number: int) -> bool:
        """Run one round; return False when nothing is left to do."""
        drawn = self._draw_round(number)
        if not drawn:
            return False
        before = self.best
        entrants = [Candidate(each, len(self.candidates) + place) for place, each in enumerate(drawn)]
        for rung in self.rungs:
            if not self._measure_rung(entrants, rung):
                self.stopped_by = "time"
                return False
            entrants = self._promote(entrants, before)
        if self.best is not None and not self._refine_cost(self.best):
            self.stopped_by = "time"
            return False
        return True

    def _draw_round(self, number: int) -> list[Configuration]:
        """Return the configurations of a round that fit into the time left; none if the search ends."""
        tried = [each.configuration for each in self.candidates]
        best = self.best.configuration if self.best else None
        for _ in range(MOST_DRAWS):
            known = [*tried, *self.passed_over]
            drawn = self.evaluator.space.draw_round(number, self.seed, known, best)
            if self.most is not None:
                drawn = drawn[: max(self.most - len(tried), 0)]
            if not drawn:
                self.stopped_by = "configurations" if self.most is not None else "space"
                return []
            if kept := self._keep_affordable(drawn):
                return kept
        self.stopped_by = "time"
        return []

    def _keep_affordable(self, drawn: list[Configuration]) -> list[Configuration]:
        """Return the configurations whose counts, search and final model fit into the time left.

        If the first fits of none, return the simplest configuration, and warn if its time is not left either.
        """
        if self.seconds is None or self.look is None:
            return drawn
        left, look = self.seconds - self.elapsed, self.look
        expected = {each: self._expect_session(each, look) for each in drawn}
        if self.best is not None or min(expected.values()) <= left:
            self.passed_over += [each for each in drawn if expected[each] > left]
            return [each for each in drawn if expected[each] <= left]
        simplest = self.evaluator.space.simplest
        needed = self._expect_session(simplest, look)
        if needed > left:
            log.warning(
                "The limit of %.0f s cannot be kept: %.0f s are over, and the simplest configuration and its final "
                "model take about %.0f s.",
                self.seconds, self.elapsed, needed,
            )  # fmt: skip
        return [simplest]

    def _expect_session(self, configuration: Configuration, look: FirstLook) -> float:
        """Return the expected seconds of counting for a configuration, its first rung and what follows the search."""
        first, costs = self.rungs[0], self.evaluator.space.list_costs(configuration)
        share = sum(
            len((self.evaluator.small if each is None else self.evaluator.folds[each])[0]) for each in first
        )
        fits = self.reserved_fits + len(costs) * share / look.number
        counting = look.expect_counting(configuration)
        return (
            look.expect_counting(configuration, missing=True)
            + counting
            + fits * look.expect_fit(configuration)
        )

    def _measure_rung(self, entrants: list[Candidate], folds: Sequence[int | None]) -> bool:
        """Measure candidates on some folds; return False if there is no time for all.

        Those that do not wait for the values of C of another are measured together.
        """
        while entrants:
            together, begun = [], set()
            for candidate in entrants:
                kind = self._get_kind(candidate)
                if kind in begun:
                    break
                if not self._list_alike(candidate):
                    begun.add(kind)
                together.append(candidate)
            paths = [(each, fold, self._choose_costs(each)) for each in together for fold in folds]
            if not self._measure_paths(paths):
                return False
            entrants = entrants[len(together) :]
        return True

    def _refine_cost(self, candidate: Candidate) -> bool:
        """Measure other values of C while they are better on the folds measured; return False if there is no time."""
        costs = self.evaluator.space.list_costs(candidate.configuration)
        folds = candidate.comparable
        while True:
            best, _, value = candidate.find_best()
            place = costs.index(best)
            near = costs[max(place - 1, 0) : place + 2]
            for part in (folds[:2], folds[2:]):
                if not self._measure_paths([(candidate, fold, [cost]) for cost in near for fold in part]):
                    return False
                values = candidate.list_values(folds[:2])
                least = _find_value(values, best) - HOPELESS / 2
                near = [cost for cost in near if _find_value(values, cost) >= least]
            if candidate.find_best()[2] <= value:
                return True

    def _promote(self, entrants: list[Candidate], before: Candidate | None) -> list[Candidate]:
        """Return the candidates that go on: the best share of them, unless the best so far is far above."""
        number = math.ceil(len(entrants) / self.evaluator.space.reduction)
        ranked = sorted(entrants, key=lambda each: (-_get_value(each), each.number))[:number]
        if before is None:
            return ranked
        return [each for each in ranked if _get_value(each) > before.find_best(each.comparable)[2] - HOPELESS]

    def _measure_paths(self, paths: Iterable[tuple[Candidate, int | None, Sequence[float]]]) -> bool:
        """Measure the values of C that were not measured on a fold; return False if there is no time for all."""
        tasks = []
        for candidate, fold, costs in paths:
            known = candidate.paths[fold].values if fold in candidate.paths else {}
            if missing := tuple(cost for cost in costs if cost not in known):
                tasks.append((candidate, PathTask(candidate.configuration, fold, missing)))
        results = self.evaluator.evaluate_all(
            [task for _, task in tasks if self.journal.find(task.name) is None]
        )
        with closing(results):
            for candidate, task in tasks:
                result = self.journal.find(task.name)
                if result is None:
                    if not self._has_time(candidate, task.fold, len(task.costs)):
                        return False
                    result = next(results)
                    self.journal.add(task.name, result)
                self._note(candidate, task.fold, result)
        return True

    def _choose_costs(self, candidate: Candidate) -> list[float]:
        """Return the values of C to measure: the best so far, or all for the first candidate of its kind."""
        if candidate.paths:
            return [candidate.find_best()[0]]
        alike = self._list_alike(candidate)
        return (
            [alike[0].find_best()[0]] if alike else self.evaluator.space.list_costs(candidate.configuration)
        )

    def _list_alike(self, candidate: Candidate) -> list[Candidate]:
        """Return the measured candidates for which the same values of C are good, the best first."""
        kind = self._get_kind(candidate)
        return [each for each in self.rank() if self._get_kind(each) == kind]

    def _get_kind(self, candidate: Candidate) -> tuple[str, bool]:
        """Return what decides which values of C are good: the loss, and whether there are characters."""
        chosen = candidate.configuration.chosen
        return chosen["loss"], chosen.get("characters", "none") != "none"

    def _has_time(self, candidate: Candidate, fold: int | None, fits: int) -> bool:
        """Return whether measuring a path, and what follows the search, fit in the time left; the first always does."""
        if self.seconds is None or self.best is None:
            return True
        expected = fits * self._estimate_seconds(candidate, fold)
        # The first of them also loaded the compiler.
        reserved = self.reserved_fits * min(
            self._estimate_seconds(each, 0) for each in self._list_alike(self.best)
        )
        # Joining, storing and weighting the counts of all documents takes up to as long as counting them.
        if self.look is not None:
            expected += self.look.expect_counting(candidate.configuration, missing=True)
            counting = max(self.look.expect_counting(each.configuration) for each in (self.best, candidate))
        else:
            paths = [path for each in self.candidates for path in each.paths.values()]
            counting = sum(
                path.processor_preparing if self.clock.by_processor else path.preparing for path in paths
            )
        return self.elapsed + expected + reserved + counting < self.seconds

    def _estimate_seconds(self, candidate: Candidate, fold: int | None) -> float:
        """Return the expected seconds for one C: the least that the candidate took, or others on such a fold.

        Documents are counted in the first path of a group of n-grams; that time is left out.
        """
        scale = 1.0
        if fold is not None and self.evaluator.has_small_fold:
            scale = len(self.evaluator.folds[0][0]) / len(self.evaluator.small[0])
        whole = [
            self._get_seconds(path) for each_fold, path in candidate.paths.items() if each_fold is not None
        ]
        if whole:
            return min(whole)
        if candidate.paths:
            return scale * self._get_seconds(next(iter(candidate.paths.values())))
        same = [
            self._get_seconds(path) * self._compare_sizes(candidate, each)
            for each in self.candidates
            for key, path in each.paths.items()
            if key == fold
        ]
        return max(same[-3:], default=0.0)

    def _compare_sizes(self, one: Candidate, other: Candidate) -> float:
        """Return how much longer one is expected to train than the other: by the number of their features' counts."""
        if self.look is None:
            return 1.0
        return self.look.expect_fit(one.configuration) / self.look.expect_fit(other.configuration)

    def _get_seconds(self, path: PathResult) -> float:
        """Return the seconds of a path for each C, without those in which documents were counted."""
        spent = path.processor_seconds if self.clock.by_processor else path.seconds
        once = path.processor_preparing if self.clock.by_processor else path.preparing
        return (spent - once) / len(path.values)

    def _note(self, candidate: Candidate, fold: int | None, result: PathResult) -> None:
        if not candidate.paths:
            self.candidates.append(candidate)
        candidate.add(fold, result)
        self.spent += result.seconds
        self.processor_spent += result.processor_seconds
        best = self.best
        if best is not None:
            value = best.find_best()[2]
            self.history.append(
                {
                    "seconds": round(self.spent, 3),
                    "configuration": candidate.configuration.name,
                    "fold": fold,
                    "value": candidate.find_best([fold])[2],
                    "best": value,
                    "folds_of_best": len(best.folds),
                }
            )
        if self.listener is not None:
            self.listener(self, candidate)

    def rank(self) -> Iterator[Candidate]:
        """Yield the measured candidates, the best first."""
        measured = [each for each in self.candidates if each.paths]
        yield from sorted(measured, key=lambda each: (-len(each.folds), -each.find_best()[2], each.number))


def _get_value(candidate: Candidate) -> float:
    """Return the best mean of a candidate over the folds that it has."""
    return candidate.find_best()[2]


def _find_value(values: dict[tuple[float, str], float], cost: float) -> float:
    """Return the best value of a C over threshold rules."""
    return max(value for (each, _), value in values.items() if each == cost)
