"""Decisions of highest expected F1 are the best of all subsets, and certain probabilities are trusted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from tests.evaluation.problems import problems
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.thresholds.rules import find_expected_f1_thresholds, tune_expected_f1_thresholds
from textcat.thresholds.tuning import TuningRule, apply_thresholds


def ratio_of_expectations(probabilities, accepted) -> float:
    """Of nothing accepted, that there is nothing to accept."""
    if not accepted.any():
        return float(np.prod(1 - probabilities))
    return 2 * probabilities[accepted].sum() / (accepted.sum() + probabilities.sum())


def test_expected_f1_is_the_best_of_all_subsets():
    generator = np.random.default_rng(0)
    for number in range(40):
        column = generator.beta(0.5, (1.5, 40.0)[number % 2], size=8)
        ours = apply_thresholds(column[:, np.newaxis], find_expected_f1_thresholds(column[:, np.newaxis]))[
            :, 0
        ]
        best = max(
            ratio_of_expectations(column, np.array([bool(mask >> bit & 1) for bit in range(8)]))
            for mask in range(256)
        )
        assert ratio_of_expectations(column, ours) == pytest.approx(best)


def test_certain_probabilities_are_taken_at_their_word():
    certain = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    thresholds = find_expected_f1_thresholds(certain)
    assert apply_thresholds(certain, thresholds).tolist() == [[True, False], [False, False], [True, False]]
    assert thresholds[1] == math.inf
    assert find_expected_f1_thresholds(np.zeros((0, 2))).tolist() == [math.inf, math.inf]


def test_documents_that_are_all_improbable_are_not_all_accepted():
    flat = np.full((3000, 1), 2 / 9600)
    assert find_expected_f1_thresholds(flat).tolist() == [math.inf]
    assert not apply_thresholds(flat, tune_expected_f1_thresholds(flat, flat, flat > 0)).any()
    assert find_expected_f1_thresholds(np.array([[0.3]])).tolist() == [math.inf]
    assert find_expected_f1_thresholds(np.array([[0.9]])).tolist() == [0.9]


@for_each("bad", [-0.1, 1.5, math.nan])
def test_margins_are_not_probabilities(bad):
    with pytest.raises(UsageError, match="probabilities"):
        find_expected_f1_thresholds(np.array([[bad]]))


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
        best = max(
            ratio_of_expectations(column, scores[:, k] >= threshold)
            for threshold in [*scores[:, k], math.inf]
        )
        assert ratio_of_expectations(column, decided[:, k]) == pytest.approx(best)


@given(problems())
def test_thresholds_of_a_set_are_the_best_of_all_cuts(problem):
    """The documents accepted are some most probable ones, and no other number of them promises more."""
    probabilities = 1.0 / (1.0 + np.exp(-problem[0]))
    decided = apply_thresholds(probabilities, find_expected_f1_thresholds(probabilities))
    for column, accepted in zip(probabilities.T, decided.T, strict=True):
        promised = [ratio_of_expectations(column, column >= t) for t in [*column, math.inf]]
        assert ratio_of_expectations(column, accepted) == pytest.approx(max(promised))


def test_accepting_nothing_can_be_excluded():
    """Without that case, improbable documents are accepted where the expected F1 is highest."""
    scores = np.array([[3.0], [2.0], [1.0]])
    probabilities = np.array([[0.01], [0.005], [0.001]])
    labels = np.array([[True], [False], [False]])
    never = tune_expected_f1_thresholds(scores, probabilities, labels, TuningRule(accept_nothing=0.0))
    some = tune_expected_f1_thresholds(scores, probabilities, labels, TuningRule(accept_nothing=None))
    assert not apply_thresholds(scores, never).any()
    assert apply_thresholds(scores, some).ravel().tolist() == [True, False, False]
