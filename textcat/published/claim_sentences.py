"""Names, units and sentences for the numbers of a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textcat.yaml_reader import read_packaged_yaml

_WORDS: dict[str, Any] = read_packaged_yaml("published/measure_names.yaml")


@dataclass(frozen=True)
class NamedNumber:
    """A number with its unit and a name such as "svm, micro F1"."""

    name: str
    value: float
    unit: str

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
    """Format a number with its unit."""
    digits = ".4g" if abs(value) < 1 and unit not in ("%", "points") else ".2f"
    text = format(value, ".0f" if float(value).is_integer() else digits)
    return f"{text} {unit}".rstrip()


def format_difference(value: float, unit: str) -> str:
    """Format a difference of two numbers; between percentages it is in points."""
    return format_amount(value, "points" if unit == "%" else unit)


def join_words(parts: Sequence[str]) -> str:
    """Join as "a, b and c"."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def compare_two(left: NamedNumber, right: NamedNumber, by: float = 0.0, of: int = 1) -> str:
    """Return a sentence that compares two numbers; `of` is how many `left` is the lowest of."""
    difference = left.value - right.value
    relation = "equal to" if difference == 0 else "above" if difference > 0 else "below"
    distance = "" if difference == 0 else f"{format_difference(abs(difference), left.unit)} "
    start = f"The lowest of {of}, {left}," if of > 1 else f"{left}"
    claimed = ""
    if by > 0:
        claimed = f"; more than {format_difference(by, left.unit)} above is claimed"
    elif by < 0:
        claimed = f"; up to {format_difference(-by, left.unit)} below is allowed"
    return capitalize(f"{start} is {distance}{relation} {right}{claimed}.")


def capitalize(sentence: str) -> str:
    """Return the sentence with a capital first letter."""
    return sentence[:1].upper() + sentence[1:]
