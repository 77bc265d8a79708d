"""One comparator for what papers conclude: numbers of the results, what is compared of them, and its bounds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field, model_validator

from textcat.published.claim_sentences import (
    NamedNumber,
    capitalize,
    compare_names,
    describe_bounds,
    find_unit,
    format_amount,
    format_difference,
    join_words,
    name_measure,
)
from textcat.published.verdicts import ROUNDING_MARGIN
from textcat.settings import StrictSettings

SHOWN = 3
"""How many numbers a sentence lists."""

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

    Each field is one name or a list; lists are multiplied in the order written. `minus` is subtracted from each number:
    another measure of the same run, or other numbers in the same order.
    """

    experiment: NameOrNames
    run: NameOrNames
    measure: NameOrNames
    minus: str | NumberSelection | None = None

    def list_places(self) -> list[ResultPlace]:
        """Return the addresses of the selected numbers, without those subtracted."""
        names = (_as_tuple(self.experiment), _as_tuple(self.run), _as_tuple(self.measure))
        return [ResultPlace(*combination) for combination in itertools.product(*names)]

    def list_all_places(self) -> list[ResultPlace]:
        """Return the addresses of the selected numbers, then of those subtracted from them."""
        found = self.list_places()
        if isinstance(self.minus, NumberSelection):
            return found + self.minus.list_places()
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
        name = name_measure(place.measure)
        if isinstance(self.minus, NumberSelection):
            places = ", ".join(_as_tuple(self.minus.experiment))
            return f"{name} less that in {places}"
        return f"{name} less {name_measure(self.minus)}" if self.minus else name

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


@dataclass(frozen=True)
class Compared:
    """A number that must lie within the bounds of a test, its unit, and what it is in words."""

    value: float
    unit: str
    words: str


