"""Tests of a claim on measured numbers, and how a claim names the numbers.

Every test picks its numbers with a `Selection`, computes in plain arithmetic, and answers whether it holds,
with one line of figures for a reader. Greater is strict; other bounds are inclusive, with a hair's breadth of
room for binary fractions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Several = str | tuple[str, ...]


class Strict(BaseModel):
    """A part of claims.yaml: no other keys than it knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Place:
    """Where a number stands in the results."""

    experiment: str
    run: str
    measure: str


class Selection(Strict):
    """Numbers by experiment, run and measure, each one name or a list; lists multiply, in the order written.

    With `minus`, the same run's other measure is subtracted from each.
    """

    experiment: Several
    run: Several
    measure: Several
    minus: str | None = None

    def places(self) -> list[Place]:
        """Every number that is needed, without those to subtract."""
        names = (_listed(self.experiment), _listed(self.run), _listed(self.measure))
        return [Place(*combination) for combination in itertools.product(*names)]

    def values(self, number: Callable[[Place], float]) -> list[float]:
        """The numbers in order; `number` looks one up."""
        found = [number(place) for place in self.places()]
        if self.minus is None:
            return found
        others = [number(place) for place in self.subtracted()]
        return [value - other for value, other in zip(found, others, strict=True)]

    def subtracted(self) -> list[Place]:
        """The numbers to subtract, one for each of `places`; none without `minus`."""
        if self.minus is None:
            return []
        return [Place(place.experiment, place.run, self.minus) for place in self.places()]


Lookup = Callable[[Place], float]


def _listed(names: Several) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


# Room for binary fractions where a bound is meant to be inclusive.
HAIR = 1e-9


@dataclass(frozen=True)
class Answer:
    """Whether a test holds, and its figures."""

    holds: bool
    figures: str


class AllGreater(Strict):
    """Every number on the left is greater than every number on the right, by more than `by`."""

    test: Literal["all_greater"]
    left: Selection
    right: Selection
    by: float = 0.0

    def answer(self, number: Lookup) -> Answer:
        """Compare the least of the left with the greatest of the right."""
        least, greatest = min(self.left.values(number)), max(self.right.values(number))
        return Answer(
            least > greatest + self.by, f"least {_shown(least)}, to exceed {_shown(greatest + self.by)}"
        )


class PairwiseGreater(Strict):
    """Each number on the left is greater than its partner, in all pairs or in at least `at_least`."""

    test: Literal["pairwise_greater"]
    left: Selection
    right: Selection
    by: float = 0.0
    at_least: int | None = None

    def answer(self, number: Lookup) -> Answer:
        """Count the pairs."""
        pairs = _pairs(self.left, self.right, number)
        won = sum(left > right + self.by for left, right in pairs)
        wanted = len(pairs) if self.at_least is None else self.at_least
        return Answer(won >= wanted, f"{won} of {len(pairs)} pairs, {wanted} wanted: {_shown_pairs(pairs)}")


class MeanGreater(Strict):
    """The mean of the left is greater than the mean of the right, by more than `by`."""

    test: Literal["mean_greater"]
    left: Selection
    right: Selection
    by: float = 0.0

    def answer(self, number: Lookup) -> Answer:
        """Compare two plain means."""
        left, right = _mean(self.left.values(number)), _mean(self.right.values(number))
        return Answer(left > right + self.by, f"mean {_shown(left)}, to exceed {_shown(right + self.by)}")


class Near(Strict):
    """Each number on the left differs from its partner by no more than `tolerance`."""

    test: Literal["near"]
    left: Selection
    right: Selection
    tolerance: float

    def answer(self, number: Lookup) -> Answer:
        """Look at the largest distance."""
        pairs = _pairs(self.left, self.right, number)
        farthest = max(abs(left - right) for left, right in pairs)
        return Answer(
            farthest <= self.tolerance + HAIR, f"largest distance {_shown(farthest)}: {_shown_pairs(pairs)}"
        )


class Within(Strict):
    """All numbers lie within `points` of each other."""

    test: Literal["within"]
    numbers: Selection
    points: float

    def answer(self, number: Lookup) -> Answer:
        """Look at the range."""
        values = self.numbers.values(number)
        spread = max(values) - min(values)
        return Answer(spread <= self.points + HAIR, f"from {_shown(min(values))} to {_shown(max(values))}")


