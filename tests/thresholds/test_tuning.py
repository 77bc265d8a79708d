"""Tuned thresholds against the best of all cuts, alone and combined over folds."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.problems import problems
from tests.loops import for_each
from textcat.errors import BadDataError, UsageError
from textcat.evaluation.curves import find_break_even
from textcat.evaluation.measures import count_contingency
from textcat.thresholds.tuning import (
    TuningRule,
    apply_thresholds,
    cross_validate_thresholds,
    find_break_even_thresholds,
    find_thresholds_by_size,
    make_cuts,
    rank_by_score,
    tune_thresholds,
)

RULES = [
    TuningRule(criterion=criterion, point=point, among_equal=among, accept_nothing=nothing)
    for criterion, point, among, nothing in itertools.product(
        ("errors", "f1"),
        ("lowest", "midpoint", 0.25, "highest"),
        ("lowest", "highest", "widest"),
        (0.0, 1.0, math.inf, None),
    )
]


def quality(scores, labels, threshold: float, criterion: str) -> float:
    """Less is better: errors, or minus F1, of one category at one threshold."""
    accepted = scores >= threshold
    if criterion == "errors":
        return float((accepted != labels).sum())
    size = accepted.sum() + labels.sum()
    return -2.0 * float((accepted & labels).sum()) / size if size else 0.0


def every_threshold(scores, rule: TuningRule) -> list[float]:
    """One threshold of each kind that decides differently."""
    nothing = [] if rule.accept_nothing is None else [math.inf]
    return [*np.unique(scores), *nothing]


@settings(max_examples=800)
@given(st.sampled_from(RULES), problems())
def test_no_other_threshold_does_better(rule, problem):
    scores, labels = problem
    thresholds = tune_thresholds(scores, labels, rule)
    for category, threshold in enumerate(thresholds):
        column, wanted = scores[:, category], labels[:, category]
        if not wanted.any():
            assert threshold == math.inf
            continue
        best = min(quality(column, wanted, t, rule.criterion) for t in every_threshold(column, rule))
        assert quality(column, wanted, threshold, rule.criterion) == pytest.approx(best)


SCORES = np.array([[9.0], [8.0], [5.0], [4.0], [1.0]])


def tuned(labels, **rule) -> float:
    wanted = np.array(labels, dtype=bool)[:, np.newaxis]
    return float(tune_thresholds(SCORES, wanted, TuningRule(**rule))[0])


def test_where_in_the_interval():
    separable = [1, 1, 0, 0, 0]
    assert tuned(separable, point="lowest") == np.nextafter(5.0, math.inf)
    assert tuned(separable, point=0.25) == 5.75
    assert tuned(separable, point="midpoint") == 6.5
    assert tuned(separable, point="highest") == 8.0


def test_which_of_several_equal_intervals():
    one_error_either_way = [1, 0, 1, 0, 0]
    assert tuned(one_error_either_way, among_equal="highest") == 8.5
    assert tuned(one_error_either_way, among_equal="lowest") == 4.5


def test_widest_of_several_equal_intervals():
    scores = np.array([[9.0], [5.0], [4.5], [1.0]])
    labels = np.array([[1], [0], [1], [0]], dtype=bool)
    assert tune_thresholds(scores, labels, TuningRule(among_equal="widest"))[0] == 7.0
    assert tune_thresholds(scores, labels, TuningRule(among_equal="lowest"))[0] == 2.75


def test_accepting_nothing():
    last_of_all = [0, 0, 0, 0, 1]
    assert tuned(last_of_all) == 10.0
    assert tuned(last_of_all, accept_nothing=0.0) == np.nextafter(9.0, math.inf)
    assert tuned(last_of_all, accept_nothing=math.inf) == math.inf
    assert tuned(last_of_all, accept_nothing=None) == 8.5


def test_accepting_everything():
    assert tuned([1, 1, 1, 1, 1]) == -math.inf
    assert tuned([1, 1, 1, 1, 1], accept_everything=0.0) == 1.0
    assert tuned([1, 1, 1, 1, 1], accept_everything=0.5) == 0.5


def test_neighbouring_floats_are_still_divided():
    high = np.nextafter(1.0, 2.0)
    scores, labels = np.array([[high], [1.0]]), np.array([[True], [False]])
    for point in ("lowest", "midpoint", "highest", 0.25):
        threshold = tune_thresholds(scores, labels, TuningRule(point=point))
        assert apply_thresholds(scores, threshold).tolist() == [[True], [False]]


def test_category_without_positives_is_never_accepted():
    assert tuned([0, 0, 0, 0, 0]) == math.inf


def test_no_documents_to_tune_on():
    nothing = np.zeros((0, 3))
    assert tune_thresholds(nothing, nothing.astype(bool)).tolist() == [math.inf] * 3


@for_each("margin", [-1.0, math.nan])
def test_thresholds_outside_the_scores_stand_outside(margin):
    with pytest.raises(UsageError):
        TuningRule(accept_nothing=margin)
    with pytest.raises(UsageError):
        TuningRule(accept_everything=margin)


@for_each("fraction", [-0.1, 1.1, math.nan])
def test_fractions_outside_the_interval_are_refused(fraction):
    with pytest.raises(UsageError):
        TuningRule(point=fraction)


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(BadDataError, match="document 0 for category 1"):
        tune_thresholds(np.array([[0.0, math.nan]]), np.array([[True, True]]))


def test_a_score_at_its_threshold_is_accepted():
    scores = np.array([[0.5, -1.0], [0.49, 0.5]])
    assert apply_thresholds(scores, np.full(2, 0.5)).tolist() == [
        [True, False],
        [False, True],
    ]
    with pytest.raises(UsageError):
        apply_thresholds(scores, np.zeros(3))


@given(problems())
def test_break_even_thresholds_balance_precision_and_recall(problem):
    scores, labels = problem
    distinct = scores + 1e-6 * np.arange(len(scores))[::-1, np.newaxis]
    table = count_contingency(
        apply_thresholds(distinct, find_break_even_thresholds(distinct, labels)), labels
    )
    result = find_break_even(distinct, labels)
    present = result.positives > 0
    assert (table.tp == result.hits)[present].all()
    assert (table.fp == table.fn)[present].all()
    assert not (table.tp + table.fp)[~present].any()


def test_break_even_thresholds_with_ties_come_as_near_as_they_can():
    scores = np.array([[2.0], [2.0], [1.0], [1.0]])
    labels = np.array([[1], [0], [0], [0]], dtype=bool)
    assert apply_thresholds(scores, find_break_even_thresholds(scores, labels)).ravel().tolist() == [
        True,
        True,
        False,
        False,
    ]


@for_each("criterion", ["errors", "f1"])
@for_each("values", [5, 60, 10**6])
def test_ranking_only_the_highest_scores_finds_the_same_thresholds(
    monkeypatch: pytest.MonkeyPatch, criterion: str, values: int
) -> None:
    generator = np.random.default_rng(values)
    shares = np.array([0.0, 0.01, 0.05, 0.1, 0.05, 0.3, 0.7, 1.0])
    labels = generator.random((300, 8)) < shares
    gains = np.array([0, 0, 0, 1, 1, 0, 1, 1]) * values
    scores = (generator.integers(0, values, labels.shape) + gains * labels) / 8
    rules = [rule for rule in RULES if rule.criterion == criterion]
    whole = [tune_thresholds(scores, labels, rule) for rule in rules]
    monkeypatch.setattr("textcat.thresholds.tuning._LEAST_DOCUMENTS", 0)
    sizes: list[int] = []

    def note_size(scores, labels, first=0):
        sizes.append(len(scores))
        return make_cuts(scores, labels, first)

    monkeypatch.setattr("textcat.thresholds.tuning.make_cuts", note_size)
    for rule, expected in zip(rules, whole, strict=True):
        assert np.array_equal(tune_thresholds(scores, labels, rule), expected)
    assert {19, 75, 300} <= set(sizes)


FOLD_SCORES = np.array([[4.0], [2.0], [8.0], [6.0], [3.0], [1.0]])
FOLD_LABELS = np.array([[1], [0], [1], [0], [0], [0]], dtype=bool)
FOLDS = np.array([0, 0, 1, 1, 2, 2])


def test_pooled_tunes_once():
    result = cross_validate_thresholds(FOLD_SCORES, FOLD_LABELS, FOLDS)
    assert result.tolist() == tune_thresholds(FOLD_SCORES, FOLD_LABELS).tolist() == [3.5]


@given(problems())
@pytest.mark.parametrize("combination", ["mean_of_folds", "median_of_folds"])
def test_one_fold_is_tuning_on_everything(combination, problem):
    scores, labels = problem
    one = np.zeros(len(labels), dtype=np.int64)
    rule = TuningRule(accept_everything=0.0)
    expected = tune_thresholds(scores, labels, rule)
    result = cross_validate_thresholds(scores, labels, one, rule, combination)
    assert result.tolist() == expected.tolist()
    assert not np.isnan(result).any()


def test_fold_numbers_must_fit():
    with pytest.raises(UsageError):
        cross_validate_thresholds(FOLD_SCORES, FOLD_LABELS, FOLDS[:-1])
    assert math.isfinite(cross_validate_thresholds(FOLD_SCORES, FOLD_LABELS, FOLDS)[0])


@settings(max_examples=300)
@given(st.sampled_from(RULES), problems())
def test_thresholds_follow_scores_that_are_moved_and_scaled(rule, problem):
    """With an even factor and shift, each finite threshold inside the scores is moved with them."""
    scores, labels = problem
    before = tune_thresholds(scores, labels, rule)
    after = tune_thresholds(4.0 * scores + 8.0, labels, rule)
    inside = (before > scores.min(axis=0)) & (before <= scores.max(axis=0)) & labels.any(axis=0)
    np.testing.assert_allclose(after[inside], 4.0 * before[inside] + 8.0, rtol=1e-12, atol=1e-12)
    moved = apply_thresholds(4.0 * scores + 8.0, after)
    assert np.array_equal(moved, apply_thresholds(scores, before))


@settings(max_examples=60)
@given(problems(), st.integers(0, 2**32 - 1))
def test_the_order_of_documents_and_categories_moves_nothing_but_places(problem, seed):
    scores, labels = problem
    generator = np.random.default_rng(seed)
    rows, columns = generator.permutation(len(scores)), generator.permutation(scores.shape[1])
    for rule in (TuningRule(), TuningRule(criterion="f1", among_equal="widest")):
        found = tune_thresholds(scores[rows][:, columns], labels[rows][:, columns], rule)
        assert np.array_equal(found, tune_thresholds(scores, labels, rule)[columns])


@settings(max_examples=60)
@given(problems())
def test_documents_given_twice_tune_the_same_thresholds(problem):
    scores, labels = problem
    for rule in (TuningRule(), TuningRule(criterion="f1", point="highest")):
        twice = tune_thresholds(np.repeat(scores, 2, axis=0), np.repeat(labels, 2, axis=0), rule)
        assert np.array_equal(twice, tune_thresholds(scores, labels, rule))


@settings(max_examples=60)
@given(
    problems(),
    st.lists(st.integers(0, 3), min_size=12, max_size=12),
    st.sampled_from(["mean_of_folds", "median_of_folds"]),
)
def test_folds_are_combined_as_by_hand(problem, folds, combination):
    """Each fold counts once if it has positive documents and a finite threshold."""
    scores, labels = problem
    fold_of_document = np.array(folds[: len(scores)])
    rule = TuningRule(accept_nothing=math.inf)
    found = cross_validate_thresholds(scores, labels, fold_of_document, rule, combination)
    for category in range(scores.shape[1]):
        column, wanted = scores[:, [category]], labels[:, [category]]
        of_folds = []
        for fold in set(fold_of_document.tolist()):
            inside = fold_of_document == fold
            threshold = tune_thresholds(column[inside], wanted[inside], rule)[0]
            if wanted[inside].any() and math.isfinite(threshold):
                of_folds.append(threshold)
        average = statistics.mean if combination == "mean_of_folds" else statistics.median
        assert found[category] == pytest.approx(average(of_folds) if of_folds else math.inf)


@settings(max_examples=60)
@given(problems(), st.floats(0, 14))
def test_a_wanted_number_of_documents_is_reached_as_nearly_as_ties_allow(problem, number):
    """Of two equally near numbers the larger is taken."""
    scores, labels = problem
    cuts = make_cuts(scores, labels)
    wanted = np.full(scores.shape[1], number)
    thresholds = find_thresholds_by_size(cuts, wanted, TuningRule())
    for category, threshold in enumerate(thresholds):
        column = scores[:, category]
        if not labels[:, category].any():
            assert threshold == math.inf
            continue
        possible = {0, *(int((column >= score).sum()) for score in column)}
        nearest = min(abs(size - number) for size in possible)
        expected = max(size for size in possible if abs(size - number) == nearest)
        assert (column >= threshold).sum() == expected


@for_each("values", [2, 5, 60, 10**6])
def test_equal_scores_are_in_document_order_however_many_they_are(values: int) -> None:
    scores = np.random.default_rng(values).integers(0, values, (60, 7)) / 8
    order, falling = rank_by_score(scores)
    expected = np.argsort(-scores, axis=0, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(falling, np.take_along_axis(scores, expected, axis=0))
