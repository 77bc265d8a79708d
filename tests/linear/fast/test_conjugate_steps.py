"""Conjugate gradients within bounds: the optimum of the dual on a working set, with flat directions and little work."""

from __future__ import annotations

import numpy as np
import pytest

from tests.linear.fast.problems import make, solve
from tests.loops import for_each
from textcat.linear.fast import support_vectors as finish


@for_each("loss", ["hinge", "squared_hinge"])
@for_each("products", [0.0, np.inf])
def test_each_method_finishes_alone(loss: str, products: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without work for conjugate gradients Newton steps finish all categories, with unlimited work none."""
    led: list[bool] = []
    take = finish._take_conjugate_steps
    monkeypatch.setattr(finish, "_PRODUCTS_PER_VISIT", products)
    monkeypatch.setattr(finish, "_take_conjugate_steps", lambda *given: led.append(take(*given)) or led[-1])
    X, Y = make(6, 300, 40, 8)
    solution = solve(X, Y, loss=loss, C=10.0, tol=1e-8)
    assert led
    assert all(led) == (products > 0)
    assert np.all(solution.gap <= 1e-8 * solution.objective)
