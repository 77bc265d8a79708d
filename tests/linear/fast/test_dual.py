"""When a block may stop: by the gap of every lane, or by the sum of the gaps."""

from __future__ import annotations

import numpy as np
import pytest

from tests.linear.fast.problems import make, solve
from textcat.linear.fast.dual import StoppingRule
from textcat.linear.fast.dual_ascent import GapTarget


def test_a_goal_is_reached_by_the_sum_or_by_every_lane() -> None:
    gaps = np.array([3.0, 1.0])
    assert GapTarget(4.0, np.zeros(2)).reached(gaps)
    assert not GapTarget(3.9, np.zeros(2)).reached(gaps)
    assert GapTarget(0.1, np.array([3.0, 1.0])).reached(gaps)
    assert not GapTarget(0.1, np.array([3.0, 0.9])).reached(gaps)
    assert GapTarget(2.0, np.array([0.5, 0.5])).compute_excess(gaps) == 2.0
    assert GapTarget(1.0, np.array([1.0, 0.4])).compute_excess(gaps) == 3.0


def test_a_common_category_may_keep_more_of_the_gap_than_a_rare_one() -> None:
    worth = np.array([100.0, 1.0])
    goal = StoppingRule(1e-3, max_passes=10).make_gap_target(worth, 1e-3)
    assert goal.reached(np.array([0.1, 0.001]))
    assert not goal.reached(np.array([0.05, 0.002]))


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_every_category_has_the_gap_asked_for(loss: str, tol: float) -> None:
    X, Y = make(4, 300, 40, 20)
    solution = solve(X, Y, loss=loss, C=10.0, tol=tol)
    assert np.all(solution.gap <= tol * solution.objective)
