"""Tests of a claim on measured numbers, and how a claim names the numbers.

Every test picks its numbers with a `NumberSelection`, computes in plain arithmetic, and answers whether it holds,
with one line of figures for a reader. Greater is strict; other bounds are inclusive, with a hair's breadth of
room for binary fractions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

NameOrNames = str | tuple[str, ...]


class StrictModel(BaseModel):
    """A part of claims.yaml: no other keys than it knows."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class ResultPlace:
    """Where a number stands in the results."""

    experiment: str
    run: str
    measure: str


class NumberSelection(StrictModel):
    """Numbers by experiment, run and measure, each one name or a list; lists multiply, in the order written.

    With `minus`, the same run's other measure is subtracted from each.
    """

    experiment: NameOrNames
    run: NameOrNames
    measure: NameOrNames
    minus: str | None = None

    def places(self) -> list[ResultPlace]:
        """Every number that is needed, without those to subtract."""
        names = (_as_tuple(self.experiment), _as_tuple(self.run), _as_tuple(self.measure))
        return [ResultPlace(*combination) for combination in itertools.product(*names)]

    def values(self, number: Callable[[ResultPlace], float]) -> list[float]:
        """The numbers in order; `number` looks one up."""
        found = [number(place) for place in self.places()]
        if self.minus is None:
            return found
        others = [number(place) for place in self.list_subtracted_places()]
        return [value - other for value, other in zip(found, others, strict=True)]

    def list_subtracted_places(self) -> list[ResultPlace]:
        """The numbers to subtract, one for each of `places`; none without `minus`."""
        if self.minus is None:
            return []
        return [ResultPlace(place.experiment, place.run, self.minus) for place in self.places()]


Lookup = Callable[[ResultPlace], float]


def _as_tuple(names: NameOrNames) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


# Room for binary fractions where a bound is meant to be inclusive.
ROUNDING_MARGIN = 1e-9


@dataclass(frozen=True)
class ClaimAnswer:
    """Whether a test holds, and its figures."""

    holds: bool
    figures: str


class AllGreater(StrictModel):
    """Every number on the left is greater than every number on the right, by more than `by`."""

    test: Literal["all_greater"]
    left: NumberSelection
    right: NumberSelection
    by: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the least of the left with the greatest of the right."""
        least, greatest = min(self.left.values(number)), max(self.right.values(number))
        return ClaimAnswer(
            least > greatest + self.by,
            f"least {_format_number(least)}, to exceed {_format_number(greatest + self.by)}",
        )


class PairwiseGreater(StrictModel):
    """Each number on the left is greater than its partner, in all pairs or in at least `at_least`."""

    test: Literal["pairwise_greater"]
    left: NumberSelection
    right: NumberSelection
    by: float = 0.0
    at_least: int | None = None

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Count the pairs."""
        pairs = _pair_numbers(self.left, self.right, number)
        won = sum(left > right + self.by for left, right in pairs)
        wanted = len(pairs) if self.at_least is None else self.at_least
        return ClaimAnswer(
            won >= wanted, f"{won} of {len(pairs)} pairs, {wanted} wanted: {_format_pairs(pairs)}"
        )


class MeanGreater(StrictModel):
    """The mean of the left is greater than the mean of the right, by more than `by`."""

    test: Literal["mean_greater"]
    left: NumberSelection
    right: NumberSelection
    by: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare two plain means."""
        left, right = _mean(self.left.values(number)), _mean(self.right.values(number))
        return ClaimAnswer(
            left > right + self.by,
            f"mean {_format_number(left)}, to exceed {_format_number(right + self.by)}",
        )


class Near(StrictModel):
    """Each number on the left differs from its partner by no more than `tolerance`."""

    test: Literal["near"]
    left: NumberSelection
    right: NumberSelection
    tolerance: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Look at the largest distance."""
        pairs = _pair_numbers(self.left, self.right, number)
        farthest = max(abs(left - right) for left, right in pairs)
        return ClaimAnswer(
            farthest <= self.tolerance + ROUNDING_MARGIN,
            f"largest distance {_format_number(farthest)}: {_format_pairs(pairs)}",
        )


