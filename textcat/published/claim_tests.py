"""Tests of a paper's claim on measured numbers.

Each test selects its numbers with `NumberSelection`s, compares them, and returns whether it holds with one sentence
that names the numbers. "Greater" is strict; all other bounds are inclusive, up to the rounding of binary fractions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from textcat.published.claim_sentences import (
    NamedNumber,
    capitalize,
    compare_names,
    compare_two,
    describe_range,
    find_unit,
    format_amount,
    format_difference,
    join_words,
    name_measure,
)
from textcat.published.verdicts import ROUNDING_MARGIN
from textcat.settings import StrictSettings

NameOrNames = str | tuple[str, ...]


@dataclass(frozen=True)
class ResultPlace:
    """Address of a number in the results."""

    experiment: str
    run: str
    measure: str


Lookup = Callable[[ResultPlace], float]


class NumberSelection(StrictSettings):
    """Numbers by experiment, run and measure.

    Each field is one name or a list; lists are multiplied in the order written. With `minus`, that measure of the
    same run is subtracted from each number.
    """

    experiment: NameOrNames
    run: NameOrNames
    measure: NameOrNames
    minus: str | None = None

    def list_places(self) -> list[ResultPlace]:
        """Return the addresses of the selected numbers, without those subtracted."""
        names = (_as_tuple(self.experiment), _as_tuple(self.run), _as_tuple(self.measure))
        return [ResultPlace(*combination) for combination in itertools.product(*names)]

    def list_all_places(self) -> list[ResultPlace]:
        """Return the addresses of the selected numbers, then of those subtracted from them."""
        found = self.list_places()
        return found if self.minus is None else found + [replace(each, measure=self.minus) for each in found]

    def read_values(self, number: Lookup) -> list[float]:
        """Return the numbers in order; `number` looks up one address."""
        found = [number(place) for place in self.list_all_places()]
        if self.minus is None:
            return found
        half = len(found) // 2
        return [value - other for value, other in zip(found[:half], found[half:], strict=True)]

    def list_named(self, number: Lookup) -> list[NamedNumber]:
        """Return the numbers in order, each with its name and unit."""
        units = (find_unit(place.measure) for place in self.list_places())
        return [
            NamedNumber(
                self._name_measure(place),
                self._name_run(place),
                value,
                "points" if self.minus and unit == "%" else unit,
            )
            for place, value, unit in zip(self.list_places(), self.read_values(number), units, strict=True)
        ]

    def _name_measure(self, place: ResultPlace) -> str:
        return name_measure(place.measure) + (f" less {name_measure(self.minus)}" if self.minus else "")

    def _name_run(self, place: ResultPlace) -> str:
        several = len(_as_tuple(self.experiment)) > 1
        where = f" in {place.experiment.rpartition('/')[2]}" if several else ""
        return place.run.replace("_", " ") + where


def _as_tuple(names: NameOrNames) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


@dataclass(frozen=True)
class ClaimAnswer:
    """Whether a test holds, and a sentence with its numbers."""

    holds: bool
    sentence: str


class _OneSide(StrictSettings):
    """A test of one list of numbers."""

    numbers: NumberSelection


class _TwoSides(StrictSettings):
    """A test that compares numbers on the left with numbers on the right."""

    left: NumberSelection
    right: NumberSelection

    def pair_numbers(self, number: Lookup) -> list[tuple[NamedNumber, NamedNumber]]:
        """Return left and right numbers in pairs; a single number on the right is paired with every left one."""
        return _pair_numbers(self.left, self.right, number)


class AllGreater(_TwoSides):
    """Every number on the left exceeds every number on the right by more than `by`."""

    test: Literal["all_greater"]
    by: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the smallest left number with the largest right number."""
        left, right = self.left.list_named(number), self.right.list_named(number)
        least, greatest = min(left, key=_value), max(right, key=_value)
        return ClaimAnswer(
            least.value > greatest.value + self.by, compare_two(least, greatest, self.by, of=len(left))
        )