class ClaimTest(StrictSettings):
    """Numbers that must lie within bounds; without a bound they must be above 0.

    `above` and `below` are strict, `low` and `high` are allowed values up to the rounding of binary fractions.
    `compare` says what is held against them; a single number on the right is paired with every left one:

    numbers     each number on the left
    pairs       left minus right of each pair; with `at_least`, so many pairs are enough
    extremes    the lowest on the left minus the highest on the right
    distance    the largest distance of a pair
    ratios      left divided by right of each pair; division by zero fails
    steps       the least difference of a number on the left from the one before it
    range       the highest minus the lowest on the left; with `right`, minus that of the right
    t_test      the two-sided p-value of Welch's t-test, 1 where the left mean is not greater; both sides select a mean
                and its standard deviation over `repetitions` splits
    """

    compare: Literal["numbers", "pairs", "extremes", "distance", "ratios", "steps", "range", "t_test"]
    left: NumberSelection
    right: NumberSelection | None = None
    above: float | None = None
    below: float | None = None
    low: float | None = None
    high: float | None = None
    at_least: int | None = None
    repetitions: int | None = Field(default=None, ge=2)

    @model_validator(mode="after")
    def _check_sides(self) -> ClaimTest:
        if self.compare != "range" and (self.right is None) != (self.compare in ("numbers", "steps")):
            raise ValueError(f"{self.compare} {'needs' if self.right is None else 'has no'} `right`")
        if (self.repetitions is None) == (self.compare == "t_test"):
            raise ValueError("`repetitions` are for a t_test, which needs them")
        return self

    def answer(self, number: Lookup) -> ClaimAnswer:
        """Hold what is compared against the bounds; `number` looks up one address."""
        found = list(self._compare(self.left.list_named(number), self._name_right(number)))
        lost = [each for each in found if not self._holds(each.value)]
        wanted = len(found) if self.at_least is None else self.at_least
        won, sentence = len(found) - len(lost), ""
        shown = found
        if len(found) > SHOWN or self.at_least is not None:
            ordered = sorted(found, key=lambda each: each.value)
            shown = lost[:SHOWN] or [ordered[0], ordered[-1]][: len(found)]
            what = "exceptions" if lost else "the extremes"
            sentence = f"{won} of {len(found)} hold and {wanted} must; {what}: "
        sentence += "; ".join(each.words for each in shown)
        more = f"; {len(lost) - SHOWN} more" if len(shown) < len(lost) else ""
        bounds = describe_bounds(self.above, self.below, self.low, self.high, found[0].unit)
        return ClaimAnswer(won >= wanted, f"{capitalize(sentence)}{more}. The claim needs {bounds}.")

    def _name_right(self, number: Lookup) -> list[NamedNumber]:
        return [] if self.right is None else self.right.list_named(number)

    def _holds(self, value: float) -> bool:
        if self.above is self.below is self.low is self.high is None:
            return value > 0
        return (
            (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
            and (self.low is None or value >= self.low - ROUNDING_MARGIN)
            and (self.high is None or value <= self.high + ROUNDING_MARGIN)
        )

    def _compare(self, left: list[NamedNumber], right: list[NamedNumber]) -> Iterator[Compared]:
        unit = "points" if left[0].unit == "%" else left[0].unit
        if self.compare == "numbers":
            for each in left:
                yield Compared(
                    each.value, each.unit, f"{each.name} is {format_amount(each.value, each.unit)}"
                )
        elif self.compare == "pairs":
            yield from (_subtract(one, other, unit) for one, other in _pair(left, right))
        elif self.compare == "extremes":
            lowest, highest = min(left, key=_value), max(right, key=_value)
            yield _subtract(lowest, highest, unit, f"the lowest of {len(left)}, " if len(left) > 1 else "")
        elif self.compare == "distance":
            distances = [_subtract(one, other, unit) for one, other in _pair(left, right)]
            far = max(distances, key=lambda each: abs(each.value))
            yield replace(far, value=abs(far.value))
        elif self.compare == "ratios":
            for one, other in _pair(left, right):
                ratio = one.value / other.value if other.value else math.nan
                yield Compared(
                    ratio, "", f"ratio of {compare_names(one, other)} is {format_amount(ratio, '')}"
                )
        elif self.compare == "steps":
            step = min(after.value - before.value for before, after in itertools.pairwise(left))
            amounts = join_words([format_amount(each.value, each.unit) for each in left])
            words = f"from {left[0].name} to {left[-1].name}: {amounts}, with a least step of"
            yield Compared(step, unit, f"{words} {format_difference(step, unit)}")
        elif self.compare == "range":
            first, second = _span(left), _span(right) if right else Compared(0.0, unit, "")
            words = f"the range is {first.words}" + (f", against {second.words}" if right else "")
            yield Compared(first.value - second.value, unit, words)
        else:
            (mean, sd), (other_mean, other_sd) = left, right
            difference, splits = mean.value - other_mean.value, self.repetitions or 0
            p_value = _compute_welch_p(difference, sd.value, other_sd.value, splits)
            words = f"{_subtract(mean, other_mean, unit).words}, p = {p_value:.2g} over {splits} splits"
            yield Compared(p_value if difference > 0 else 1.0, "", words)


def _pair(left: list[NamedNumber], right: list[NamedNumber]) -> Iterator[tuple[NamedNumber, NamedNumber]]:
    return zip(left, right * len(left) if len(right) == 1 else right, strict=True)


def _subtract(left: NamedNumber, right: NamedNumber, unit: str, first: str = "") -> Compared:
    """Return left minus right; in words, how far left is above or below right."""
    difference = left.value - right.value
    relation = "equal to" if difference == 0 else "above" if difference > 0 else "below"
    distance = f"{format_difference(abs(difference), unit)} " if difference else ""
    return Compared(difference, unit, f"{first}{left}{',' if first else ''} is {distance}{relation} {right}")


def _span(found: list[NamedNumber]) -> Compared:
    """Return the distance between the lowest and the highest number."""
    lowest, highest = min(found, key=_value), max(found, key=_value)
    width, unit = highest.value - lowest.value, lowest.unit
    return Compared(width, unit, f"{format_difference(width, unit)}, from {lowest} to {highest}")


def _value(named: NamedNumber) -> float:
    return named.value


def _compute_welch_p(difference: float, left_sd: float, right_sd: float, repetitions: int) -> float:
    """Return the two-sided p-value of Welch's t-test for two means over equally many repetitions."""
    from scipy.special import stdtr  # noqa: PLC0415

    left, right = left_sd**2 / repetitions, right_sd**2 / repetitions
    if left + right == 0:
        return 0.0 if difference else 1.0
    freedom = (left + right) ** 2 * (repetitions - 1) / (left**2 + right**2)
    return float(2 * stdtr(freedom, -abs(difference) / math.sqrt(left + right)))
