"""When categories stop and what their certificates say; how blocks are divided; what a start may be."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear.problems import make
from textcat.errors import UsageError
from textcat.linear import fit, fit_path
from textcat.linear.blocks import MAX_BLOCK, READING_COST, divide_blocks, split_blocks
from textcat.linear.certificate import OptimalityMeasures, Progress, sum_changes
from textcat.linear.problem import split_into_blocks
from textcat.linear.training import FitSettings, make_problem

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


def test_optimality_is_measured_after_growing_numbers_of_passes() -> None:
    calls: list[int] = []
    progress = Progress("optimality", 0.01, 40, 1)

    def measure() -> OptimalityMeasures:
        calls.append(progress.passes)
        return measured([0.5])

    progress.begin(np.zeros((1, 1)), measure)
    for _ in range(40):
        progress.end_pass(lambda: np.zeros((1, 1)), measure)
    gaps = np.diff(calls)
    assert calls[:6] == [0, 1, 2, 3, 4, 5]
    assert (np.diff(gaps) >= 0).all()
    assert gaps[-1] == calls[-2] // 4
    (one,) = progress.certificates(measured([0.5]), 0.0)
    assert (one.passes, one.reason) == (40, "passes")
    assert not progress.running.any()


@pytest.mark.parametrize(("stop", "expected"), [("passes", 5), ("scores", 4), ("optimality", 4)])
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


def cost_of_block(mask: np.ndarray, sizes: np.ndarray, documents: int, block: slice) -> int:
    read = documents + int(sizes[mask[:, block].any(axis=1)].sum())
    width = block.stop - block.start
    return (READING_COST + (width if width == 1 else -(-width // 8) * 8)) * read


@given(st.integers(0, 9999), st.integers(1, 12), st.floats(0.05, 0.9))
@settings(max_examples=60, deadline=None)
def test_blocks_are_halved_where_that_is_cheaper(seed: int, categories: int, density: float) -> None:
    """No block of the division is cheaper in two halves, and the whole is never dearer than undivided."""
    rng = np.random.default_rng(seed)
    X = sp.csr_matrix(rng.random((15, 10)) * (rng.random((15, 10)) < 0.4))
    Y = rng.random((15, categories)) < 0.5
    chosen = FitSettings(mask=rng.random((10, categories)) < density)
    problem = make_problem(X, Y, chosen, chosen.read_algorithm_options())
    blocks = split_into_blocks(categories)
    divided = divide_blocks(problem, blocks)
    assert [k for each in divided for k in range(each.start, each.stop)] == list(range(categories))
    assert problem.mask is not None
    sizes = np.diff(problem.columns.indptr)

    def cost(parts: list[slice]) -> int:
        return sum(cost_of_block(problem.mask, sizes, 15, part) for part in parts)

    assert cost(divided) <= cost(blocks)
    for part in divided:
        if part.stop - part.start > 1:
            middle = part.start + (part.stop - part.start) // 2
            assert cost([slice(part.start, middle), slice(middle, part.stop)]) >= cost([part])


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=4))
def test_blocks_to_prune_are_divided_and_keep_their_order(widths: list[int]) -> None:
    ends = list(itertools.accumulate(widths, initial=0))
    blocks = [slice(a, b) for a, b in itertools.pairwise(ends)]
    parts = split_blocks(blocks)
    assert [k for part in parts for k in range(part.start, part.stop)] == list(range(ends[-1]))
    assert all(part.stop - part.start <= MAX_BLOCK for part in parts)


@pytest.mark.parametrize("algorithm", ["column", "conjugate_gradient", "fast"])
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


@pytest.mark.parametrize("lams", [[0.1], [1.0, 0.1, 0.01], [0.01, 1.0], [np.array([1.0, 0.1, 0.5]), 0.1]])
@pytest.mark.parametrize("algorithm", ["column", "row", "fast"])
def test_a_path_has_the_models_of_its_strengths(lams: list[Any], algorithm: str) -> None:
    settings_: dict[str, Any] = {"algorithm": algorithm, "tol": 1e-8, "max_passes": 20_000}
    path = fit_path(SMALL.X, SMALL.Y, lams, **settings_)
    assert len(path) == len(lams)
    for lam, model in zip(lams, path, strict=True):
        alone = fit(SMALL.X, SMALL.Y, lam=lam, **settings_)
        np.testing.assert_allclose(model.coef, alone.coef, atol=2e-3)
        assert model.settings["lam"] == np.asarray(lam).tolist()


@pytest.mark.parametrize("width", [1, 2, 7, 10, 16, 33])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_of_changes_are_those_of_numpy_to_the_last_bit(width: int, order: Literal["C", "F"]) -> None:
    rng = np.random.default_rng(width)
    before, now = (np.array(rng.standard_normal((1003, width)), order=order) for _ in range(2))
    change, size = sum_changes(before, now)
    assert np.array_equal(change, np.abs(now - before).sum(axis=0))
    assert np.array_equal(size, np.abs(now).sum(axis=0))
