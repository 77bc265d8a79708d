"""The quadratic model with |w|_1 is minimised, whether its columns are independent, nearly equal, or equal."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.linear.fast import lasso_newton as lasso_quadratic
from textcat.linear.fast.lasso_newton import (
    fill_hessian,
    measure_violation,
    minimise_quadratic,
    transpose_columns,
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


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4, 0.0])
def test_no_coordinate_is_left_that_violates_optimality(seed: int, spread: float) -> None:
    H, gradient, w = problem(seed, spread)
    new, there = w.copy(), gradient.copy()
    minimise_quadratic(H, there, new, 1e-6, 3000)
    exact = gradient + H @ (new - w)
    np.testing.assert_allclose(there, exact, atol=1e-7 * np.abs(gradient).max())
    assert max(measure_violation(*pair) for pair in zip(new, exact, strict=True)) < 2e-6


def test_equations_spare_sweeps() -> None:
    """With so few sweeps nearly equal columns are solved only because of the equations."""
    H, gradient, w = problem(seed=3, spread=1e-2)
    new, there = w.copy(), gradient.copy()
    minimise_quadratic(H, there, new, 1e-6, 300)
    worst = max(measure_violation(*pair) for pair in zip(new, gradient + H @ (new - w), strict=True))
    assert worst < 2e-6
    slow, there = w.copy(), gradient.copy()
    without = plain(H, there, slow, 300)
    assert without > 1e-3


def plain(H: np.ndarray, gradient: np.ndarray, w: np.ndarray, sweeps: int) -> float:
    """Coordinate descent alone; the largest violation left."""
    for _ in range(sweeps):
        for j in range(len(w)):
            x, by = w[j] - gradient[j] / H[j, j], 1.0 / H[j, j]
            new = max(x - by, 0.0) - max(-x - by, 0.0)
            gradient += (new - w[j]) * H[j]
            w[j] = new
    return max(measure_violation(*pair) for pair in zip(w, gradient, strict=True))


def test_without_curvature_nothing_is_solved() -> None:
    w, gradient = np.array([1.0, -1.0]), np.array([-1.0, 1.0])
    lasso_quadratic._solve_nonzero(np.zeros((2, 2)), gradient, w)
    assert w.tolist() == [1.0, -1.0]


def test_documents_of_little_curvature_count_on_the_diagonal_only() -> None:
    X = sp.random(40, 12, 0.4, format="csc", random_state=0)
    curvature = np.random.default_rng(1).random(40)
    rows = transpose_columns(np.arange(12), X.indptr.astype(np.int64), X.indices, X.data, 40)
    dense, H = X.toarray(), np.empty((12, 12))
    fill_hessian(*rows, curvature, 0.3, H)
    heavy = np.where(curvature >= 0.3, curvature, 0.0)
    expected = dense.T @ (heavy[:, None] * dense)
    np.fill_diagonal(expected, curvature @ dense**2)
    np.testing.assert_allclose(H, expected, rtol=1e-12, atol=1e-14)
