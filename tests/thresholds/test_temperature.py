"""The temperature of maximum likelihood, and probabilities that sum to one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from tests.loops import for_each
from textcat.evaluation.one_label import compute_calibration_error, measure_reliability
from textcat.thresholds.calibration import Temperature, fit_temperature, normalize_probabilities


def draw(seed: int, documents: int = 4000, classes: int = 7, inverse: float = 1.0):
    """Scores whose softmax, times `inverse`, is the probability of each label."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(scale=2.0, size=(documents, classes))
    chances = softmax(scores * inverse, axis=1)
    labels = (generator.random((documents, 1)) < chances.cumsum(axis=1)).argmax(axis=1)
    return scores, np.eye(classes, dtype=bool)[labels]


@for_each("seed", range(3))
@for_each("unit", [1e-3, 1.0, 1e3])
def test_no_other_temperature_is_more_likely(seed: int, unit: float) -> None:
    scores, labels = draw(seed, documents=300)
    scores = scores * unit
    spread = 1.0 / (len(scores) + 1.0)
    targets = (1 - spread) * labels + spread / labels.shape[1]

    def loss(inverse: float) -> float:
        return float((logsumexp(inverse * scores, axis=1) - inverse * (targets * scores).sum(axis=1)).mean())

    best = minimize_scalar(loss, bounds=(0.0, 10.0 / unit), method="bounded", options={"xatol": 1e-12 / unit})
    assert loss(fit_temperature(scores, labels).inverse[0]) <= best.fun + 1e-12
    assert fit_temperature(scores, labels).inverse[0] == pytest.approx(best.x, rel=1e-4)


def test_the_temperature_that_made_the_labels_is_found() -> None:
    scores, labels = draw(5, documents=60_000, inverse=1.7)
    assert fit_temperature(scores, labels).inverse[0] == pytest.approx(1.7, rel=0.02)


def test_calibrated_probabilities_are_as_often_right_as_they_say() -> None:
    scores, labels = draw(6, documents=40_000, inverse=1.0)
    raw, fitted = scores * 4, fit_temperature(scores[:20_000] * 4, labels[:20_000])
    wanted = labels.argmax(axis=1)

    def error(probabilities):
        return compute_calibration_error(measure_reliability(probabilities, wanted[20_000:]))

    assert error(softmax(raw[20_000:], axis=1)) > 0.1
    assert error(fitted.probabilities(raw[20_000:])) < 0.015


def test_the_highest_score_has_the_highest_probability_and_all_sum_to_one() -> None:
    scores, labels = draw(7, documents=200)
    found = fit_temperature(scores, labels).probabilities(scores)
    assert (found.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert found.sum(axis=1) == pytest.approx(1.0)


def test_scores_that_are_always_right_or_say_nothing_give_a_finite_temperature() -> None:
    labels = np.eye(3, dtype=bool)[np.arange(30) % 3]
    for scores in (labels * 5.0, np.zeros((30, 3)), labels * -1.0, np.zeros((0, 3))):
        chosen = fit_temperature(scores, labels[: len(scores)])
        assert np.isfinite(chosen.inverse).all()
        assert chosen.inverse >= 0
    # Scores that contradict the labels say no more than equal probabilities.
    assert fit_temperature(labels * -1.0, labels).probabilities(labels * -1.0) == pytest.approx(1 / 3)


def test_arrays_rebuild_it_and_wrong_ones_are_refused() -> None:
    kept = Temperature.from_arrays(vars(Temperature(np.array([2.5]))), 4)
    assert kept.inverse.tolist() == [2.5]
    for wrong in (np.array([-1.0]), np.array([np.nan]), np.ones(2), np.array([1])):
        with pytest.raises(ValueError, match="inverse temperature"):
            Temperature.from_arrays({"inverse": wrong}, 4)


def test_normalized_probabilities_keep_their_ratios() -> None:
    given = np.array([[0.2, 0.6], [0.0, 0.0], [0.9, 0.9]])
    assert normalize_probabilities(given) == pytest.approx(np.array([[0.25, 0.75], [0.5, 0.5], [0.5, 0.5]]))
