"""Isotonic calibration against its definition: the closest rising function, written out in full."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.problems import problems
from tests.loops import for_each
from textcat.thresholds.calibration import (
    CALIBRATIONS,
    CalibrationSettings,
    Isotonic,
    fit_calibration,
    fit_isotonic,
)


def max_min(scores, labels) -> dict[float, float]:
    """The level of each score: the largest, over starts before it, of the least mean up to an end after it."""
    distinct = np.unique(scores)
    level = {}
    for here in distinct:
        level[here] = max(
            min(labels[(scores >= start) & (scores <= end)].mean() for end in distinct[distinct >= here])
            for start in distinct[distinct <= here]
        )
    return level


@given(problems())
def test_the_levels_are_the_max_min_of_means(problem):
    scores, labels = problem
    found = fit_isotonic(scores, labels).probabilities(scores)
    for k in range(scores.shape[1]):
        level = max_min(scores[:, k], labels[:, k])
        np.testing.assert_allclose(found[:, k], [level[score] for score in scores[:, k]], atol=1e-12)


@given(problems(), st.integers(0, 2**32 - 1))
def test_new_scores_rise_and_stay_probabilities(problem, seed):
    scores, labels = problem
    new = np.sort(np.random.default_rng(seed).normal(size=(20, scores.shape[1])) * 3.0, axis=0)
    found = fit_isotonic(scores, labels).probabilities(new)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found, axis=0) >= -1e-15).all()


def test_only_the_ends_of_steps_are_kept():
    scores = np.arange(6.0)[:, np.newaxis]
    labels = np.array([[0], [0], [0], [0], [1], [1]], dtype=bool)
    ours = fit_isotonic(scores, labels)
    assert ours.knots.tolist() == [0.0, 3.0, 4.0, 5.0]
    assert ours.probabilities(np.array([[3.5], [-9.0], [9.0]])).ravel().tolist() == [0.5, 0.0, 1.0]


@given(problems())
@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_a_calibration_survives_its_arrays(method, problem):
    scores, labels = problem
    ours = fit_calibration(CalibrationSettings(method=method), scores, labels)
    again = CALIBRATIONS[method].from_arrays(vars(ours), scores.shape[1])
    assert type(again) is type(ours)
    assert np.array_equal(again.probabilities(scores), ours.probabilities(scores))


@for_each(
    "change",
    [
        {"ends": np.array([0, 3])},
        {"ends": np.array([0, 4, 4])},
        {"ends": np.array([0.0, 2.0, 4.0])},
        {"knots": np.array([0.0, np.nan, 0.0, 1.0])},
        {"levels": np.array([0.0, 2.0, 0.0, 1.0])},
        {"levels": np.zeros(3)},
        {"levels": np.array([0.0, 1.0, 1.0, 0.5])},
        {"knots": np.array([0.0, 0.0, 0.0, 1.0])},
    ],
)
def test_steps_that_do_not_fit_are_refused(change):
    whole = {"knots": np.array([0.0, 1.0, -2.0, 1.0]), "levels": np.array([0.0, 1.0, 0.0, 1.0])}
    whole["ends"] = np.array([0, 2, 4])
    assert isinstance(Isotonic.from_arrays(whole, 2), Isotonic)
    with pytest.raises(ValueError, match="calibration"):
        Isotonic.from_arrays({**whole, **change}, 2)
