"""Names, units and sentences for the numbers of a claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_MEASURES = {
    "bep": "break-even point",
    "f1": "F1",
    "f1_of_means": "F1",
    "error_rate": "error rate",
    "train_f1": "F1 in training",
    "train_f1_at_0": "F1 before training",
    "train_f1_at_150": "F1 in training after 150 iterations",
    "train_seconds": "training time",
    "training.processor_seconds": "processor time of training",
    "svm_objective": "SVM objective",
    "accuracy.mean": "accuracy",
    "training.objective": "objective",
    "training.gap": "duality gap",
    "features.max": "most features kept for a topic",
    "features.mean": "mean number of features kept",
    "features.constants_dropped": "topics with a dropped constant",
    "features.correlation_with_positives": "correlation of features with positive documents",
    "comparison.fewer": "topics with fewer errors",
    "comparison.more": "topics with more errors",
    "comparison.p_value": "p-value",
    "margins.kurtosis": "kurtosis of the margins",
    "margins.overlap": "overlap of the histograms",
    "curve.area": "area under the curve",
    "scaling.exponent": "exponent of the training time",
    "approximation.least_excess": "least excess of the objective",
    "approximation.greatest_excess_times_gamma": "greatest excess of the objective times gamma",
}
_PARTS = {"top10": " over the ten largest topics", "rest": " over the other topics"}
_PERCENTAGES = {"bep", "f1", "f1_of_means", "precision", "recall", "error_rate", "train_f1"}
_UNITS = {
    "accuracy.mean": "%",
    "margins.overlap": "%",
    "curve.area": "%",
    "features.max": "features",
    "features.mean": "features",
    "features.constants_dropped": "topics",
    "comparison.fewer": "topics",
    "comparison.more": "topics",
}


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
    if measure in _UNITS:
        return _UNITS[measure]
    if measure.endswith("seconds"):
        return "s"
    parts = measure.split(".")
    kind = parts[1] if parts[0] in ("micro", "macro") else parts[-1]
    percentage = kind in _PERCENTAGES or kind.startswith("train_f1")
    return "%" if percentage and parts[0] in ("micro", "macro", "category") else ""


def name_measure(measure: str) -> str:
    """Return the name of a measure in words."""
    if measure in _MEASURES:
        return _MEASURES[measure]
    parts = measure.split(".")
    if parts[0] == "category":
        return f"{_MEASURES.get(parts[-1], parts[-1])} of {'.'.join(parts[1:-1])}"
    if parts[0] in ("micro", "macro") and len(parts) > 1:
        return f"{parts[0]} {_MEASURES.get(parts[1], parts[1])}" + "".join(
            _PARTS.get(p, f" {p}") for p in parts[2:]
        )
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
