"""The quadratic model with |w|_1 is minimised, whether its columns are independent, nearly equal, or equal."""

from __future__ import annotations

import numpy as np

from tests.loops import for_each
from textcat.linear.fast.lasso_newton import (
    measure_violation,
    minimise_quadratic,
)


def problem(seed: int, spread: float, p: int = 24) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns that differ from a common few by `spread`, a gradient that pulls, and weights to start from."""
    generator = np.random.default_rng(seed)
    few = generator.normal(size=(40, 4))
    X = few[:, generator.integers(0, 4, p)] + spread * generator.normal(size=(40, p))
    H = X.T @ X
    gradient = H @ generator.normal(size=p) * 3
    w = np.where(generator.random(p) < 0.3, generator.normal(size=p), 0.0)
    return H, gradient, w


@for_each("seed", range(20))
@for_each("spread", [1.0, 1e-2, 1e-4, 0.0])
def test_no_coordinate_is_left_that_violates_optimality(seed: int, spread: float) -> None:
    H, gradient, w = problem(seed, spread)
    new, there = w.copy(), gradient.copy()
    minimise_quadratic(H, there, new, 1e-6, 3000)
    exact = gradient + H @ (new - w)
    np.testing.assert_allclose(there, exact, atol=1e-7 * np.abs(gradient).max())
    assert max(measure_violation(*pair) for pair in zip(new, exact, strict=True)) < 2e-6