class Between(Strict):
    """Every number lies between `low` and `high`."""

    test: Literal["between"]
    numbers: Selection
    low: float
    high: float

    def answer(self, number: Lookup) -> Answer:
        """Look at every number."""
        values = self.numbers.values(number)
        return Answer(
            all(_inside(value, self.low, self.high) for value in values),
            f"{', '.join(map(_shown, values))}; allowed {_shown(self.low)} to {_shown(self.high)}",
        )


class DifferenceBetween(Strict):
    """Each number on the left minus its partner lies between `low` and `high`."""

    test: Literal["difference_between"]
    left: Selection
    right: Selection
    low: float
    high: float

    def answer(self, number: Lookup) -> Answer:
        """Subtract pair by pair."""
        differences = [left - right for left, right in _pairs(self.left, self.right, number)]
        return Answer(
            all(_inside(value, self.low, self.high) for value in differences),
            f"{', '.join(map(_shown, differences))}; allowed {_shown(self.low)} to {_shown(self.high)}",
        )


class LosesMore(Strict):
    """From `before` to `after` each number falls by more than its partner among the others, by more than `by`."""

    test: Literal["loses_more"]
    before: Selection
    after: Selection
    others_before: Selection
    others_after: Selection
    by: float = 0.0

    def answer(self, number: Lookup) -> Answer:
        """Compare two losses pair by pair."""
        losses = [before - after for before, after in _pairs(self.before, self.after, number)]
        others = [before - after for before, after in _pairs(self.others_before, self.others_after, number)]
        pairs = list(zip(losses, others, strict=True))
        return Answer(all(loss > other + self.by for loss, other in pairs), f"losses {_shown_pairs(pairs)}")


class RatioBetween(Strict):
    """Each number on the left divided by its partner lies between `low` and `high`; x/0 does not."""

    test: Literal["ratio_between"]
    left: Selection
    right: Selection
    low: float
    high: float

    def answer(self, number: Lookup) -> Answer:
        """Divide pair by pair."""
        pairs = _pairs(self.left, self.right, number)
        ratios = [left / right if right else float("inf") for left, right in pairs]
        return Answer(
            all(_inside(value, self.low, self.high) for value in ratios),
            f"{', '.join(map(_shown, ratios))}; allowed {_shown(self.low)} to {_shown(self.high)}",
        )


class Rises(Strict):
    """In the order written no number falls by more than `slack`, and the last is above the first."""

    test: Literal["rises"]
    numbers: Selection
    slack: float = 0.0

    def answer(self, number: Lookup) -> Answer:
        """Go through the neighbours."""
        values = self.numbers.values(number)
        steps = all(after >= before - self.slack for before, after in itertools.pairwise(values))
        return Answer(steps and values[-1] > values[0], " -> ".join(map(_shown, values)))


class Significant(Strict):
    """Every p-value is below the level; or, with `wanted: false`, none is."""

    test: Literal["significant"]
    p_values: Selection
    level: float = 0.05
    wanted: bool = True

    def answer(self, number: Lookup) -> Answer:
        """Compare with the level."""
        values = self.p_values.values(number)
        return Answer(
            all((value < self.level) == self.wanted for value in values),
            "p = " + ", ".join(f"{value:.3g}" for value in values),
        )


ClaimTest = Annotated[
    AllGreater
    | PairwiseGreater
    | MeanGreater
    | Near
    | Within
    | Between
    | DifferenceBetween
    | LosesMore
    | RatioBetween
    | Rises
    | Significant,
    Field(discriminator="test"),
]


def _pairs(left: Selection, right: Selection, number: Lookup) -> list[tuple[float, float]]:
    """Partners in order; a single number on the right is everybody's partner."""
    ours, theirs = left.values(number), right.values(number)
    if len(theirs) == 1:
        theirs = theirs * len(ours)
    return list(zip(ours, theirs, strict=True))


def _inside(value: float, low: float, high: float) -> bool:
    return low - HAIR <= value <= high + HAIR


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _shown(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1 else f"{value:.2f}"


def _shown_pairs(pairs: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{_shown(left)} | {_shown(right)}" for left, right in pairs)
