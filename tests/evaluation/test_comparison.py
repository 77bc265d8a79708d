"""Two methods side by side against scipy and against counting by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from tests.evaluation.problems import problems
from textcat.evaluation.comparison import (
    compare_counts,
    compare_decisions,
    count_discordant,
    describe_categories,
    describe_overall,
    describe_tests,
)
from textcat.evaluation.measures import count_contingency, macro_f1, micro_f1

GENERATOR = np.random.default_rng(4)
LABELS = GENERATOR.random((200, 5)) < [0.5, 0.3, 0.1, 0.05, 0.0]
LEFT = LABELS ^ (GENERATOR.random(LABELS.shape) < 0.05)
RIGHT = LABELS ^ (GENERATOR.random(LABELS.shape) < [0.05, 0.2, 0.1, 0.05, 0.0])
NAMES = list("abcde")


@given(problems())
def test_mcnemar_is_the_binomial_test_on_the_documents_that_differ(problem):
    scores, labels = problem
    left, right = scores > 0, scores > 0.5
    found = count_discordant(left, right, labels)
    for k in range(labels.shape[1]):
        ours = sum(l == y != r for l, r, y in zip(left[:, k], right[:, k], labels[:, k], strict=True))  # noqa: E741
        theirs = sum(r == y != l for l, r, y in zip(left[:, k], right[:, k], labels[:, k], strict=True))  # noqa: E741
        assert (found.only_left[k], found.only_right[k]) == (ours, theirs)
        p = stats.binomtest(ours, ours + theirs).pvalue if ours + theirs else 1.0
        assert found.p_value[k] == pytest.approx(p)


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg():
    found = count_discordant(LEFT, RIGHT, LABELS)
    order = np.argsort(found.p_value)
    steps = found.p_value[order] * len(NAMES) / np.arange(1, len(NAMES) + 1)
    by_hand = np.minimum.accumulate(steps[::-1])[::-1]
    assert found.adjusted[order].tolist() == pytest.approx(np.minimum(by_hand, 1.0).tolist())


def test_everything_is_there_and_is_json():
    comparison = compare_decisions(LEFT, RIGHT, LABELS, NAMES, seed=1, samples=200)
    facts = {
        "overall": describe_overall(comparison, 1),
        "tests": describe_tests(comparison),
        "categories": describe_categories(comparison),
    }
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    left, right = count_contingency(LEFT, LABELS), count_contingency(RIGHT, LABELS)
    overall = facts["overall"]
    assert overall["micro.f1"]["difference"] == pytest.approx(micro_f1(left) - micro_f1(right))
    assert overall["macro.f1"]["left"] == pytest.approx(macro_f1(left))
    assert overall["micro.f1"]["low"] < overall["micro.f1"]["difference"] < overall["micro.f1"]["high"]
    assert set(facts["tests"]) == {"micro sign test", "macro sign test", "macro t-test", "Wilcoxon, errors"}
    second = facts["categories"][1]
    assert second["p"] < 0.01 < facts["categories"][0]["p"]
    assert second["left_errors"] - second["right_errors"] == (
        second["only_right_is_right"] - second["only_left_is_right"]
    )


def test_counts_alone_give_the_tests_on_counts():
    whole = compare_decisions(LEFT, RIGHT, LABELS, NAMES, seed=1, samples=100)
    counts = compare_counts(count_contingency(LEFT, LABELS), count_contingency(RIGHT, LABELS), NAMES)
    assert (counts.discordant, counts.micro_sign, counts.intervals) == (None, None, None)
    assert counts.wilcoxon == whole.wilcoxon
    assert counts.macro_t == whole.macro_t
    assert "micro sign test" not in describe_tests(counts)
    assert "p" not in describe_categories(counts)[0]


def test_what_is_not_known_is_null():
    one = compare_decisions(LEFT[:, :1], RIGHT[:, :1], LABELS[:, :1], ["a"], seed=1, samples=100)
    assert math.isnan(one.macro_t.p_value)
    assert describe_tests(one)["macro t-test"]["p"] is None
    empty = compare_counts(
        count_contingency(LEFT[:, 4:], LABELS[:, 4:]),
        count_contingency(RIGHT[:, 4:], LABELS[:, 4:]),
        ["e"],
        "skip",
    )
    assert describe_categories(empty)[0]["right_f1"] is None


def test_the_same_side_twice_is_no_difference():
    same = compare_decisions(LEFT, LEFT, LABELS, NAMES, seed=1, samples=100)
    assert (same.discordant.p_value == 1.0).all()
    assert {test["p"] for test in describe_tests(same).values()} == {1.0}


def test_every_row_of_a_category_is_counted_by_hand():
    comparison = compare_decisions(LEFT, RIGHT, LABELS, NAMES, seed=1, samples=100)
    rows = describe_categories(comparison)
    assert [row["category"] for row in rows] == NAMES
    for k, row in enumerate(rows):
        left, right, labels = LEFT[:, k], RIGHT[:, k], LABELS[:, k]
        assert row["documents"] == labels.sum()
        assert (row["left_errors"], row["right_errors"]) == ((left != labels).sum(), (right != labels).sum())
        assert row["only_left_is_right"] == ((left == labels) & (right != labels)).sum()
        assert row["only_right_is_right"] == ((right == labels) & (left != labels)).sum()
        for side, decisions in (("left_f1", left), ("right_f1", right)):
            size = decisions.sum() + labels.sum()
            expected = 200 * (decisions & labels).sum() / size if size else 100.0
            assert row[side] == pytest.approx(expected)
        assert 0 <= row["p"] <= row["p_adjusted"] <= 1


def test_exchanging_the_sides_exchanges_every_number():
    there = compare_decisions(LEFT, RIGHT, LABELS, NAMES, seed=1, samples=100)
    back = compare_decisions(RIGHT, LEFT, LABELS, NAMES, seed=1, samples=100)
    for name, test in describe_tests(there).items():
        other = describe_tests(back)[name]
        assert (test["left_better"], test["right_better"]) == (other["right_better"], other["left_better"])
        assert test["p"] == pytest.approx(other["p"])
    for name, row in describe_overall(there, 1).items():
        other = describe_overall(back, 1)[name]
        assert (row["left"], row["right"]) == (other["right"], other["left"])
        assert row["difference"] == pytest.approx(-other["difference"])
        assert (row["low"], row["high"]) == pytest.approx((-other["high"], -other["low"]))
    for row, other in zip(describe_categories(there), describe_categories(back), strict=True):
        assert (row["left_f1"], row["only_left_is_right"]) == (
            other["right_f1"],
            other["only_right_is_right"],
        )
        assert row["p"] == other["p"]


@pytest.mark.parametrize("rule", [1, 0, "skip"])
def test_the_value_of_zero_division_reaches_every_f1(rule):
    """Category `e` has no document and none is accepted, so its F1 is the value of 0/0."""
    clear = LEFT & [True, True, True, True, False]
    comparison = compare_decisions(clear, RIGHT, LABELS, NAMES, seed=1, samples=100, zero_division=rule)
    expected = {1: 100.0, 0: 0.0, "skip": None}[rule]
    assert describe_categories(comparison)[4]["left_f1"] == expected
    left = count_contingency(clear, LABELS)
    assert describe_overall(comparison, rule)["macro.f1"]["left"] == pytest.approx(macro_f1(left, rule))
