"""Two methods on the same documents: what differs in each category, and whether it is more than chance.

By category McNemar's exact test on the documents that only one side decides rightly, with p-values also
adjusted for the number of categories (Benjamini & Hochberg, 1995). Over all categories the tests of Yang & Liu
(SIGIR 1999), Wilcoxon's test on the numbers of errors, and bootstrap intervals. All p-values are two-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from textcat.evaluation.bootstrap import PairedIntervals, paired_bootstrap
from textcat.evaluation.contingency import Bools, Contingency, Ints, contingency
from textcat.evaluation.measures import Floats, ZeroDivision, f1
from textcat.evaluation.significance import (
    PairedTest,
    SignedRank,
    macro_sign_test,
    macro_t_test,
    micro_sign_test,
    wilcoxon_signed_rank,
)


@dataclass(frozen=True)
class Discordant:
    """By category: documents that only the left or only the right side decides rightly, p and adjusted p."""

    only_left: Ints
    only_right: Ints
    p_value: Floats
    adjusted: Floats


@dataclass(frozen=True)
class Comparison:
    """Left against right; what needs the single decisions is None where only their counts are known."""

    categories: Sequence[str]
    left: Contingency
    right: Contingency
    left_f1: Floats
    right_f1: Floats
    macro_sign: PairedTest
    macro_t: PairedTest
    wilcoxon: SignedRank
    discordant: Discordant | None = None
    micro_sign: PairedTest | None = None
    intervals: dict[str, PairedIntervals] | None = None


def compare_counts(
    left: Contingency, right: Contingency, categories: Sequence[str], zero_division: ZeroDivision = 1
) -> Comparison:
    """What the contingency tables alone tell."""
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
    """All tests, on decisions of both sides about the same documents."""
    counted = compare_counts(contingency(left, labels), contingency(right, labels), categories, zero_division)
    return Comparison(
        **vars(counted)
        | {
            "discordant": discordant(left, right, labels),
            "micro_sign": micro_sign_test(left, right, labels),
            "intervals": paired_bootstrap(
                left, right, labels, seed=seed, zero_division=zero_division, samples=samples
            ),
        }
    )


def discordant(left: Bools, right: Bools, labels: Bools) -> Discordant:
    """McNemar's exact test in every category; where no document is decided differently p is 1."""
    left_right, right_right = left == labels, right == labels
    only_left = np.count_nonzero(left_right & ~right_right, axis=0).astype(np.int64)
    only_right = np.count_nonzero(right_right & ~left_right, axis=0).astype(np.int64)
    fewer, both = np.minimum(only_left, only_right), only_left + only_right
    p_value = np.minimum(1.0, 2.0 * stats.binom.cdf(fewer, both, 0.5))
    adjusted = stats.false_discovery_control(p_value) if len(p_value) else p_value
    return Discordant(only_left, only_right, p_value, np.asarray(adjusted))
