"""The search for the reading of a paper that its own printed numbers support best.

It starts from the literal reading and changes one question at a time as long as the misfit falls, then two questions at
once whose options move the same numbers; options that are hopeless at the start are tried again in pairs only. An
answer is taken only if it is clear: it fits better than the literal option in at least 90 % of the resamples of the
evidence, and in 99 % where the paper's own text speaks for the literal option. Answers that later ones make unclear go
back, the least certain first. Experiments with much evidence for their cost are measured first, and a change that is
plainly worse on them is not measured on the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from textcat.published.evidence import Evidence

Reading = dict[str, str]
Losses = Mapping[str, float]

CLEAR = 0.90
BEYOND_DOUBT = 0.99
HOPELESS = 0.20
LEAST_GAIN = 0.003
PAIRS = 8


class Bench(Protocol):
    """An experiment on which readings are measured."""

    @property
    def name(self) -> str:
        """The name of the experiment, and of the runs of it that are measured."""

    @property
    def cost(self) -> float:
        """The seconds that a reading takes, as far as known."""

    def key(self, reading: Mapping[str, str]) -> tuple[str, ...]:
        """Return the options of a reading that make a difference here."""

    def find_losses(self, reading: Mapping[str, str]) -> Losses | None:
        """Return the loss of each cell under a reading, measured if it has to be; None where no time is left."""


@dataclass(frozen=True)
class Choice:
    """The options of one question, the literal one first, and the certainty that each needs against the literal one."""

    options: tuple[str, ...]
    needed: Mapping[str, float] = field(default_factory=dict)

    @property
    def literal(self) -> str:
        """The option that the words support most."""
        return self.options[0]

    def need(self, option: str) -> float:
        """Return the share of resamples in which an option has to fit better than the literal one."""
        return self.needed.get(option, CLEAR)


@dataclass(frozen=True)
class Comparison:
    """How much lower the misfit of one reading is than that of another, and in what share of resamples it is lower.

    `complete`: all experiments that differ were measured.
    """

    gain: float
    share: float
    complete: bool = True

    @property
    def is_better(self) -> bool:
        """Whether the first reading fits better, by more than the least gain."""
        return self.complete and self.gain >= LEAST_GAIN and self.share >= 0.5


@dataclass
class ReadingSearch:
    """A search over some questions on some evidence."""

    choices: Mapping[str, Choice]
    benches: Sequence[Bench]
    evidence: Evidence
    movements: dict[tuple[str, str], float] = field(default_factory=dict)
    visited: list[Reading] = field(default_factory=list)
    ran_out: bool = False

    def __post_init__(self) -> None:
        """Leave out experiments without evidence; those that cost least for the weight of their evidence come first."""
        weights = dict(zip(self.evidence.ids, self.evidence.weights, strict=True))
        known = {
            bench.name: sum(weights.get(cell, 0.0) for cell in bench.find_losses(self.literal) or ())
            for bench in self.benches
        }
        judged = [bench for bench in self.benches if known[bench.name] > 0]
        self.benches = sorted(judged, key=lambda bench: bench.cost / known[bench.name])

    @property
    def literal(self) -> Reading:
        """The literal reading."""
        return {name: choice.literal for name, choice in self.choices.items()}

    def compute_misfit(self, reading: Reading) -> float | None:
        """Return the misfit of a reading; None where it could not be measured."""
        losses: dict[str, float] = {}
        for bench in self.benches:
            found = bench.find_losses(reading)
            if found is None:
                return None
            losses |= found
        return self.evidence.compute_misfit(losses)

    def compare(
        self, new: Reading, old: Reading, *, first_only: bool = False, hopeless: float = HOPELESS
    ) -> Comparison | None:
        """Compare two readings, and stop as soon as the new one is hopeless; None where no time is left.

        With `first_only` only the first experiment in which they differ has a say.
        """
        ours: dict[str, float] = {}
        theirs: dict[str, float] = {}
        result = Comparison(0.0, 0.5)
        differing = [bench for bench in self.benches if bench.key(new) != bench.key(old)]
        for position, bench in enumerate(differing):
            measured, before = bench.find_losses(new), bench.find_losses(old)
            if measured is None or before is None:
                self.ran_out = True
                return None
            ours |= measured
            theirs |= before
            self._note_movement(new, old, bench.name, measured, before)
            gain, share = self.evidence.compare(ours, theirs)
            result = Comparison(gain, share, complete=position + 1 == len(differing))
            if share < hopeless or first_only:
                break
        return result

    def _note_movement(self, new: Reading, old: Reading, bench: str, ours: Losses, theirs: Losses) -> None:
        changed = [name for name in new if new[name] != old[name]]
        if len(changed) == 1:
            moved = sum(abs(ours[cell] - theirs[cell]) for cell in ours) / len(ours)
            place = (changed[0], bench)
            self.movements[place] = max(moved, self.movements.get(place, 0.0))

    def descend(self, start: Reading, questions: Iterable[str] | None = None) -> Reading:
        """Return a reading of clear answers in which no question and no pair of questions has a clear better one."""
        asked = list(self.choices if questions is None else questions)
        best = self.drop_unclear(start, asked)
        least, options = self.compute_misfit(best), self._rank_options(best, asked)
        while least is not None:
            current = self._change_one_at_a_time(best, options)
            current |= self._find_pair(current, list(options))
            current = self.drop_unclear(current, asked)
            misfit = self.compute_misfit(current)
            if misfit is None or misfit >= least:
                break
            best, least = current, misfit
        return best

    def choose_start(self, visited: Iterable[Reading]) -> Reading:
        """Return the literal reading, or that of those visited by another search that fits this evidence best."""
        best, least = self.literal, self.compute_misfit(self.literal)
        for reading in visited:
            misfit = self.compute_misfit(reading)
            if misfit is not None and (least is None or misfit < least):
                best, least = reading, misfit
        return best

    def _rank_options(self, start: Reading, questions: Iterable[str]) -> dict[str, list[str]]:
        """Return the options that are not hopeless on the first experiment, questions with large gains first."""
        options: dict[str, list[str]] = {}
        gains: dict[str, float] = {}
        for name in questions:
            options[name], gains[name] = [start[name]], -1.0
            for option in self.choices[name].options:
                if option == start[name]:
                    continue
                found = self.compare({**start, name: option}, start, first_only=True)
                if found is None or found.share >= HOPELESS:
                    options[name].append(option)
                    gains[name] = max(gains[name], found.gain if found else 0.0)
        return {name: options[name] for name in sorted(options, key=lambda name: -gains[name])}

    def _change_one_at_a_time(self, start: Reading, options: Mapping[str, Sequence[str]]) -> Reading:
        current = dict(start)
        last_change: str | None = None
        for name in itertools.cycle(options):
            if name == last_change:
                break
            last_change = last_change or name
            best: tuple[float, str] | None = None
            for option in options[name]:
                if option == current[name]:
                    continue
                changed = {**current, name: option}
                found = self.compare(changed, current)
                if not found or not found.is_better or (best is not None and found.gain <= best[0]):
                    continue
                if self._is_clear(changed, name):
                    best = (found.gain, option)
            if best:
                current[name] = best[1]
                last_change = name
                self.visited.append(dict(current))
        return current

    def _find_pair(self, current: Reading, questions: Sequence[str]) -> Reading:
        """Return new options of two questions that are clearly better together; nothing where there are none."""
        ranked = sorted(
            itertools.combinations(questions, 2), key=lambda pair: (-self._measure_overlap(*pair), pair)
        )
        for one, other in [pair for pair in ranked if self._measure_overlap(*pair) > 0][:PAIRS]:
            for option, other_option in itertools.product(
                self.choices[one].options, self.choices[other].options
            ):
                if option == current[one] or other_option == current[other]:
                    continue
                change = {one: option, other: other_option}
                found = self.compare({**current, **change}, current)
                if not found or not found.is_better:
                    continue
                if all(self._is_clear({**current, **change}, name) for name in change):
                    return change
        return {}

    def _is_clear(self, reading: Reading, name: str) -> bool:
        """Return whether an answer is the literal option, or fits clearly better than it."""
        choice = self.choices[name]
        if reading[name] == choice.literal:
            return True
        found = self.compare_with_literal(reading, name)
        return found is not None and found.share >= choice.need(reading[name])

    def _measure_overlap(self, one: str, other: str) -> float:
        """Return how far two questions move the numbers of the same experiments."""
        return sum(
            self.movements.get((one, bench.name), 0.0) * self.movements.get((other, bench.name), 0.0)
            for bench in self.benches
        )

    def drop_unclear(self, reading: Reading, questions: Iterable[str]) -> Reading:
        """Take answers back to the literal option, one after another, the least certain first, until all are clear."""
        current = dict(reading)
        while True:
            unclear = []
            for name in questions:
                choice = self.choices[name]
                if current[name] == choice.literal:
                    continue
                found = self.compare_with_literal(current, name)
                if found and found.share < choice.need(current[name]):
                    unclear.append((found.share, name))
            if not unclear:
                return current
            current[min(unclear)[1]] = self.choices[min(unclear)[1]].literal

    def compare_with_literal(self, reading: Reading, name: str) -> Comparison | None:
        """Compare an answer with the literal option until it is beyond doubt, or for as long as there is time."""
        literal = {**reading, name: self.choices[name].literal}
        found = self.compare(literal, reading, hopeless=1.0 - BEYOND_DOUBT) or self.compare(literal, reading)
        return None if found is None else Comparison(-found.gain, 1.0 - found.share, found.complete)

    def describe_answers(self, reading: Reading) -> dict[str, dict[str, Comparison]]:
        """Compare each option of each question with a reading's answer; options that were not measured are absent."""
        described: dict[str, dict[str, Comparison]] = {}
        for name, choice in self.choices.items():
            found = {
                option: self.compare({**reading, name: option}, reading)
                for option in choice.options
                if option != reading[name]
            }
            described[name] = {option: each for option, each in found.items() if each is not None}
        return described
