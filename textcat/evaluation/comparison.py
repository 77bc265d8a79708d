"""Compare two methods on the same documents: differences per category, significance, and bootstrap intervals.

Per category: McNemar's exact test on the documents that only one side decides correctly, with p-values also
adjusted for the number of categories (Benjamini & Hochberg, 1995). Over all categories: Wilcoxon's signed-rank test on
the numbers of errors, as in genkin_2004; micro sign test, macro sign test and macro t-test of Yang & Liu (SIGIR 1999);
bootstrap intervals of the differences of micro and macro F1. All p-values of a comparison are
two-sided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from textcat.errors import UsageError
from textcat.evaluation.intervals import INTERVAL_ENDS, count_resampled
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

MAX_EXACT_SAMPLE = 12


@dataclass(frozen=True)
class SignedRank:
    """How often the left side is below, above and equal to the right side, and the two-sided p-value."""

    left_less: int
    left_more: int
    equal: int
    p_value: float


@dataclass(frozen=True)
class PairedTest:
    """A one-sided p-value for the better side; `two_sided` doubles it."""

    statistic: float
    p_value: float
    left_better: int
    right_better: int

    @property
    def two_sided(self) -> float:
        """The two-sided p-value; NaN if it is undefined."""
        return float(np.minimum(2.0 * self.p_value, 1.0))


def wilcoxon_signed_rank(left: ArrayLike, right: ArrayLike) -> SignedRank:
    """Run the two-sided test on matched pairs; equal pairs are dropped, equal differences share their ranks.

    Numbers of errors have many ties, so p comes from the normal approximation with a correction for ties. Without
    any difference p is 1.
    """
    difference = _subtract_pairs(left, right)
    nonzero = difference[difference != 0]
    p_value = 1.0
    if len(nonzero):
        from scipy import stats  # noqa: PLC0415 - takes long to import

        result = stats.wilcoxon(nonzero, zero_method="wilcox", correction=False, method="approx", axis=None)
        p_value = float(result.pvalue)
    return SignedRank(
        left_less=int(np.count_nonzero(difference < 0)),
        left_more=int(np.count_nonzero(difference > 0)),
        equal=int(np.count_nonzero(difference == 0)),
        p_value=p_value,
    )


def measure_comparison(left_errors: ArrayLike, right_errors: ArrayLike) -> dict[str, float]:
    """Return a row of genkin_2004's tables 1 to 3 by dotted names, from two methods' errors per category."""
    result = wilcoxon_signed_rank(left_errors, right_errors)
    return {
        "comparison.fewer": float(result.left_less),
        "comparison.more": float(result.left_more),
        "comparison.equal": float(result.equal),
        "comparison.p_value": result.p_value,
    }


def micro_sign_test(left: Bools, right: Bools, labels: Bools) -> PairedTest:
    """Test the document-category decisions for which exactly one side is correct (Yang & Liu's s-test)."""
    left_correct, right_correct = left == labels, right == labels
    return _sign_test(
        int(np.count_nonzero(left_correct & ~right_correct)),
        int(np.count_nonzero(right_correct & ~left_correct)),
    )


def macro_sign_test(left: ArrayLike, right: ArrayLike) -> PairedTest:
    """Test the categories whose F1 differs (Yang & Liu's S-test)."""
    difference = _subtract_pairs(left, right)
    return _sign_test(int(np.count_nonzero(difference > 0)), int(np.count_nonzero(difference < 0)))


def macro_t_test(left: ArrayLike, right: ArrayLike) -> PairedTest:
    """Run Student's paired test on the categories' F1 (Yang & Liu's T-test)."""
    difference = _subtract_pairs(left, right)
    better, worse = int(np.count_nonzero(difference > 0)), int(np.count_nonzero(difference < 0))
    if len(difference) < 2:
        return PairedTest(float("nan"), float("nan"), better, worse)
    spread = float(difference.std(ddof=1))
    mean = float(difference.mean())
    if spread == 0:
        # The limit when all differences are equal.
        limit, p_value = (np.copysign(np.inf, mean), 0.0) if mean else (0.0, 0.5)
        return PairedTest(float(limit), p_value, better, worse)
    statistic = mean / (spread / np.sqrt(len(difference)))
    from scipy import stats  # noqa: PLC0415 - takes long to import

    p_value = float(stats.t.sf(abs(statistic), df=len(difference) - 1))
    return PairedTest(float(statistic), p_value, better, worse)


def _subtract_pairs(left: ArrayLike, right: ArrayLike) -> Floats:
    """Return left - right without pairs that contain NaN."""
    first, second = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise UsageError(
            f"a paired test needs two lists of one length, not {first.shape} and {second.shape}",
            hint="Give one value per category for both sides, in the same order.",
        )
    difference = first - second
    return difference[~np.isnan(difference)]


def _sign_test(left_better: int, right_better: int) -> PairedTest:
    """Use the binomial distribution up to 12 disagreements and its normal approximation above, as Yang & Liu do."""
    trials, successes = left_better + right_better, max(left_better, right_better)
    if trials == 0:
        return PairedTest(0.0, 0.5, 0, 0)
    from scipy import stats  # noqa: PLC0415 - takes long to import

    statistic = (left_better - 0.5 * trials) / (0.5 * np.sqrt(trials))
    if trials <= MAX_EXACT_SAMPLE:
        p_value = float(stats.binom.sf(successes - 1, trials, 0.5))
    else:
        p_value = float(stats.norm.sf(abs(statistic)))
    return PairedTest(float(statistic), p_value, left_better, right_better)


SAMPLES_PER_BATCH = 100


def paired_bootstrap(
    left: Bools,
    right: Bools,
    labels: Bools,
    *,
    seed: int,
    zero_division: ZeroDivision = 1,
    samples: int = 1000,
) -> dict[str, tuple[float, float]]:
    """Resample documents; return the intervals of left minus right of `micro.f1` and `macro.f1` in percent."""
    if not len(labels) or left.shape != labels.shape or right.shape != labels.shape:
        raise UsageError(
            "the bootstrap needs two sets of decisions and labels over the same documents",
            hint="Give both systems' decisions on the same documents and categories.",
        )
    drawn = _resample_f1(left, right, labels, np.random.default_rng(seed), zero_division, samples)
    ends = np.nanpercentile(drawn[0] - drawn[1], INTERVAL_ENDS, axis=0)
    return {name: (float(ends[0, k]), float(ends[1, k])) for k, name in enumerate(("micro.f1", "macro.f1"))}


def _resample_f1(
    left: Bools,
    right: Bools,
    labels: Bools,
    generator: np.random.Generator,
    zero_division: ZeroDivision,
    samples: int,
) -> Floats:
    """Return the F1 values of each resample: sides x samples x (micro, macro)."""
    documents = len(labels)
    chance = np.full(documents, 1.0 / documents)
    own, *sides = map(sp.csr_array, (labels, left, right))
    collected: list[list[Floats]] = [[], []]
    for start in range(0, samples, SAMPLES_PER_BATCH):
        size = min(SAMPLES_PER_BATCH, samples - start)
        times = generator.multinomial(documents, chance, size=size).astype(np.int32).T
        for values, decisions in zip(collected, sides, strict=True):
            table = count_resampled(decisions, own, times)
            values.append(np.stack([micro_f1(table, zero_division), macro_f1(table, zero_division)], axis=1))
    return np.array([np.concatenate(values) for values in collected])


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
    intervals: dict[str, tuple[float, float]] | None = None


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
            low, high = comparison.intervals[name]
            found |= {"low": low, "high": high}
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
