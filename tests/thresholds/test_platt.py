"""Platt's calibration against a general minimiser, and where others overflow or stop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from tests.loops import for_each
from textcat.thresholds.calibration import Platt, compute_platt_targets, fit_platt, negative_log_likelihood


def sample(seed: int, documents: int = 400, slope: float = 2.0, offset: float = -1.0):
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=documents)
    return scores, generator.random(documents) < expit(slope * scores + offset)


def column(scores, labels) -> Platt:
    return fit_platt(scores[:, np.newaxis], labels[:, np.newaxis])


@for_each("seed", range(5))
def test_no_other_sigmoid_is_more_likely(seed):
    scores, labels = sample(seed)
    ours = column(scores, labels)
    wanted = compute_platt_targets(labels)

    def likelihood(pair):
        return negative_log_likelihood(pair[0] * scores + pair[1], wanted)

    best = minimize(likelihood, [1.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert likelihood([ours.slope[0], ours.intercept[0]]) <= best.fun + 1e-12
    assert [ours.slope[0], ours.intercept[0]] == pytest.approx(best.x, abs=1e-5)


def test_the_sigmoid_that_made_the_labels_is_found():
    scores, labels = sample(7, documents=200_000, slope=3.0, offset=0.5)
    ours = column(scores, labels)
    assert ours.slope[0] == pytest.approx(3.0, abs=0.05)
    assert ours.intercept[0] == pytest.approx(0.5, abs=0.03)


def test_the_likelihood_is_right_where_sigmoids_round():
    margins, wanted = np.array([-800.0, -40.0, 0.0, 40.0, 800.0]), np.full(5, 0.25)
    exact = [200.0, 10.0, np.log(2.0), 30.0, 600.0]
    for margin, target, value in zip(margins, wanted, exact, strict=True):
        found = negative_log_likelihood(np.array([margin]), np.array([target]))
        assert found == pytest.approx(value, rel=1e-14)


@for_each("unit", [1e-6, 1.0, 1e6])
@for_each("origin", [0.0, -1e3])
def test_the_unit_and_origin_of_scores_do_not_matter(unit, origin):
    scores, labels = sample(3)
    plain, moved = column(scores, labels), column(scores * unit + origin * unit, labels)
    given_scores = scores[:, np.newaxis]
    np.testing.assert_allclose(
        moved.probabilities(given_scores * unit + origin * unit), plain.probabilities(given_scores), atol=1e-9
    )


def test_separable_scores_stay_finite_and_inside():
    scores = np.concatenate([np.full(50, -1e4), np.full(50, 1e4)])
    ours = column(scores, scores > 0)
    probabilities = ours.probabilities(scores[:, np.newaxis])[:, 0]
    assert np.isfinite([*ours.slope, *ours.intercept]).all()
    np.testing.assert_allclose(probabilities[[0, -1]], [1 / 52, 51 / 52], rtol=1e-6)


@for_each(
    ("scores", "labels", "share"),
    [
        (np.arange(8.0), np.zeros(8, bool), 1 / 10),
        (np.arange(8.0), np.ones(8, bool), 9 / 10),
        (np.full(8, 0.1), np.arange(8) < 4, 0.5),
        (np.arange(8.0), np.arange(8) < 4, 0.5),
    ],
)
def test_scores_that_tell_nothing_leave_the_share(scores, labels, share):
    ours = column(scores, labels)
    assert ours.slope[0] == 0.0
    np.testing.assert_allclose(ours.probabilities(scores[:, np.newaxis]), share)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_probabilities_never_fall_with_the_score(seed, documents):
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=(documents, 3)) * 10.0 ** generator.integers(-3, 4)
    labels = generator.random(scores.shape) < 0.3
    ours = fit_platt(scores, labels)
    found = ours.probabilities(np.sort(scores, axis=0))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found, axis=0) >= 0).all()
