"""RCut, PCut and SCut with fallback, against brute force and on small examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.problems import problems
from textcat.errors import UsageError
from textcat.evaluation.measures import count_contingency, micro_f1
from textcat.thresholds.rules import (
    CARDINALITY_MULTIPLES,
    accept_top_documents,
    compute_label_cardinality,
    compute_pcut_sizes,
    find_proportional_thresholds,
    rcut,
    scut_fbr,
    tune_pcut,
    tune_rcut,
)
from textcat.thresholds.tuning import TuningRule, find_break_even_thresholds, tune_thresholds


def f1(decisions, labels) -> float:
    return micro_f1(count_contingency(decisions, labels), 0)


@given(problems())
def test_no_other_number_of_categories_does_better(problem):
    scores, labels = problem
    chosen = int(tune_rcut(scores, labels))
    values = [f1(rcut(scores, t), labels) for t in range(1, scores.shape[1] + 1)]
    assert values[chosen - 1] == pytest.approx(max(values))
    assert all(value < max(values) for value in values[: chosen - 1])


@given(problems())
def test_no_other_number_of_documents_does_better(problem):
    scores, labels = problem
    usual = compute_label_cardinality(labels)
    shares = labels.mean(axis=0)

    def quality(per_document: float) -> float:
        return f1(accept_top_documents(scores, compute_pcut_sizes(shares, per_document, len(labels))), labels)

    chosen = tune_pcut(scores, labels)
    assert quality(chosen) == pytest.approx(max(quality(usual * each) for each in CARDINALITY_MULTIPLES))


@given(problems())
def test_the_training_documents_own_number_gives_back_their_own_counts(problem):
    labels = problem[1]
    wanted = compute_pcut_sizes(labels.mean(axis=0), compute_label_cardinality(labels), len(labels))
    assert wanted.tolist() == labels.sum(axis=0).tolist()


def test_pcut_accepts_the_documents_of_yangs_formula():
    generator = np.random.default_rng(2)
    scores, priors = generator.normal(size=(50, 4)), np.array([0.5, 0.3, 0.1, 0.02])
    per_document = 1.3
    ours = accept_top_documents(scores, compute_pcut_sizes(priors, per_document, 50))
    factor = per_document * 50 / (4 * priors.sum())
    assert ours.sum(axis=0).tolist() == np.floor(priors * factor * 4 + 0.5).tolist()
    assert (np.where(ours, scores, np.inf).min(axis=0) > np.where(ours, -np.inf, scores).max(axis=0)).all()


@given(problems())
def test_fixed_thresholds_accept_as_near_as_they_can(problem):
    scores, labels = problem
    thresholds = find_proportional_thresholds(scores, labels, 1.5 * compute_label_cardinality(labels))
    wanted = np.minimum(1.5 * labels.sum(axis=0) + 0.5, len(labels)) // 1
    for k, threshold in enumerate(thresholds):
        if not labels[:, k].any():
            assert threshold == math.inf
            continue
        possible = [0, *((scores[:, k] >= t).sum() for t in scores[:, k])]
        accepted = (scores[:, k] >= threshold).sum()
        assert abs(accepted - wanted[k]) == min(abs(number - wanted[k]) for number in possible)


@given(problems())
def test_with_their_own_number_they_break_even(problem):
    scores, labels = problem
    ours = find_proportional_thresholds(scores, labels, compute_label_cardinality(labels))
    assert ours.tolist() == find_break_even_thresholds(scores, labels).tolist()


SCORES = np.array([[0.9, 0.1, 0.5], [0.8, 0.7, 0.5], [0.2, 0.6, 0.5], [0.1, 0.3, 0.4]])
LABELS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]], dtype=bool)

SCUT = TuningRule(criterion="f1", accept_everything=0.0)


def test_poor_categories_fall_back():
    assert tune_thresholds(SCORES, LABELS, SCUT)[2] == 0.4
    never = scut_fbr(SCORES, LABELS, 50.0, 0, SCUT)
    highest = scut_fbr(SCORES, LABELS, 50.0, 1, SCUT)
    assert never[2] == math.inf
    assert highest[2] == 0.5
    assert never[:2].tolist() == highest[:2].tolist() == tune_thresholds(SCORES, LABELS, SCUT)[:2].tolist()


@given(problems())
def test_nothing_falls_back_below_no_bar_and_everything_above_all(problem):
    scores, labels = problem
    assert scut_fbr(scores, labels, 0.0, 0, SCUT).tolist() == tune_thresholds(scores, labels, SCUT).tolist()
    # The highest score of a category without positive documents would accept most new documents.
    highest = np.where(labels.any(axis=0), scores.max(axis=0), math.inf)
    assert (scut_fbr(scores, labels, 100.1, 1, SCUT) == highest).all()
    assert np.isposinf(scut_fbr(scores, labels, 100.1, 0, SCUT)).all()


def test_rcut_gives_every_document_its_first_categories():
    assert rcut(SCORES, 1).astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    tied = np.zeros((1, 3))
    assert rcut(tied, 2).tolist() == [[True, True, False]]
    assert not rcut(SCORES, 0).any()
    assert rcut(SCORES, 3).all()
    with pytest.raises(UsageError):
        rcut(SCORES, 4)


@given(problems(), st.integers(0, 4))
def test_rcut_is_the_head_of_a_stable_sort(problem, number):
    scores = problem[0]
    number = min(number, scores.shape[1])
    decided = rcut(scores, number)
    for row, accepted in zip(scores, decided, strict=True):
        ranked = sorted(range(len(row)), key=lambda k, row=row: (-row[k], k))
        assert sorted(ranked[:number]) == np.flatnonzero(accepted).tolist()


@given(problems(), st.lists(st.integers(0, 14), min_size=4, max_size=4))
def test_the_wanted_number_of_documents_are_the_head_of_a_stable_sort(problem, numbers):
    scores = problem[0]
    wanted = np.array(numbers[: scores.shape[1]], dtype=float)
    for column, accepted, number in zip(
        scores.T, accept_top_documents(scores, wanted).T, wanted, strict=True
    ):
        ranked = sorted(range(len(column)), key=lambda d, column=column: (-column[d], d))
        assert sorted(ranked[: int(number)]) == np.flatnonzero(accepted).tolist()


@given(problems())
def test_rcut_and_pcut_are_each_others_transposes_for_whole_numbers(problem):
    scores = problem[0]
    for number in range(min(scores.shape) + 1):
        by_document = rcut(scores, number)
        by_category = accept_top_documents(
            np.ascontiguousarray(scores.T), np.full(len(scores), float(number))
        )
        assert np.array_equal(by_document, by_category.T)


def test_sizes_of_pcut_round_halves_up():
    shares = np.array([0.5, 0.3, 0.2])
    assert compute_pcut_sizes(shares, 1.0, 5).tolist() == [3.0, 2.0, 1.0]
    assert compute_pcut_sizes(shares, 1.0, 10).tolist() == [5.0, 3.0, 2.0]
    assert compute_pcut_sizes(shares, 2.0, 10).tolist() == [10.0, 6.0, 4.0]
    # 0.1 * 3 * 5 is 1.5000000000000002 and 0.35 * 10 is 3.4999999999999996 in floating point.
    assert compute_pcut_sizes(np.array([0.35, 0.65]), 1.0, 10).tolist() == [4.0, 7.0]
    assert compute_pcut_sizes(np.zeros(2), 1.0, 10).tolist() == [0.0, 0.0]


@given(problems(), st.sampled_from([0.0, 25.0, 50.0, 100.0]))
def test_a_fallback_replaces_exactly_the_thresholds_below_the_bar(problem, bar):
    scores, labels = problem
    tuned = tune_thresholds(scores, labels, SCUT)
    found = scut_fbr(scores, labels, bar, 0, SCUT)
    for k in range(scores.shape[1]):
        accepted = scores[:, k] >= tuned[k]
        size = accepted.sum() + labels[:, k].sum()
        reached = 200 * (accepted & labels[:, k]).sum() / size if size else 0.0
        assert found[k] == (math.inf if reached < bar else tuned[k])
