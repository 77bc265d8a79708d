"""Tests of a paper's claim on measured numbers.

Each test selects its numbers with `NumberSelection`s, compares them, and returns whether it holds with one line of
figures. "Greater" is strict; all other bounds are inclusive, up to the rounding of binary fractions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from textcat.published.verdicts import ROUNDING_MARGIN

NameOrNames = str | tuple[str, ...]


class StrictModel(BaseModel):
    """Part of claims.yaml; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class ResultPlace:
    """Address of a number in the results."""

    experiment: str
    run: str
    measure: str


Lookup = Callable[[ResultPlace], float]


class NumberSelection(StrictModel):
    """Numbers by experiment, run and measure.

    Each field is one name or a list; lists are multiplied in the order written. With `minus`, that measure of the
    same run is subtracted from each number.
    """

    experiment: NameOrNames
    run: NameOrNames
    measure: NameOrNames
    minus: str | None = None

    def places(self) -> list[ResultPlace]:
        """Return the addresses of the selected numbers, without those subtracted."""
        names = (_as_tuple(self.experiment), _as_tuple(self.run), _as_tuple(self.measure))
        return [ResultPlace(*combination) for combination in itertools.product(*names)]

    def list_subtracted_places(self) -> list[ResultPlace]:
        """Return the addresses to subtract, one for each of `places`; empty without `minus`."""
        if self.minus is None:
            return []
        return [ResultPlace(place.experiment, place.run, self.minus) for place in self.places()]

    def values(self, number: Lookup) -> list[float]:
        """Return the numbers in order; `number` looks up one address."""
        found = [number(place) for place in self.places()]
        if self.minus is None:
            return found
        others = [number(place) for place in self.list_subtracted_places()]
        return [value - other for value, other in zip(found, others, strict=True)]


def _as_tuple(names: NameOrNames) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


@dataclass(frozen=True)
class ClaimAnswer:
    """Whether a test holds, and its figures in one line."""

    holds: bool
    figures: str


class _OneSide(StrictModel):
    """A test of one list of numbers."""

    numbers: NumberSelection


class _TwoSides(StrictModel):
    """A test that compares numbers on the left with numbers on the right."""

    left: NumberSelection
    right: NumberSelection

    def pairs(self, number: Lookup) -> list[tuple[float, float]]:
        """Return left and right numbers in pairs; a single number on the right is paired with every left one."""
        return _pair_numbers(self.left, self.right, number)


class AllGreater(_TwoSides):
    """Every number on the left exceeds every number on the right by more than `by`."""

    test: Literal["all_greater"]
    by: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the smallest left number with the largest right number."""
        least, greatest = min(self.left.values(number)), max(self.right.values(number))
        return _exceeds("least", least, greatest + self.by)


class MeanGreater(_TwoSides):
    """The mean of the left exceeds the mean of the right by more than `by`."""

    test: Literal["mean_greater"]
    by: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the two means."""
        left, right = _mean(self.left.values(number)), _mean(self.right.values(number))
        return _exceeds("mean", left, right + self.by)


class PairwiseGreater(_TwoSides):
    """The left number of each pair exceeds the right one by more than `by`, in all or `at_least` pairs."""

    test: Literal["pairwise_greater"]
    by: float = 0.0
    at_least: int | None = None

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Count the pairs with a greater left number."""
        pairs = self.pairs(number)
        won = sum(left > right + self.by for left, right in pairs)
        wanted = len(pairs) if self.at_least is None else self.at_least
        return ClaimAnswer(
            won >= wanted, f"{won} of {len(pairs)} pairs, {wanted} wanted: {_format_pairs(pairs)}"
        )


class Near(_TwoSides):
    """The numbers of each pair differ by at most `tolerance`."""

    test: Literal["near"]
    tolerance: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the largest distance with the tolerance."""
        pairs = self.pairs(number)
        farthest = max(abs(left - right) for left, right in pairs)
        return ClaimAnswer(
            farthest <= self.tolerance + ROUNDING_MARGIN,
            f"largest distance {_format_number(farthest)}: {_format_pairs(pairs)}",
        )


class DifferenceBetween(_TwoSides):
    """Left minus right of each pair lies between `low` and `high`."""

    test: Literal["difference_between"]
    low: float
    high: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Check the differences."""
        return _all_between([left - right for left, right in self.pairs(number)], self.low, self.high)


class RatioBetween(_TwoSides):
    """Left divided by right of each pair lies between `low` and `high`; division by zero fails."""

    test: Literal["ratio_between"]
    low: float
    high: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Check the ratios."""
        ratios = [left / right if right else float("inf") for left, right in self.pairs(number)]
        return _all_between(ratios, self.low, self.high)


class Between(_OneSide):
    """Every number lies between `low` and `high`."""

    test: Literal["between"]
    low: float
    high: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Check the numbers."""
        return _all_between(self.numbers.values(number), self.low, self.high)


class Within(_OneSide):
    """All numbers lie within `points` of each other."""

    test: Literal["within"]
    points: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the range of the numbers with `points`."""
        values = self.numbers.values(number)
        return ClaimAnswer(
            max(values) - min(values) <= self.points + ROUNDING_MARGIN,
            f"from {_format_number(min(values))} to {_format_number(max(values))}",
        )


class Rises(_OneSide):
    """In the order written, no number falls by more than `slack`, and the last exceeds the first."""

    test: Literal["rises"]
    slack: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare each number with the next."""
        values = self.numbers.values(number)
        steps = all(after >= before - self.slack for before, after in itertools.pairwise(values))
        return ClaimAnswer(steps and values[-1] > values[0], " -> ".join(map(_format_number, values)))


class LosesMore(StrictModel):
    """From `before` to `after`, each number falls by more than its partner in the others, by more than `by`."""

    test: Literal["loses_more"]
    before: NumberSelection
    after: NumberSelection
    others_before: NumberSelection
    others_after: NumberSelection
    by: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the losses in pairs."""
        losses = [before - after for before, after in _pair_numbers(self.before, self.after, number)]
        others = [
            before - after for before, after in _pair_numbers(self.others_before, self.others_after, number)
        ]
        pairs = list(zip(losses, others, strict=True))
        return ClaimAnswer(
            all(loss > other + self.by for loss, other in pairs), f"losses {_format_pairs(pairs)}"
        )


class Significant(StrictModel):
    """Every p-value is below the level; with `wanted: false`, none is."""

    test: Literal["significant"]
    p_values: NumberSelection
    level: float = 0.05
    wanted: bool = True

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare each p-value with the level."""
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
    ours, theirs = left.values(number), right.values(number)
    if len(theirs) == 1:
        theirs = theirs * len(ours)
    return list(zip(ours, theirs, strict=True))


def _exceeds(what: str, value: float, bound: float) -> ClaimAnswer:
    return ClaimAnswer(value > bound, f"{what} {_format_number(value)}, to exceed {_format_number(bound)}")


def _all_between(values: Sequence[float], low: float, high: float) -> ClaimAnswer:
    return ClaimAnswer(
        all(low - ROUNDING_MARGIN <= value <= high + ROUNDING_MARGIN for value in values),
        f"{', '.join(map(_format_number, values))}; allowed {_format_number(low)} to {_format_number(high)}",
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _format_number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1 else f"{value:.2f}"


def _format_pairs(pairs: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{_format_number(left)} | {_format_number(right)}" for left, right in pairs)
