"""Paired tests against their formulas and enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from textcat.errors import UsageError
from textcat.evaluation.comparison import (
    macro_sign_test,
    macro_t_test,
    measure_comparison,
    micro_sign_test,
    wilcoxon_signed_rank,
)


def exact_p(differences) -> float:
    """All signs of the ranks are equally likely: count those at least as far from the middle."""
    ranks = stats.rankdata(np.abs(differences))
    observed = abs(ranks[np.array(differences) > 0].sum() - ranks.sum() / 2)
    signs = itertools.product((0, 1), repeat=len(ranks))
    extreme = [abs(np.dot(sign, ranks) - ranks.sum() / 2) >= observed - 1e-9 for sign in signs]
    return float(np.mean(extreme))


def test_normal_wilcoxon_by_its_formula_with_ties_and_zeros():
    differences = np.array([1, -1, 1, 2, 2, -3, 4, 0, 0, 5])
    result = wilcoxon_signed_rank(differences, np.zeros(10))
    nonzero = differences[differences != 0]
    ranks = stats.rankdata(np.abs(nonzero))
    n = len(nonzero)
    ties = np.unique(ranks, return_counts=True)[1]
    variance = n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48
    z = (ranks[nonzero > 0].sum() - n * (n + 1) / 4) / math.sqrt(variance)
    assert result.p_value == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert (result.left_less, result.left_more, result.equal) == (2, 6, 2)


def test_normal_approximation_is_near_the_exact_one_for_many_pairs():
    generator = np.random.default_rng(3)
    left, right = generator.normal(size=15), generator.normal(size=15) + 0.3
    assert wilcoxon_signed_rank(left, right).p_value == pytest.approx(exact_p(left - right), abs=0.01)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40))
def test_wilcoxon_does_not_care_for_sides_nor_for_equal_pairs(pairs):
    left, right = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    there, back = wilcoxon_signed_rank(left, right), wilcoxon_signed_rank(right, left)
    assert there.p_value == pytest.approx(back.p_value)
    assert (there.left_less, there.left_more) == (back.left_more, back.left_less)
    padded = wilcoxon_signed_rank(np.append(left, [5, 5]), np.append(right, [5, 5]))
    assert padded.p_value == pytest.approx(there.p_value)
    assert padded.equal == there.equal + 2
    assert 0 <= there.p_value <= 1


def test_no_difference_is_never_significant():
    assert wilcoxon_signed_rank([1, 2, 3], [1, 2, 3]).p_value == 1
    assert macro_sign_test([1.0], [1.0]).p_value == 0.5
    assert macro_t_test([50.0, 60.0], [50.0, 60.0]).p_value == 0.5


def test_micro_sign_test_counts_decisions_that_only_one_gets_right():
    labels = np.array([[1, 0], [1, 0], [0, 1]], dtype=bool)
    left = labels.copy()
    right = ~labels
    right[0, 0] = True
    left[0, 1] = True
    result = micro_sign_test(left, right, labels)
    assert (result.left_better, result.right_better) == (4, 0)
    assert result.p_value == pytest.approx(1 / 16)


def test_limits_of_the_t_test():
    assert macro_t_test([2.0, 3.0], [1.0, 2.0]).p_value == 0
    assert math.isnan(macro_t_test([2.0], [1.0]).p_value)


def test_undefined_categories_are_left_out():
    with_gap = macro_t_test([50.0, math.nan, 60.0, 55.0], [40.0, 50.0, 62.0, 50.0])
    assert with_gap == macro_t_test([50.0, 60.0, 55.0], [40.0, 62.0, 50.0])


def test_comparison_measures_are_a_row_of_the_table():
    left, right = [1, 2, 3, 4, 9], [2, 3, 3, 9, 8]
    row = measure_comparison(left, right)
    assert (row["comparison.fewer"], row["comparison.more"], row["comparison.equal"]) == (3, 1, 1)
    assert row["comparison.p_value"] == wilcoxon_signed_rank(left, right).p_value


counts_of_wins = st.tuples(st.integers(0, 40), st.integers(0, 40)).filter(lambda wins: sum(wins) > 0)


@settings(deadline=None)
@given(counts_of_wins, st.integers(0, 5))
def test_sign_tests_are_binomial_up_to_twelve_and_normal_above(wins, equal):
    """Yang & Liu's rule: exact for at most 12 disagreements, the normal approximation for more."""
    left_wins, right_wins = wins
    n = left_wins + right_wins
    left = [1.0] * left_wins + [0.0] * right_wins + [0.5] * equal
    right = [0.0] * left_wins + [1.0] * right_wins + [0.5] * equal
    found = macro_sign_test(left, right)
    assert (found.left_better, found.right_better) == wins
    assert found.statistic == pytest.approx((left_wins - n / 2) / (math.sqrt(n) / 2))
    if n <= 12:
        expected = stats.binomtest(max(wins), n, 0.5, alternative="greater").pvalue
    else:
        expected = stats.norm.sf(abs(found.statistic))
    assert found.p_value == pytest.approx(expected)
    assert found.two_sided == pytest.approx(min(2 * expected, 1.0))


