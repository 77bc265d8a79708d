from __future__ import annotations

import numpy as np
import pytest

from tests.linear.oracle import loss_and_slope
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.linear.losses import LOSS_NAMES, find_loss

MARGINS = np.linspace(-6, 6, 2401)
AWAY_FROM_CORNER = MARGINS[np.abs(MARGINS - 1) > 1e-3]


@for_each("name", LOSS_NAMES)
def test_value_and_derivative_are_those_of_the_formula(name: str) -> None:
    loss = find_loss(name)
    value, slope = loss_and_slope(name, AWAY_FROM_CORNER)
    np.testing.assert_allclose(loss.value(AWAY_FROM_CORNER), value, atol=1e-14)
    np.testing.assert_allclose(loss.derivative(AWAY_FROM_CORNER), slope, atol=1e-14)


@for_each("name", LOSS_NAMES)
def test_derivative_is_the_limit_of_differences(name: str) -> None:
    loss, h = find_loss(name), 1e-5
    difference = (loss.value(AWAY_FROM_CORNER + h) - loss.value(AWAY_FROM_CORNER - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(AWAY_FROM_CORNER), difference, atol=1e-6)


@for_each("name", LOSS_NAMES)
def test_conjugate_is_the_supremum(name: str) -> None:
    loss = find_loss(name)
    duals = np.array([-0.99, -0.7, -0.5, -0.2, -0.01])
    wide = np.linspace(-40, 40, 400_001)
    brute = (duals[:, None] * wide - loss.value(wide)).max(axis=1)
    np.testing.assert_allclose(loss.conjugate(duals), brute, atol=1e-6)


@for_each("name", LOSS_NAMES)
def test_curvature_is_the_least_bound(name: str) -> None:
    loss = find_loss(name)
    if loss.curvature is None:
        assert not loss.smooth
        return
    bend = np.diff(loss.derivative(MARGINS)) / np.diff(MARGINS)
    assert bend.max() <= loss.curvature + 1e-9
    assert bend.max() >= loss.curvature * 0.99


def test_far_margins_neither_overflow_nor_vanish() -> None:
    with np.errstate(all="raise", under="ignore"):
        for name in LOSS_NAMES:
            loss = find_loss(name)
            assert np.isfinite(loss.value(np.array([-1e6, 1e6]))).all()
            assert np.isfinite(loss.derivative(np.array([-1e6, 1e6]))).all()
    assert find_loss("logistic").value(np.array([-1e6]))[0] == 1e6


@for_each("gamma", [0.5, 1.0, 10.0, 200.0])
def test_modified_logistic_lies_above_the_hinge_by_at_most_ln2_over_gamma(gamma: float) -> None:
    excess = find_loss("modified_logistic", gamma).value(MARGINS) - find_loss("hinge").value(MARGINS)
    assert (excess >= -1e-15).all()
    assert excess.max() == pytest.approx(np.log(2) / gamma)


def test_unknown_losses_are_refused() -> None:
    with pytest.raises(UsageError, match="no loss 'cubic'"):
        find_loss("cubic")
    with pytest.raises(UsageError, match="gamma"):
        find_loss("modified_logistic", 0.0)
