"""Names, units and sentences for the numbers of a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textcat.yaml_reader import read_packaged_yaml

_WORDS: dict[str, Any] = read_packaged_yaml("published/measure_names.yaml")


@dataclass(frozen=True)
class NamedNumber:
    """A number with its unit and what it is: a measure such as "micro F1", and the run it is of, such as "svm"."""

    measure: str
    run: str
    value: float
    unit: str

    @property
    def name(self) -> str:
        """Measure and run in words."""
        return f"{self.measure} of {self.run}" if self.run else self.measure

    def __str__(self) -> str:
        return f"{self.name} ({format_amount(self.value, self.unit)})"


def find_unit(measure: str) -> str:
    """Return the unit of a measure; empty for numbers without one."""
    if measure in _WORDS["units"]:
        return str(_WORDS["units"][measure])
    if measure.endswith("seconds"):
        return "s"
    parts = measure.split(".")
    kind = parts[1] if parts[0] in ("micro", "macro") else parts[-1]
    percentage = kind in _WORDS["percentages"] or kind.startswith("train_f1")
    return "%" if percentage and parts[0] in ("micro", "macro", "category") else ""


def name_measure(measure: str) -> str:
    """Return the name of a measure in words."""
    names: dict[str, str] = _WORDS["names"]
    if measure in names:
        return names[measure]
    first, *others = measure.split(".")
    if first == "category":
        return f"{names.get(others[-1], others[-1])} of {'.'.join(others[:-1])}"
    if first in ("micro", "macro"):
        return " ".join([first, *(names.get(part, part) for part in others)])
    return measure.replace(".", " ").replace("_", " ")


def format_amount(value: float, unit: str) -> str:
    """Format a number with its unit, such as "2 points" or "1 point"."""
    unit = unit[:-1] if value == 1 and len(unit) > 1 else unit
    digits = ".4g" if abs(value) < 1 and unit not in ("%", "points") else ".2f"
    text = format(value, ".0f" if float(value).is_integer() else digits)
    return f"{text} {unit}".rstrip()


def format_difference(value: float, unit: str) -> str:
    """Format a difference of two numbers; between percentages it is in points."""
    return format_amount(value, "points" if unit == "%" else unit)


def describe_bounds(
    above: float | None, below: float | None, low: float | None, high: float | None, unit: str
) -> str:
    """Return "at least 2 points", "78 to 82 %", "more than 0 points" or, for equal bounds, "0 topics"."""
    if low is not None and high is not None:
        return format_amount(high, unit) if low == high else f"{low:g} to {format_amount(high, unit)}"
    bounds = (("more than", above), ("less than", below), ("at least", low), ("at most", high))
    found = [f"{words} {format_amount(bound, unit)}" for words, bound in bounds if bound is not None]
    return " and ".join(found) or f"more than {format_amount(0.0, unit)}"


def compare_names(left: NamedNumber, right: NamedNumber) -> str:
    """Name two numbers; what they have in common is said once."""
    values = [format_amount(each.value, each.unit) for each in (left, right)]
    if left.measure == right.measure:
        return f"{left.measure} of {left.run} ({values[0]}) and {right.run} ({values[1]})"
    if left.run == right.run:
        return f"{left.measure} ({values[0]}) and {right.measure} ({values[1]}) of {left.run}"
    return f"{left} and {right}"


def join_words(parts: Sequence[str]) -> str:
    """Join as "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def capitalize(sentence: str) -> str:
    """Return the sentence with a capital first letter."""
    return sentence[:1].upper() + sentence[1:]
