"""The multi-category measure of equation 4.13: values, limit, slope, and a descent that learns."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.learners.test_softmax import problem
from textcat.errors import BadDataError, UsageError
from textcat.learners.gpd import GpdSettings, Merit
from textcat.learners.mfom import (
    ScoreKind,
    compute_multicategory_objective,
    fit_multicategory_mfom,
    measure_misclassification,
)
from textcat.linear.model import LinearModel

KINDS: list[ScoreKind] = ["power", "exponential"]


def plain_measure(values: np.ndarray, eta: float, score: ScoreKind) -> np.ndarray:
    """One document after the other, as printed."""
    measure = np.empty_like(values)
    for row, scores in enumerate(values):
        for j in range(scores.size):
            rest = np.delete(scores, j)
            if score == "power":
                g = np.log1p(np.exp(rest))
                measure[row, j] = -np.log1p(np.exp(scores[j])) + np.mean(g**eta) ** (1 / eta)
            else:
                measure[row, j] = -scores[j] + np.log(np.mean(np.exp(eta * rest))) / eta
    return measure


@pytest.mark.parametrize("score", KINDS)
@given(seed=st.integers(0, 1000), eta=st.sampled_from([0.5, 1.0, 4.0, 10.0]), categories=st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_measure_is_the_printed_one(score: ScoreKind, seed: int, eta: float, categories: int) -> None:
    values = 2 * np.random.default_rng(seed).standard_normal((7, categories))
    assert np.allclose(measure_misclassification(values, eta, score)[0], plain_measure(values, eta, score))


@pytest.mark.parametrize("score", KINDS)
def test_large_eta_leaves_the_greatest_competitor_and_nothing_overflows(score: ScoreKind) -> None:
    values = np.random.default_rng(0).uniform(-900, 900, (20, 5))
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        measure, _ = measure_misclassification(values, 1e4, score)
        _, slope = compute_multicategory_objective(
            values, np.eye(5, dtype=bool)[np.arange(20) % 5], GpdSettings(alpha=1), 1e4, score
        )
    scores = np.logaddexp(0, values) if score == "power" else values
    greatest = np.array([[np.delete(row, j).max() for j in range(5)] for row in scores])
    assert np.allclose(measure, greatest - scores, atol=0.2)
    assert np.isfinite(slope).all()
    assert np.array_equal((measure < 0).argmax(axis=1), values.argmax(axis=1))


@pytest.mark.parametrize(("score", "merit"), list(product(KINDS, ["f1", "mce"])))
@given(seed=st.integers(0, 1000), eta=st.sampled_from([1.0, 4.0]))
@settings(max_examples=10, deadline=None)
def test_slope_is_the_difference_quotient(score: ScoreKind, merit: Merit, seed: int, eta: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((8, 4))
    Y = np.eye(4, dtype=bool)[rng.integers(0, 4, 8)]
    chosen = GpdSettings(merit=merit, alpha=2.0)
    _, slope = compute_multicategory_objective(values, Y, chosen, eta, score)
    for row, column in product(range(8), range(4)):
        moved = values.copy()
        moved[row, column] += 1e-6
        up = compute_multicategory_objective(moved, Y, chosen, eta, score)[0]
        moved[row, column] -= 2e-6
        down = compute_multicategory_objective(moved, Y, chosen, eta, score)[0]
        assert slope[row, column] == pytest.approx((up - down) / 2e-6, abs=1e-6)


@pytest.mark.parametrize(("score", "merit"), list(product(KINDS, ["f1", "mce"])))
def test_descent_learns_and_permuted_categories_permute_the_model(score: ScoreKind, merit: Merit) -> None:
    X, Y = problem(3, documents=200)
    chosen = GpdSettings(merit=merit, iterations=300, alpha=2.0, kappa=0.5)
    found = fit_multicategory_mfom(X, Y, chosen, score=score)
    first = fit_multicategory_mfom(X, Y, replace(chosen, iterations=1), score=score)
    order = np.array([3, 1, 0, 2])
    moved = fit_multicategory_mfom(X, Y[:, order], chosen, score=score)
    assert read_objective(found) < read_objective(first)
    assert (found.scores(X).argmax(axis=1) == Y.argmax(axis=1)).mean() > 0.75
    assert np.allclose(moved.coef, found.coef[:, order], atol=1e-6)


def read_objective(model: LinearModel) -> float:
    assert model.joint_certificate is not None
    assert model.joint_certificate.objective is not None
    return model.joint_certificate.objective


def test_measure_of_two_categories_is_the_difference_of_their_scores() -> None:
    values = np.array([[0.3, -1.2], [2.0, 2.5]])
    measure, _ = measure_misclassification(values, 3.0, "exponential")
    assert np.allclose(measure, values[:, ::-1] - values)


def test_wrong_labels_and_settings_are_refused() -> None:
    X, Y = problem(3)
    with pytest.raises(UsageError, match="eta"):
        fit_multicategory_mfom(X, Y, eta=0)
    with pytest.raises(UsageError, match="start"):
        fit_multicategory_mfom(X, Y, GpdSettings(start="perceptron"))
    with pytest.raises(BadDataError, match="exactly one"):
        fit_multicategory_mfom(X, np.ones_like(Y))
