"""When categories stop and what their certificates say; how blocks are divided; what a start may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.linear.problems import make
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.linear import fit, fit_path
from textcat.linear.certificate import OptimalityMeasures, Progress

SMALL = make(21, documents=40, features=12, categories=3)


def measured(gap: list[float], objective: float = 1.0, violation: float = np.nan) -> OptimalityMeasures:
    width = len(gap)
    return OptimalityMeasures(np.full(width, objective), np.full(width, violation), np.array(gap))


def test_a_category_stops_when_its_scores_change_little() -> None:
    """The rule of both papers: the sum of changes within tol times one plus the sum of scores."""
    scores = np.array([[0.0, 0.0], [0.0, 0.0]])
    progress = Progress("scores", 0.1, 10, 2)
    progress.begin(scores, lambda: measured([1.0, 1.0]))
    for step in ([[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.2], [1.15, 1.2]], [[1.0, 1.3], [1.15, 1.3]]):
        now = np.array(step)
        progress.end_pass(now.copy, lambda: measured([1.0, 1.0]))
    # Changes 2, 0.15, 0 and 2, 0.4, 0.2 against limits 0.3, 0.315, 0.315 and 0.3, 0.34, 0.36.
    assert progress.running.tolist() == [False, False]
    first, second = progress.certificates(measured([0.5, np.nan]), 0.0)
    assert (first.passes, first.reason, first.gap) == (2, "scores", 0.5)
    assert (second.passes, second.reason, second.gap) == (3, "scores", None)
    assert first.seconds / second.seconds == pytest.approx(2 / 3)


def test_scores_that_stay_as_they_began_stop_after_one_pass() -> None:
    """Three documents and two categories; the limit of each category is that of its own scores."""
    start = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    progress = Progress("scores", 0.1, 10, 2)
    progress.begin(start, lambda: measured([1.0, 1.0]))
    change = np.array([[0.2, 0.0], [0.2, 0.2], [0.2, 0.0]])
    progress.end_pass(lambda: start + change, lambda: measured([1.0, 1.0]))
    # Changes 0.6 and 0.2 against limits 0.1 (1 + 6.6) and 0.1 (1 + 0.2).
    assert progress.running.tolist() == [False, True]
    start[:] = 99.0
    assert [each.passes for each in progress.certificates(measured([0.0, 0.0]), 0.0)] == [1, 10]


@for_each(("stop", "expected"), [("passes", 5), ("scores", 4), ("optimality", 4)])
def test_nothing_stops_while_the_problem_still_changes(stop: str, expected: int) -> None:
    progress = Progress(stop, 1.0, 5, 1)
    progress.begin(np.zeros((1, 1)), lambda: measured([0.0]))
    for number in range(5):
        progress.end_pass(lambda: np.zeros((1, 1)), lambda: measured([0.0]), settled=number >= 3)
    (one,) = progress.certificates(measured([0.0]), 0.0)
    assert one.passes == expected
    assert one.reason == ("passes" if stop == "passes" else stop)


def test_a_category_keeps_the_reason_for_which_it_stopped_first() -> None:
    progress = Progress("optimality", 0.01, 100, 3)
    progress.begin(np.zeros((1, 3)), lambda: measured([1.0] * 3))
    for gaps in ([0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]):
        progress.end_pass(lambda: np.zeros((1, 3)), lambda gaps=gaps: measured(gaps))
    assert [each.passes for each in progress.certificates(measured([0.0] * 3), 0.0)] == [1, 2, 3]
    assert not progress.running.any()


@for_each("algorithm", ["column", "conjugate_gradient", "fast"])
def test_a_start_at_the_optimum_stays_there(algorithm: str) -> None:
    """Also with a constant other than one, whose weight is the intercept divided by it."""
    settings_: dict[str, Any] = {
        "lam": 0.01,
        "algorithm": algorithm,
        "bias": 2.0,
        "tol": 1e-9,
        "max_passes": 5000,
    }
    first = fit(SMALL.X, SMALL.Y, **settings_)
    again = fit(SMALL.X, SMALL.Y, init=first, **settings_)
    # A gap of 1e-9 with lam = 0.01 leaves weights within 3e-4 of the optimum.
    np.testing.assert_allclose(again.coef, first.coef, atol=5e-4)
    np.testing.assert_allclose(again.intercept, first.intercept, atol=1e-3)
    for before, after in zip(first.certificate, again.certificate, strict=True):
        assert after.objective <= before.objective * (1 + 1e-9)
        assert after.passes <= before.passes


def test_a_start_of_another_shape_is_refused() -> None:
    model = fit(SMALL.X, SMALL.Y, lam=0.1, max_passes=3)
    for X, Y in ((SMALL.X[:, :-1], SMALL.Y), (SMALL.X, SMALL.Y[:, :-1])):
        with pytest.raises(UsageError, match="the model to start from has shape"):
            fit(X, Y, lam=0.1, init=model)


@for_each("lams", [[0.1], [1.0, 0.1, 0.01], [0.01, 1.0], [np.array([1.0, 0.1, 0.5]), 0.1]])
@for_each("algorithm", ["column", "row", "fast"])
def test_a_path_has_the_models_of_its_strengths(lams: list[Any], algorithm: str) -> None:
    settings_: dict[str, Any] = {"algorithm": algorithm, "tol": 1e-8, "max_passes": 20_000}
    path = fit_path(SMALL.X, SMALL.Y, lams, **settings_)
    assert len(path) == len(lams)
    for lam, model in zip(lams, path, strict=True):
        alone = fit(SMALL.X, SMALL.Y, lam=lam, **settings_)
        np.testing.assert_allclose(model.coef, alone.coef, atol=2e-3)
        assert model.settings["lam"] == np.asarray(lam).tolist()