class PairwiseGreater(_TwoSides):
    """The left number of each pair exceeds the right one by more than `by`, in all or `at_least` pairs."""

    test: Literal["pairwise_greater"]
    by: float = 0.0
    at_least: int | None = None

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Count the pairs with a greater left number."""
        pairs = self.pair_numbers(number)
        lost = [pair for pair in pairs if not pair[0].value > pair[1].value + self.by]
        wanted = len(pairs) if self.at_least is None else self.at_least
        won = len(pairs) - len(lost)
        if len(pairs) == 1:
            return ClaimAnswer(won >= wanted, compare_two(*pairs[0], self.by))
        by = f" by more than {format_difference(self.by, pairs[0][0].unit)}" if self.by > 0 else ""
        shown = lost[:SHOWN_PAIRS] or [min(pairs, key=lambda pair: pair[0].value - pair[1].value)]
        listed = "; ".join(compare_names(*pair) for pair in shown)
        more = f"; {len(lost) - SHOWN_PAIRS} more" if len(lost) > SHOWN_PAIRS else ""
        return ClaimAnswer(
            won >= wanted,
            f"The first number is greater{by} in {won} of {len(pairs)} pairs; the claim needs {wanted}. "
            f"{'Exceptions' if lost else 'Closest pair'}: {listed}{more}.",
        )


class Near(_TwoSides):
    """The numbers of each pair differ by at most `tolerance`."""

    test: Literal["near"]
    tolerance: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the largest distance with the tolerance."""
        left, right = max(self.pair_numbers(number), key=lambda pair: abs(pair[0].value - pair[1].value))
        farthest = abs(left.value - right.value)
        return ClaimAnswer(
            farthest <= self.tolerance + ROUNDING_MARGIN,
            f"The largest difference is {format_difference(farthest, left.unit)}: {compare_names(left, right)}. "
            f"The claim allows {format_difference(self.tolerance, left.unit)}.",
        )


class DifferenceBetween(_TwoSides):
    """Left minus right of each pair lies between `low` and `high`; without `high` it is at least `low`."""

    test: Literal["difference_between"]
    low: float
    high: float = math.inf

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Check the differences."""
        pairs = self.pair_numbers(number)
        unit = "points" if pairs[0][0].unit == "%" else pairs[0][0].unit
        found = [
            NamedNumber(f"difference of {compare_names(left, right)}", "", left.value - right.value, unit)
            for left, right in pairs
        ]
        return _all_between(found, self.low, self.high)


class RatioBetween(_TwoSides):
    """Left divided by right of each pair lies between `low` and `high`; without `high` it is at least `low`.

    Division by zero fails.
    """

    test: Literal["ratio_between"]
    low: float
    high: float = math.inf

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Check the ratios."""
        found = [
            NamedNumber(
                f"ratio of {compare_names(left, right)}",
                "",
                left.value / right.value if right.value else math.nan,
                "",
            )
            for left, right in self.pair_numbers(number)
        ]
        return _all_between(found, self.low, self.high)


class Between(_OneSide):
    """Every number lies between `low` and `high`."""

    test: Literal["between"]
    low: float
    high: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Check the numbers."""
        return _all_between(self.numbers.list_named(number), self.low, self.high)


class Within(_OneSide):
    """All numbers lie within `points` of each other."""

    test: Literal["within"]
    points: float

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the range of the numbers with `points`."""
        found = self.numbers.list_named(number)
        least, greatest = min(found, key=_value), max(found, key=_value)
        width = greatest.value - least.value
        return ClaimAnswer(
            width <= self.points + ROUNDING_MARGIN,
            f"The numbers lie within {format_difference(width, least.unit)}, from {least} to {greatest}. "
            f"The claim allows {format_difference(self.points, least.unit)}.",
        )


class Rises(_OneSide):
    """In the order written, no number falls by more than `slack`, and the last exceeds the first."""

    test: Literal["rises"]
    slack: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare each number with the next."""
        found = self.numbers.list_named(number)
        fall = max(before.value - after.value for before, after in itertools.pairwise(found))
        unit = found[0].unit
        return ClaimAnswer(
            fall <= self.slack and found[-1].value > found[0].value,
            f"From {found[0].name} to {found[-1].name}: "
            f"{join_words([format_amount(each.value, unit) for each in found])}. The largest fall is "
            f"{format_difference(max(fall, 0.0), unit)}; the claim allows {format_difference(self.slack, unit)}.",
        )


class LosesMore(StrictSettings):
    """From `before` to `after`, each number falls by more than its partner in the others, by more than `by`."""

    test: Literal["loses_more"]
    before: NumberSelection
    after: NumberSelection
    others_before: NumberSelection
    others_after: NumberSelection
    by: float = 0.0

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the losses in pairs."""
        losses = _list_losses(self.before, self.after, number)
        others = _list_losses(self.others_before, self.others_after, number)
        pairs = list(zip(losses, others, strict=True))
        return ClaimAnswer(
            all(loss.value > other.value + self.by for loss, other in pairs),
            f"Losses: {'; '.join(f'{loss} against {other}' for loss, other in pairs)}. "
            f"The claim needs a difference above {format_amount(self.by, losses[0].unit)} in each pair.",
        )