class Within(StrictModel):
    """All numbers lie within `points` of each other."""

    test: Literal["within"]
    numbers: NumberSelection
    points: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Look at the range."""
        values = self.numbers.values(number)
        spread = max(values) - min(values)
        return ClaimAnswer(
            spread <= self.points + ROUNDING_MARGIN,
            f"from {_format_number(min(values))} to {_format_number(max(values))}",
        )


class Between(StrictModel):
    """Every number lies between `low` and `high`."""

    test: Literal["between"]
    numbers: NumberSelection
    low: float
    high: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Look at every number."""
        values = self.numbers.values(number)
        return ClaimAnswer(
            all(_is_between(value, self.low, self.high) for value in values),
            f"{', '.join(map(_format_number, values))}; "
            f"allowed {_format_number(self.low)} to {_format_number(self.high)}",
        )


class DifferenceBetween(StrictModel):
    """Each number on the left minus its partner lies between `low` and `high`."""

    test: Literal["difference_between"]
    left: NumberSelection
    right: NumberSelection
    low: float
    high: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Subtract pair by pair."""
        differences = [left - right for left, right in _pair_numbers(self.left, self.right, number)]
        return ClaimAnswer(
            all(_is_between(value, self.low, self.high) for value in differences),
            f"{', '.join(map(_format_number, differences))}; "
            f"allowed {_format_number(self.low)} to {_format_number(self.high)}",
        )


class LosesMore(StrictModel):
    """From `before` to `after` each number falls by more than its partner among the others, by more than `by`."""

    test: Literal["loses_more"]
    before: NumberSelection
    after: NumberSelection
    others_before: NumberSelection
    others_after: NumberSelection
    by: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare two losses pair by pair."""
        losses = [before - after for before, after in _pair_numbers(self.before, self.after, number)]
        others = [
            before - after for before, after in _pair_numbers(self.others_before, self.others_after, number)
        ]
        pairs = list(zip(losses, others, strict=True))
        return ClaimAnswer(
            all(loss > other + self.by for loss, other in pairs), f"losses {_format_pairs(pairs)}"
        )


class RatioBetween(StrictModel):
    """Each number on the left divided by its partner lies between `low` and `high`; x/0 does not."""

    test: Literal["ratio_between"]
    left: NumberSelection
    right: NumberSelection
    low: float
    high: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Divide pair by pair."""
        pairs = _pair_numbers(self.left, self.right, number)
        ratios = [left / right if right else float("inf") for left, right in pairs]
        return ClaimAnswer(
            all(_is_between(value, self.low, self.high) for value in ratios),
            f"{', '.join(map(_format_number, ratios))}; "
            f"allowed {_format_number(self.low)} to {_format_number(self.high)}",
        )


class Rises(StrictModel):
    """In the order written no number falls by more than `slack`, and the last is above the first."""

    test: Literal["rises"]
    numbers: NumberSelection
    slack: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Go through the neighbours."""
        values = self.numbers.values(number)
        steps = all(after >= before - self.slack for before, after in itertools.pairwise(values))
        return ClaimAnswer(steps and values[-1] > values[0], " -> ".join(map(_format_number, values)))


class Significant(StrictModel):
    """Every p-value is below the level; or, with `wanted: false`, none is."""

    test: Literal["significant"]
    p_values: NumberSelection
    level: float = 0.05
    wanted: bool = True

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare with the level."""
        values = self.p_values.values(number)
        return ClaimAnswer(
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


def _pair_numbers(left: NumberSelection, right: NumberSelection, number: Lookup) -> list[tuple[float, float]]:
    """Partners in order; a single number on the right is everybody's partner."""
    ours, theirs = left.values(number), right.values(number)
    if len(theirs) == 1:
        theirs = theirs * len(ours)
    return list(zip(ours, theirs, strict=True))


def _is_between(value: float, low: float, high: float) -> bool:
    return low - ROUNDING_MARGIN <= value <= high + ROUNDING_MARGIN


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _format_number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1 else f"{value:.2f}"


def _format_pairs(pairs: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{_format_number(left)} | {_format_number(right)}" for left, right in pairs)
