"""Numbers of decisions against brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from tests.evaluation.problems import problems
from textcat.evaluation.contingency import count_contingency
from textcat.evaluation.measures import micro_f1
from textcat.thresholds.cuts import apply_thresholds
from textcat.thresholds.expected_f1 import tune_expected_f1_thresholds
from textcat.thresholds.proportional import (
    CARDINALITY_MULTIPLES,
    accept_top_documents,
    compute_label_cardinality,
    compute_pcut_sizes,
    find_proportional_thresholds,
    rcut,
    tune_pcut,
    tune_rcut,
)
from textcat.thresholds.tuning import TuningRule, find_break_even_thresholds


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


def test_nothing_wanted_is_nothing_ever_accepted():
    scores = np.arange(40.0)[:, np.newaxis]
    labels = scores == 39.0
    assert find_proportional_thresholds(scores, labels, 0.001).tolist() == [math.inf]


def expected(probabilities, accepted) -> float:
    if not accepted.any():
        return float(np.prod(1 - probabilities))
    return 2 * probabilities[accepted].sum() / (accepted.sum() + probabilities.sum())


@given(problems())
def test_no_fixed_threshold_promises_a_better_f1(problem):
    scores, labels = problem
    probabilities = 1.0 / (1.0 + np.exp(-scores))
    rule = TuningRule(accept_nothing=0.0)
    thresholds = tune_expected_f1_thresholds(scores, probabilities, labels, rule)
    decided = apply_thresholds(scores, thresholds)
    for k in range(scores.shape[1]):
        if not labels[:, k].any():
            assert not decided[:, k].any()
            continue
        column = probabilities[:, k]
        best = max(expected(column, scores[:, k] >= threshold) for threshold in [*scores[:, k], math.inf])
        assert expected(column, decided[:, k]) == pytest.approx(best)
