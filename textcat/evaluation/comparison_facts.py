"""A comparison as JSON-able data; what is undefined or not known is None."""

from __future__ import annotations

import math
from typing import Any

from textcat.evaluation.comparison import Comparison
from textcat.evaluation.measures import ZeroDivision, macro_f1, micro_f1
from textcat.evaluation.significance import PairedTest


def overall_facts(comparison: Comparison, zero_division: ZeroDivision) -> dict[str, Any]:
    """Micro and macro F1 of both sides, the difference and its interval."""
    facts = {}
    for name, measure in (("micro.f1", micro_f1), ("macro.f1", macro_f1)):
        left, right = (measure(table, zero_division) for table in (comparison.left, comparison.right))
        facts[name] = {"left": _known(left), "right": _known(right), "difference": _known(left - right)}
        if comparison.intervals:
            interval = comparison.intervals[name].difference
            facts[name]["low"], facts[name]["high"] = _known(interval.low), _known(interval.high)
    return facts


def facts_of_tests(comparison: Comparison) -> dict[str, dict[str, float | int | None]]:
    """Of each test how often either side is better, and the two-sided p."""
    wilcoxon = comparison.wilcoxon
    tests = {} if comparison.micro_sign is None else {"micro sign test": _paired(comparison.micro_sign)}
    return {
        **tests,
        "macro sign test": _paired(comparison.macro_sign),
        "macro t-test": _paired(comparison.macro_t),
        "Wilcoxon, errors": {
            "left_better": wilcoxon.left_less,
            "right_better": wilcoxon.left_more,
            "p": _known(wilcoxon.p_value),
        },
    }


def category_facts(comparison: Comparison) -> list[dict[str, Any]]:
    """A row a category, in the order of the categories."""
    left, right = comparison.left, comparison.right
    rows = []
    for k, name in enumerate(comparison.categories):
        row: dict[str, Any] = {
            "category": name,
            "documents": int(left.tp[k] + left.fn[k]),
            "left_f1": _known(comparison.left_f1[k]),
            "right_f1": _known(comparison.right_f1[k]),
            "left_errors": int(left.errors[k]),
            "right_errors": int(right.errors[k]),
        }
        if comparison.discordant:
            row |= {
                "only_left_is_right": int(comparison.discordant.only_left[k]),
                "only_right_is_right": int(comparison.discordant.only_right[k]),
                "p": float(comparison.discordant.p_value[k]),
                "p_adjusted": float(comparison.discordant.adjusted[k]),
            }
        rows.append(row)
    return rows


def _paired(test: PairedTest) -> dict[str, float | int | None]:
    return {
        "left_better": test.left_better,
        "right_better": test.right_better,
        "p": _known(test.two_sided),
    }


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
