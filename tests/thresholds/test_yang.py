from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from tests.evaluation.problems import problems
from textcat.errors import UsageError
from textcat.thresholds.cuts import apply_thresholds
from textcat.thresholds.expected_f1 import find_expected_f1_thresholds, tune_expected_f1_thresholds
from textcat.thresholds.proportional import rcut, scut_fbr
from textcat.thresholds.tuning import TuningRule, tune_thresholds

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
    assert (scut_fbr(scores, labels, 100.1, 1, SCUT) == scores.max(axis=0)).all()
    assert np.isposinf(scut_fbr(scores, labels, 100.1, 0, SCUT)).all()


def test_rcut_gives_every_document_its_first_categories():
    assert rcut(SCORES, 1).astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    tied = np.zeros((1, 3))
    assert rcut(tied, 2).tolist() == [[True, True, False]]
    assert not rcut(SCORES, 0).any()
    assert rcut(SCORES, 3).all()
    with pytest.raises(UsageError):
        rcut(SCORES, 4)


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


def test_the_best_threshold_is_half_the_best_value():
    column = np.random.default_rng(1).beta(0.3, 3, size=500)
    threshold = find_expected_f1_thresholds(column[:, np.newaxis])[0]
    best = ratio_of_expectations(column, column >= threshold)
    assert (column[column >= threshold] >= best / 2 - 1e-12).all()
    assert (column[column < threshold] <= best / 2 + 1e-12).all()


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


@pytest.mark.parametrize("bad", [-0.1, 1.5, math.nan])
def test_margins_are_not_probabilities(bad):
    with pytest.raises(UsageError, match="probabilities"):
        find_expected_f1_thresholds(np.array([[bad]]))