class VariesMore(_TwoSides):
    """The range of the numbers on the left is wider than that of the numbers on the right."""

    test: Literal["varies_more"]

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare the ranges."""
        ranges = []
        for found in (self.left.list_named(number), self.right.list_named(number)):
            least, greatest = min(found, key=_value), max(found, key=_value)
            width = greatest.value - least.value
            ranges.append((width, f"{format_difference(width, least.unit)}, from {least} to {greatest}"))
        (left, first), (right, second) = ranges
        return ClaimAnswer(left > right, f"The range is {first}, against {second}.")


class Significant(StrictSettings):
    """Every p-value is below the level; with `wanted: false`, none is."""

    test: Literal["significant"]
    p_values: NumberSelection
    level: float = 0.05
    wanted: bool = True

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compare each p-value with the level."""
        found = self.p_values.list_named(number)
        return ClaimAnswer(
            all((each.value < self.level) == self.wanted for each in found),
            capitalize(join_words([f"{each.name} is {each.value:.3g}" for each in found]))
            + f". The claim needs {'less than' if self.wanted else 'at least'} {self.level:g}.",
        )


class SignificantlyGreater(_TwoSides):
    """The mean on the left exceeds that on the right, significantly by Welch's t-test (two-sided).

    `left` and `right` select a mean and its standard deviation, over `repetitions` splits.
    """

    test: Literal["significantly_greater"]
    repetitions: int = Field(ge=2)
    level: float = 0.05

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Compute the t-test from means and standard deviations."""
        (left, left_sd), (right, right_sd) = self.left.list_named(number), self.right.list_named(number)
        p_value = _compute_welch_p(left.value - right.value, left_sd.value, right_sd.value, self.repetitions)
        return ClaimAnswer(
            left.value > right.value and p_value < self.level,
            compare_two(left, right)[:-1]
            + f"; p = {p_value:.2g} over {self.repetitions} splits. The claim needs less than {self.level:g}.",
        )


ClaimTest = Annotated[
    AllGreater
    | PairwiseGreater
    | Near
    | Within
    | Between
    | DifferenceBetween
    | LosesMore
    | RatioBetween
    | Rises
    | Significant
    | SignificantlyGreater
    | VariesMore,
    Field(discriminator="test"),
]


SHOWN_PAIRS = 3
"""How many exceptions a sentence lists."""


def _value(named: NamedNumber) -> float:
    return named.value


def _pair_numbers(
    left: NumberSelection, right: NumberSelection, number: Lookup
) -> list[tuple[NamedNumber, NamedNumber]]:
    ours, theirs = left.list_named(number), right.list_named(number)
    if len(theirs) == 1:
        theirs = theirs * len(ours)
    return list(zip(ours, theirs, strict=True))


def _list_losses(before: NumberSelection, after: NumberSelection, number: Lookup) -> list[NamedNumber]:
    return [
        NamedNumber(
            first.measure,
            first.run,
            first.value - second.value,
            "points" if first.unit == "%" else first.unit,
        )
        for first, second in _pair_numbers(before, after, number)
    ]


def _all_between(found: Sequence[NamedNumber], low: float, high: float) -> ClaimAnswer:
    unit = found[0].unit
    ends = found if len(found) <= SHOWN_PAIRS else [min(found, key=_value), max(found, key=_value)]
    listed = [f"{each.name} is {format_amount(each.value, unit)}" for each in ends]
    sentence = f"Of {len(found)} numbers the extremes: " if len(ends) < len(found) else ""
    return ClaimAnswer(
        all(low - ROUNDING_MARGIN <= each.value <= high + ROUNDING_MARGIN for each in found),
        f"{capitalize(sentence + '; '.join(listed))}. The claim needs {describe_range(low, high, unit)}.",
    )


def _compute_welch_p(difference: float, left_sd: float, right_sd: float, repetitions: int) -> float:
    """Return the two-sided p-value of Welch's t-test for two means over equally many repetitions."""
    from scipy.special import stdtr  # noqa: PLC0415

    left, right = left_sd**2 / repetitions, right_sd**2 / repetitions
    if left + right == 0:
        return 0.0 if difference else 1.0
    freedom = (left + right) ** 2 * (repetitions - 1) / (left**2 + right**2)
    return float(2 * stdtr(freedom, -abs(difference) / math.sqrt(left + right)))