scores_of_both = st.lists(
    st.tuples(st.floats(0, 100, width=16), st.floats(0, 100, width=16)), min_size=2, max_size=30
)


@settings(deadline=None)
@given(scores_of_both)
def test_the_t_test_agrees_with_scipy_on_any_scores(pairs):
    left, right = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    found = macro_t_test(left, right)
    assert (found.left_better, found.right_better) == ((left > right).sum(), (left < right).sum())
    difference = left - right
    if np.ptp(difference) > 1e-9:
        expected = stats.ttest_rel(left, right)
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.two_sided == pytest.approx(expected.pvalue)
    there, back = found, macro_t_test(right, left)
    assert there.p_value == pytest.approx(back.p_value)
    assert there.statistic == pytest.approx(-back.statistic)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 5))
def test_the_micro_sign_test_depends_only_on_which_decisions_are_correct(seed, documents, categories):
    """Negating labels and decisions together, or moving documents, changes nothing."""
    generator = np.random.default_rng(seed)
    left, right, labels = generator.random((3, documents, categories)) < 0.5
    found = micro_sign_test(left, right, labels)
    assert found == micro_sign_test(~left, ~right, ~labels)
    order = generator.permutation(documents)
    assert found == micro_sign_test(left[order], right[order], labels[order])
    assert found.left_better - found.right_better == (left == labels).sum() - (right == labels).sum()


def test_limits_of_the_t_test_have_the_sign_of_the_difference():
    assert macro_t_test([2.0, 3.0], [1.0, 2.0]).statistic == math.inf
    assert macro_t_test([1.0, 2.0], [2.0, 3.0]).statistic == -math.inf
    assert macro_t_test([1.0, 2.0], [1.0, 2.0]).statistic == 0
    assert math.isnan(macro_t_test([], []).two_sided)
    assert macro_t_test([1.0, 4.0], [2.0, 2.0]).left_better == 1


def test_pairs_are_lists_not_tables():
    with pytest.raises(UsageError, match="two lists of one length"):
        macro_t_test(np.zeros((2, 2)), np.zeros((2, 2)))


@settings(deadline=None)
@given(
    st.lists(st.integers(-30, 30).filter(bool), min_size=1, max_size=40), st.sampled_from([2.0, 0.5, 10.0])
)
def test_wilcoxon_depends_on_the_ranks_of_differences_only(differences, factor):
    """A common factor keeps all ranks; adding the same number to both sides keeps the differences."""
    difference = np.array(differences, dtype=float)
    zeros = np.zeros(len(difference))
    found = wilcoxon_signed_rank(difference, zeros)
    assert wilcoxon_signed_rank(factor * difference, zeros) == found
    assert wilcoxon_signed_rank(difference + 7, zeros + 7) == found
    assert (found.left_less, found.left_more) == ((difference < 0).sum(), (difference > 0).sum())
