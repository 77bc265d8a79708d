"""Parts of dual ascent: sums of losses and dual values by lane, where it starts, when it ends, what folds certify."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.linear.fast.problems import make, objective, solve
from textcat.linear.fast.dual import StoppingRule, _choose_start_points, maximise_dual
from textcat.linear.fast.dual_ascent import DualAscent, PassRecord, _predict_visits
from textcat.linear.fast.lane_losses import LANE_LOSSES, LOSS_NUMBERS, measure_duals, measure_losses
from textcat.linear.fast.layout import (
    join_lanes,
    multiply_all_columns,
    pack_block,
    pack_rows,
    place_columns,
    split_lanes,
    sum_lanes,
    sum_squares,
    take_columns,
)
from textcat.linear.fast.support_vectors import FinishTiming
from textcat.linear.simd import WIDTH

LOSSES = ["logistic", "hinge", "squared_hinge"]


def block_of(seed: int = 3, n: int = 200, d: int = 30, k: int = 5, C: float = 2.0):
    X, Y = make(seed, n, d, k)
    rows = pack_rows(X, np.linspace(0.5, 2.0, n))
    return X, Y, rows, pack_block(Y, np.full(k, C), np.arange(k))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", LOSSES)
def test_sums_of_losses_and_dual_values_are_those_of_the_formulas(loss: str, dtype: type) -> None:
    _, _, rows, block = block_of()
    rng = np.random.default_rng(0)
    costs = rows.importance[:, None] * block.limits
    points = rng.normal(0, 4, costs.shape).astype(dtype)
    alpha = (rng.random(costs.shape) * costs).astype(dtype)
    wide = LANE_LOSSES[loss].dual_variable(points.astype(float), costs) if loss == "logistic" else alpha
    steps, values = np.empty(costs.shape), np.empty((1, WIDTH))
    settings = (block.signs, rows.importance, block.limits[None])
    measure_duals(LOSS_NUMBERS[loss], points, alpha, *settings, False, steps, values)
    np.testing.assert_allclose(steps, block.signs * wide, rtol=1e-12)
    expected = LANE_LOSSES[loss].dual_value(wide.astype(float), costs).sum(axis=0)
    np.testing.assert_allclose(values[0], expected, rtol=1e-9)

    margins = rng.normal(0, 4, costs.shape).astype(dtype)
    signed = margins.copy()
    measure_losses(LOSS_NUMBERS[loss], signed, *settings, values)
    assert np.array_equal(signed, block.signs * margins)
    expected = LANE_LOSSES[loss].value((block.signs * margins).astype(float), costs).sum(axis=0)
    np.testing.assert_allclose(values[0], expected, rtol=1e-9)


def test_rounded_dual_variables_are_those_that_weights_are_made_of() -> None:
    _, _, rows, block = block_of()
    points = np.random.default_rng(0).normal(0, 3, block.signs.shape).astype(np.float32)
    alpha, steps = np.zeros_like(points), np.empty(points.shape)
    settings = (block.signs, rows.importance, block.limits[None], True)
    measure_duals(LOSS_NUMBERS["logistic"], points, alpha, *settings, steps, np.empty((1, WIDTH)))
    assert np.array_equal(steps, block.signs * alpha.astype(np.float64))


def test_the_logistic_loss_starts_from_a_tenth_of_the_constants_model() -> None:
    _, _, rows, block = block_of()
    points = _choose_start_points(rows, block, "logistic")
    assert points is not None
    costs = rows.importance[:, None] * block.limits
    alpha = 10 * LANE_LOSSES["logistic"].dual_variable(points, costs)
    b = (block.signs * alpha).sum(axis=0)
    # At the optimum of the constant alone, the dual variables are the slopes at its margins.
    np.testing.assert_allclose(alpha, costs / (1 + np.exp(block.signs * b)), rtol=1e-6, atol=1e-9)
    assert _choose_start_points(rows, block, "hinge") is None


def make_ascent(n: int) -> DualAscent:
    _, _, rows, block = block_of(n=n)
    return DualAscent(rows, block, LANE_LOSSES["hinge"], np.random.default_rng(0))


def test_only_unfinished_lanes_count_for_the_finish() -> None:
    ascent = make_ascent(400)
    ascent.alpha[:, :4] = 1.0
    ascent.alpha[:10, 4] = 1.0
    one = np.array([False, False, False, False, True])

    def is_quicker(lanes: NDArray[np.bool_], left: float) -> bool:
        return FinishTiming(ascent, cost=0.0).is_quicker(lanes, left, visits=1.0)

    assert is_quicker(one, 7_000.0)
    assert not is_quicker(one, 5_000.0)
    assert not is_quicker(~one, 7_000.0)
    assert not is_quicker(np.ones(5, bool), 30_000.0)
    assert is_quicker(np.ones(5, bool), np.inf)


def test_the_finish_waits_while_passes_save_more_than_they_cost() -> None:
    ascent, lanes = make_ascent(1000), np.ones(1, bool)
    timing = FinishTiming(ascent)
    decisions = []
    for round_number, support_vectors in enumerate((1000, 600, 400, 390, 389)):
        ascent.alpha[:] = 0.0
        ascent.alpha[:support_vectors, 0] = 1.0
        decisions.append(timing.is_quicker(lanes, np.inf, 1000.0 * (round_number + 1)))
    assert decisions == [False, False, False, True, True]


@pytest.mark.parametrize("power", [1.0, 2.5])
def test_the_visits_of_the_hinge_are_predicted_from_a_power_of_those_before(power: float) -> None:
    history = [PassRecord(1.0, np.inf, 0.0)]
    history += [PassRecord(k**-power, 1e3 * k**-power, 10.0 * k) for k in range(1, 9)]
    assert _predict_visits(history, sublinear=True) == pytest.approx(10 * (1e3 ** (1 / power) - 8))


def test_the_visits_of_other_losses_are_predicted_from_a_constant_rate() -> None:
    history = [PassRecord(1.0, np.inf, 0.0)]
    history += [PassRecord(0.5**k, 1e3 * 0.5**k, 10.0 * k) for k in range(1, 9)]
    assert _predict_visits(history, sublinear=False) == pytest.approx(10 * (np.log2(1e3) - 8))
    assert (
        _predict_visits(history[:2], sublinear=False) == _predict_visits(history[:2], sublinear=True) == 0.0
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 512, 1300])
def test_lanes_are_split_into_rows_and_joined_again(dtype: type[np.floating], length: int) -> None:
    block = np.random.default_rng(0).normal(size=(length, WIDTH)).astype(dtype)
    lanes, before = np.array([0, 3, 15]), block.copy()
    rows = split_lanes(block, lanes, np.float64)
    assert rows.dtype == np.float64 and np.array_equal(rows, block[:, lanes].T)
    join_lanes(rows + 1, lanes, block)
    changed = before.copy()
    changed[:, lanes] = rows.T + 1
    assert np.array_equal(block, changed)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_gap_in_single_precision_is_the_gap_asked_for(loss: str, C: float) -> None:
    X, Y, _, _ = block_of(n=600, k=16)
    rows, block = pack_rows(X, np.ones(600)), pack_block(Y, np.full(16, C), np.arange(16))
    rule = StoppingRule(1e-4, max_passes=10_000)
    found, _ = maximise_dual(rows, block, loss, rule, (0, 0), exact=False)
    best = solve(X, Y, loss=loss, C=C, tol=1e-9)
    coef = found.W[rows.place].astype(np.float64)
    reached = objective(X, Y, coef, loss, "gaussian", C)
    assert np.all(reached - best.objective <= 1.01e-4 * best.objective)
    assert np.all(found.gap <= 1e-4 * found.objective)
    np.testing.assert_allclose(found.objective, reached, rtol=1e-5)


def test_columns_are_taken_and_placed_by_the_order_of_the_features() -> None:
    rng = np.random.default_rng(1)
    place = rng.permutation(7).astype(np.int32)
    weights, columns = rng.random((7, 5)), np.array([4, 1])
    W = np.zeros((7, WIDTH), np.float32)
    take_columns(weights, place, columns, W)
    np.testing.assert_allclose(W[place][:, :2], weights[:, columns], rtol=1e-6)
    assert not W[:, 2:].any()
    back = np.zeros_like(weights)
    place_columns(W.astype(np.float64), place, columns, back)
    np.testing.assert_allclose(back[:, columns], weights[:, columns], rtol=1e-6)


def test_squares_are_summed_by_lane_in_double_precision() -> None:
    W = np.random.default_rng(2).random((1000, WIDTH)).astype(np.float32)
    sums = np.zeros((1, WIDTH))
    sum_squares(W, sums)
    np.testing.assert_allclose(sums[0], (W.astype(np.float64) ** 2).sum(axis=0), rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lanes_are_summed_in_double_precision_and_their_values_counted(dtype: type[np.floating]) -> None:
    rng = np.random.default_rng(2)
    values = (rng.random((1000, WIDTH)) * (rng.random((1000, WIDTH)) < 0.3)).astype(dtype)
    sums, counts = np.empty((1, WIDTH)), np.empty((1, WIDTH))
    sum_lanes(values, sums, counts)
    np.testing.assert_allclose(sums[0], values.sum(axis=0, dtype=np.float64), rtol=1e-13)
    assert np.array_equal(counts[0], np.count_nonzero(values, axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_by_columns_are_those_of_the_matrix(dtype: type[np.floating]) -> None:
    X = sp.random(30, 80, 0.2, format="csc", random_state=3)
    steps = np.random.default_rng(2).normal(size=(30, WIDTH)).astype(dtype)
    W = np.full((80, WIDTH), np.nan, dtype)
    multiply_all_columns(X.indptr, X.indices, X.data, steps, W)
    np.testing.assert_allclose(W, X.T @ steps, rtol=1e-4, atol=1e-6 if dtype is np.float32 else 1e-14)
