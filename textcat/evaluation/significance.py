"""Paired significance tests of two methods on the same categories or decisions.

Wilcoxon's signed-rank test on the categories' numbers of errors, as in genkin_2004; micro sign test, macro sign test
and macro t-test of Yang & Liu (SIGIR 1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from textcat.errors import UsageError
from textcat.evaluation.contingency import Bools
from textcat.evaluation.measures import Floats

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
    if spread == 0:
        return _compute_limit_t_test(float(difference.mean()), better, worse)
    statistic = float(difference.mean()) / (spread / np.sqrt(len(difference)))
    from scipy import stats  # noqa: PLC0415 - takes long to import

    p_value = float(stats.t.sf(abs(statistic), df=len(difference) - 1))
    return PairedTest(float(statistic), p_value, better, worse)


def _compute_limit_t_test(mean: float, better: int, worse: int) -> PairedTest:
    """Return the limit of the t-test when all differences are equal."""
    if mean == 0:
        return PairedTest(0.0, 0.5, better, worse)
    return PairedTest(float(np.copysign(np.inf, mean)), 0.0, better, worse)


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
