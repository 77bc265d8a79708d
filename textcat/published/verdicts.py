"""The verdict on a measured number, compared with the printed one.

- `reproduced`: within the tolerance of the number's kind.
- `close`: within twice the tolerance.
- `above`: higher than printed by more than `close`. It is a miss like `differs`: the cause is something the paper did
  not do, and it needs an explanation like any other deviation.
- `differs`: lower than printed by more than `close`, or different where numbers have no order (such as directions).
- `missing`: not available or not a number. Never counted as 0.
- `ungated`: shown, but of a kind that is not judged (seconds, ties).

A printed number represents all numbers that round to it: 86.9 means 86.85 to 86.95, `about 90` means 89.5 to 90.5.
The distance is measured to that interval; the measured number is not rounded. Kinds and tolerances are defined in
tolerances.yaml.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from textcat.errors import UsageError
from textcat.published.printed_tables import Unit
from textcat.settings import StrictSettings
from textcat.yaml_reader import read_packaged_yaml

Verdict = Literal["reproduced", "close", "differs", "above", "missing", "ungated"]
ComparisonRule = Literal["points", "relative", "ratio", "decades", "side", "sign", "none"]

# Tolerance for the rounding of binary fractions in comparisons.
ROUNDING_MARGIN = 1e-9

_POWER_OF_TEN = re.compile(r"10\^\{?(-?\d+)\}?")
_NUMBER = re.compile(r"-?(\d[\d,]*)?(\.\d+)?")


class MeasureKind(StrictSettings):
    """How numbers of one kind are compared; tolerances.yaml explains the fields."""

    rule: ComparisonRule
    tolerance: float = 0.0
    close: float | None = None
    at_least: float = 0.0
    at_most: float = math.inf
    gated: bool = True
    drift: float = 0.05


@dataclass(frozen=True)
class PrintedNumber:
    """A printed number in the unit of our measures, and half a unit of its last digit."""

    value: float
    half_unit: float


@cache
def load_measure_kinds() -> dict[str, MeasureKind]:
    """Load every kind of measure by name."""
    return {
        name: MeasureKind.model_validate(entry)
        for name, entry in read_packaged_yaml("published/tolerances.yaml").items()
    }


def find_measure_kind(name: str) -> MeasureKind:
    """Return one kind of measure; raise UsageError if tolerances.yaml does not define it."""
    found = load_measure_kinds().get(name)
    if found is None:
        raise UsageError(
            f"unknown kind of measure '{name}'",
            where="tolerances.yaml",
            hint="Add it there, or use a defined kind.",
        )
    return found


def read_printed(printed: str, unit: Unit) -> PrintedNumber:
    """Parse a printed number; fractions become percentages, powers of ten become values."""
    text = printed.strip()
    power = _POWER_OF_TEN.fullmatch(text)
    if unit == "power_of_ten":
        if power is None:
            raise UsageError(
                f"'{printed}' is not a power of ten such as 10^-3", hint="Correct it, or change the unit."
            )
        return PrintedNumber(10.0 ** int(power.group(1)), 0.0)
    if unit == "text" or not _NUMBER.fullmatch(text) or not any(c.isdigit() for c in text):
        raise UsageError(
            f"'{printed}' is not a printed number of unit {unit}",
            hint="Write it as the paper prints it, or change the unit.",
        )
    plain = text.replace(",", "")
    decimals = len(plain.partition(".")[2])
    scale = 100.0 if unit == "fraction" else 1.0
    # A printed count is exact; any other number was rounded.
    half_unit = 0.0 if unit == "count" and decimals == 0 else 0.5 * 10.0**-decimals
    return PrintedNumber(float(plain) * scale, half_unit * scale)


def describe_tolerances(kinds: Iterable[str]) -> str:
    """Say within what distance numbers of these kinds are reproduced and close; an empty text if none is judged."""
    by_rule: dict[str, list[str]] = {}
    for name in dict.fromkeys(kinds):
        kind = find_measure_kind(name)
        if kind.gated and kind.rule != "none":
            words = name.replace("_", " ").replace("f1", "F1").replace("bep", "BEP")
            by_rule.setdefault(_describe_tolerance(kind), []).append(words)
    return "; ".join(f"{', '.join(names)}: {rule}" for rule, names in by_rule.items())


def _describe_tolerance(kind: MeasureKind) -> str:
    """Say the tolerance of a kind, then what is close."""
    tolerance, close = kind.tolerance, kind.close
    if kind.rule == "points":
        points = "1 point" if tolerance == 1 else f"{tolerance:g} points"
        return f"{points}, close {2 * tolerance if close is None else close:g}"
    if kind.rule == "relative":
        bounds = f", at least {kind.at_least:g}" if kind.at_least else ""
        bounds += f", at most {kind.at_most:g}" if math.isfinite(kind.at_most) else ""
        near = "twice that" if close is None else f"{100 * close:g} %"
        share = f"{100 * tolerance:g} % of the printed number" if tolerance else "equal"
        return f"{share}{bounds}, close {near}"
    if kind.rule == "ratio":
        return f"a factor of {tolerance:g}, close {tolerance**2 if close is None else close:g}"
    return {
        "decades": "the same power of ten, close one apart",
        "side": f"on the same side of {tolerance:g}",
        "sign": "the larger of two is the larger, close if two are equal",
    }[kind.rule]


def judge_number(measured: float | None, printed: str | None, kind: str, unit: Unit) -> Verdict:
    """Return the verdict on one measured number; for `sign` kinds see `judge_direction`."""
    judged = find_measure_kind(kind)
    if measured is None or math.isnan(measured):
        return "missing"
    if printed is None or not judged.gated or judged.rule in ("none", "sign"):
        return "ungated"
    number = read_printed(printed, unit)
    if judged.rule == "side":
        level = judged.tolerance
        return "reproduced" if (measured < level) == (number.value < level) else "differs"
    if judged.rule == "decades":
        return _judge_decades(measured, number.value)
    if judged.rule == "ratio":
        return _judge_ratio(measured, number, judged)
    return _judge_distance(measured, number, judged)


def judge_direction(
    left: float | None, right: float | None, printed_left: str, printed_right: str
) -> Verdict:
    """Return the verdict on a pair of counts: is the larger measured count also the larger printed one?"""
    if left is None or right is None or math.isnan(left) or math.isnan(right):
        return "missing"
    printed = read_printed(printed_left, "count").value - read_printed(printed_right, "count").value
    ours = left - right
    if (ours > 0) == (printed > 0) and (ours < 0) == (printed < 0):
        return "reproduced"
    # A tie on one side only counts as close; opposite directions differ.
    return "close" if ours == 0 or printed == 0 else "differs"


def subtract_printed(measured: float | None, printed: str | None, unit: Unit) -> float | None:
    """Return measured minus printed, or None if either is not a number."""
    if measured is None or printed is None or unit == "text" or math.isnan(measured):
        return None
    return measured - read_printed(printed, unit).value


def _judge_decades(measured: float, printed: float) -> Verdict:
    if measured <= 0:
        return "differs"
    apart = abs(math.log10(measured) - math.log10(printed))
    if apart <= ROUNDING_MARGIN:
        return "reproduced"
    return "close" if apart <= 1 + ROUNDING_MARGIN else "differs"


def _judge_ratio(measured: float, number: PrintedNumber, judged: MeasureKind) -> Verdict:
    """Compare by quotient, measured over printed or the reverse, of the nearest number that prints the same."""
    if measured <= 0:
        return "differs"
    over = measured / (number.value + number.half_unit)
    under = (number.value - number.half_unit) / measured
    ratio = max(over, under, 1.0)
    close = judged.tolerance**2 if judged.close is None else judged.close
    if ratio <= judged.tolerance + ROUNDING_MARGIN:
        return "reproduced"
    if ratio <= close + ROUNDING_MARGIN:
        return "close"
    return "above" if over > under else "differs"


def _judge_distance(measured: float, number: PrintedNumber, judged: MeasureKind) -> Verdict:
    distance = max(0.0, abs(measured - number.value) - number.half_unit)
    scale = abs(number.value) if judged.rule == "relative" else 1.0
    tolerance = min(max(judged.tolerance * scale, judged.at_least), judged.at_most)
    close = 2 * tolerance if judged.close is None else judged.close * scale
    if distance <= tolerance + ROUNDING_MARGIN:
        return "reproduced"
    if distance <= close + ROUNDING_MARGIN:
        return "close"
    return "above" if measured > number.value else "differs"
