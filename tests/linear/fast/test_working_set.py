"""The dual on a working set: every variable that holds a part of the gap moves, whatever its gain."""

from __future__ import annotations

import numpy as np
import pytest

from textcat.linear.fast.working_set import (
    BoundedNewton,
    DualChange,
    maximise_on_working_set,
    take_coordinate_steps,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_step_counts_by_its_part_of_the_gap_not_by_its_gain(dtype: type) -> None:
    """Under a ceiling of 100 a gradient of 1e-4 is a hundredth of the gap, and gains 5e-9 only."""

    def take_step(negligible: float, ridge: float) -> float:
        values = [np.array([value], dtype) for value in (0.0, 1e-4, 0.0, 100.0, ridge)]
        Q = np.array([[1.0 + ridge]], dtype)
        take_coordinate_steps(Q, *values, 1, negligible)
        return float(values[0][0])

    assert take_step(0.009, 0.0) == pytest.approx(1e-4)
    assert take_step(0.011, 0.0) == 0.0
    # With a ridge the part of the gap is gradient^2 / (2 ridge).
    assert take_step(4.9e-9, 1.0) == pytest.approx(5e-5)
    assert take_step(5.1e-9, 1.0) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_the_gap_asked_for_is_reached_under_high_ceilings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((80, 200)) * (rng.random((80, 200)) < 0.1)
    X /= np.linalg.norm(X, axis=1)[:, None]
    signs = np.where(rng.random(80) < 0.2, 1.0, -1.0)
    Q = (signs[:, None] * (X @ X.T + 1.0)) * signs
    zero = np.zeros(80)
    part = DualChange(Q, zero.copy(), np.full(80, 100.0), zero.copy(), np.ones(80))
    assert maximise_on_working_set(part, BoundedNewton(), 1e-4)
    gradient = 1.0 - Q @ part.change
    room = np.where(gradient > 0, 100.0 - part.change, part.change)
    assert (np.abs(gradient) * room).sum() <= 1.01e-4
