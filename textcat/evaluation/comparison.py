"""Compare two methods on the same documents: differences per category, and their significance.

Per category: McNemar's exact test on the documents that only one side decides correctly, with p-values also
adjusted for the number of categories (Benjamini & Hochberg, 1995). Over all categories: the tests of Yang & Liu
(SIGIR 1999), Wilcoxon's test on the numbers of errors, and bootstrap intervals. All p-values are two-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textcat.evaluation.measures import (
    Bools,
    ContingencyTable,
    Floats,
    Ints,
    ZeroDivision,
    count_contingency,
    f1,
    macro_f1,
    micro_f1,
    replace_nan,
)
from textcat.evaluation.significance import (
    PairedIntervals,
    PairedTest,
    SignedRank,
    macro_sign_test,
    macro_t_test,
    micro_sign_test,
    paired_bootstrap,
    wilcoxon_signed_rank,
)


@dataclass(frozen=True)
class DiscordantCounts:
    """Per category: documents that only the left or only the right side decides correctly, p and adjusted p."""

    only_left: Ints
    only_right: Ints
    p_value: Floats
    adjusted: Floats


@dataclass(frozen=True)
class Comparison:
    """Left against right; tests that need single decisions are None if only counts are known."""

    categories: Sequence[str]
    left: ContingencyTable
    right: ContingencyTable
    left_f1: Floats
    right_f1: Floats
    macro_sign: PairedTest
    macro_t: PairedTest
    wilcoxon: SignedRank
    discordant: DiscordantCounts | None = None
    micro_sign: PairedTest | None = None
    intervals: dict[str, PairedIntervals] | None = None


def compare_counts(
    left: ContingencyTable,
    right: ContingencyTable,
    categories: Sequence[str],
    zero_division: ZeroDivision = 1,
) -> Comparison:
    """Run the tests that need contingency tables only."""
    left_f1, right_f1 = f1(left, zero_division), f1(right, zero_division)
    return Comparison(
        categories, left, right, left_f1, right_f1,
        macro_sign=macro_sign_test(left_f1, right_f1),
        macro_t=macro_t_test(left_f1, right_f1),
        wilcoxon=wilcoxon_signed_rank(left.errors, right.errors),
    )  # fmt: skip


def compare_decisions(
    left: Bools,
    right: Bools,
    labels: Bools,
    categories: Sequence[str],
    *,
    seed: int,
    samples: int = 1000,
    zero_division: ZeroDivision = 1,
) -> Comparison:
    """Run all tests on the decisions of both sides for the same documents."""
    counted = compare_counts(
        count_contingency(left, labels), count_contingency(right, labels), categories, zero_division
    )
    return Comparison(
        **vars(counted)
        | {
            "discordant": count_discordant(left, right, labels),
            "micro_sign": micro_sign_test(left, right, labels),
            "intervals": paired_bootstrap(
                left, right, labels, seed=seed, zero_division=zero_division, samples=samples
            ),
        }
    )


def count_discordant(left: Bools, right: Bools, labels: Bools) -> DiscordantCounts:
    """Run McNemar's exact test in every category; p is 1 if no document is decided differently."""
    left_correct, right_correct = left == labels, right == labels
    only_left = np.count_nonzero(left_correct & ~right_correct, axis=0).astype(np.int64)
    only_right = np.count_nonzero(right_correct & ~left_correct, axis=0).astype(np.int64)
    fewer, both = np.minimum(only_left, only_right), only_left + only_right
    from scipy import stats  # noqa: PLC0415 - takes long to import

    p_value = np.minimum(1.0, 2.0 * stats.binom.cdf(fewer, both, 0.5))
    adjusted = stats.false_discovery_control(p_value) if len(p_value) else p_value
    return DiscordantCounts(only_left, only_right, p_value, np.asarray(adjusted))


def describe_overall(comparison: Comparison, zero_division: ZeroDivision) -> dict[str, Any]:
    """Return micro and macro F1 of both sides, the difference and its interval."""
    facts = {}
    for name, measure in (("micro.f1", micro_f1), ("macro.f1", macro_f1)):
        left, right = (measure(table, zero_division) for table in (comparison.left, comparison.right))
        found = {"left": left, "right": right, "difference": left - right}
        if comparison.intervals:
            interval = comparison.intervals[name].difference
            found |= {"low": interval.low, "high": interval.high}
        facts[name] = replace_nan(found)
    return facts


def describe_tests(comparison: Comparison) -> dict[str, dict[str, float | int | None]]:
    """Return for each test how often either side is better, and the two-sided p."""
    paired = {
        "micro sign test": comparison.micro_sign,
        "macro sign test": comparison.macro_sign,
        "macro t-test": comparison.macro_t,
    }
    found = {
        name: (test.left_better, test.right_better, test.two_sided)
        for name, test in paired.items()
        if test is not None
    }
    wilcoxon = comparison.wilcoxon
    found["Wilcoxon, errors"] = (wilcoxon.left_less, wilcoxon.left_more, wilcoxon.p_value)
    return {
        name: {"left_better": left, "right_better": right, **replace_nan({"p": p})}
        for name, (left, right, p) in found.items()
    }


def describe_categories(comparison: Comparison) -> list[dict[str, Any]]:
    """Return one row per category."""
    left, right = comparison.left, comparison.right
    rows = []
    for k, name in enumerate(comparison.categories):
        row: dict[str, Any] = {
            "category": name,
            "documents": int(left.tp[k] + left.fn[k]),
            **replace_nan(
                {"left_f1": float(comparison.left_f1[k]), "right_f1": float(comparison.right_f1[k])}
            ),
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
