from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from tests.evaluation.problems import problems
from textcat.errors import UsageError
from textcat.thresholds.tuning import TuningRule, cross_validate_thresholds, tune_thresholds

SCORES = np.array([[4.0], [2.0], [8.0], [6.0], [3.0], [1.0]])
LABELS = np.array([[1], [0], [1], [0], [0], [0]], dtype=bool)
FOLDS = np.array([0, 0, 1, 1, 2, 2])


def test_mean_and_median_over_the_folds_that_have_positives():
    for combination in ("mean_of_folds", "median_of_folds"):
        result = cross_validate_thresholds(SCORES, LABELS, FOLDS, combination=combination)
        assert result.tolist() == [5.0]


def test_pooled_tunes_once():
    result = cross_validate_thresholds(SCORES, LABELS, FOLDS)
    assert result.tolist() == tune_thresholds(SCORES, LABELS).tolist() == [3.5]


def test_no_positives_anywhere():
    rule = TuningRule(no_positives=-1.0)
    for combination in ("pooled", "mean_of_folds", "median_of_folds"):
        nothing = LABELS & False
        assert cross_validate_thresholds(SCORES, nothing, FOLDS, rule, combination).tolist() == [-1.0]


def test_an_infinite_threshold_of_a_fold_has_no_say():
    scores = np.array([[1.0], [2.0], [4.0], [2.0]])
    labels = np.array([[1], [0], [1], [0]], dtype=bool)
    rule = TuningRule(accept_nothing=math.inf, among_equal="highest")
    result = cross_validate_thresholds(scores, labels, np.array([0, 0, 1, 1]), rule, "mean_of_folds")
    assert result.tolist() == [3.0]


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
        cross_validate_thresholds(SCORES, LABELS, FOLDS[:-1])
    assert math.isfinite(cross_validate_thresholds(SCORES, LABELS, FOLDS)[0])
