"""The papers' loops, written plainly and slowly, against the kernels: the same weights after every
number of passes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.linear.oracle import with_constant
from tests.linear.problems import make
from textcat.linear import LinearModel, fit, load_named_learners
from textcat.linear.papers.column_kernels import fill_scores
from textcat.linear.problem import join_lanes, split_into_lanes

LAM = 3e-3


def clg_bound(r: np.ndarray, delta: np.ndarray, whose: str) -> np.ndarray:
    delta = np.abs(delta)
    if whose == "zhang_oles_2001":
        return np.minimum(0.25, np.exp(delta) / (2 + np.exp(r) + np.exp(-r)))
    r = np.abs(r)
    return np.where(r <= delta, 0.25, 1 / (2 + np.exp(r - delta) + np.exp(delta - r)))


def column_by_hand(
    X: np.ndarray,
    y: np.ndarray,
    loss: str,
    lam: float,
    passes: int,
    rule: str,
    bound: str,
    continuation: int,
    order: str = "constant_first",
) -> np.ndarray:
    n, d = X.shape
    w, r, radius = np.zeros(d), np.zeros(n), np.ones(d)
    for k in range(1, passes + 1):
        c = max(0.0, 1 - k / continuation) if continuation else 0.0
        for j in visits(d, order):
            x = X[:, j]
            if loss == "squared":
                step = -(((r - 1) * x * y).sum() + lam * n * w[j]) / ((x * x).sum() + lam * n)
            else:
                if loss == "squared_hinge":
                    slope = np.where(r <= 1, 2 * (r - 1), 2 * c * (r - 1))
                    curve = np.where(r <= 1 + np.abs(radius[j] * x), 2, 2 * c)
                else:
                    slope, curve = -1 / (np.exp(r) + 1), clg_bound(r, radius[j] * x, bound)
                step = -((slope * x * y).sum() + 2 * lam * n * w[j]) / ((curve * x * x).sum() + 2 * lam * n)
                step = min(max(step, -radius[j]), radius[j])
                radius[j] = 2 * abs(step) + 0.1 if rule == "epsilon" else max(2 * abs(step), radius[j] / 2)
            r += step * x * y
            w[j] += step
    return w


def lasso_by_hand(X: np.ndarray, y: np.ndarray, rate: float, passes: int) -> np.ndarray:
    n, d = X.shape
    w, r, radius = np.zeros(d), np.zeros(n), np.ones(d)
    for _ in range(passes):
        for j in visits(d, "constant_first"):
            x = X[:, j]
            slope = (x * y / (1 + np.exp(r))).sum()
            curve = (x * x * clg_bound(r, radius[j] * x, "genkin_2004")).sum()
            if curve == 0:
                continue
            if w[j] == 0:
                step = max((slope - rate) / curve, 0) or min((slope + rate) / curve, 0)
            else:
                s = np.sign(w[j])
                step = (slope - rate * s) / curve
                if s * (w[j] + step) < 0:
                    step = -w[j]
            step = min(max(step, -radius[j]), radius[j])
            r += step * x * y
            w[j] += step
            radius[j] = max(2 * abs(step), radius[j] / 2)
    return w


def row_by_hand(X: np.ndarray, y: np.ndarray, loss: str, lam: float, passes: int, eta: float) -> np.ndarray:
    n, d = X.shape
    zeta, v = np.zeros(n), np.zeros(d)
    for _ in range(passes):
        for i in range(n):
            x, square = X[i], float(X[i] @ X[i])
            along = float(v @ x) * y[i]
            if loss == "hinge":
                step = -max(zeta[i], min(1 + zeta[i], eta * (2 * lam * n + along) / square))
            else:
                step = min(-zeta[i], -((2 + zeta[i]) * lam * n + along) / (lam * n + square))
            v += step * x * y[i]
            zeta[i] += step
    return -v / (2 * lam * n)


def visits(d: int, order: str) -> list[int]:
    """The order of the features; the constant is the last column."""
    if order == "constant_first":
        return [d - 1, *range(d - 1)]
    return list(range(d)) if order == "constant_last" else list(range(d - 1, -1, -1))


def weights(model: LinearModel, k: int) -> np.ndarray:
    return np.append(model.coef[:, k], model.intercept[k])


def settings_of(name: str, **changed: Any) -> dict[str, Any]:
    settings = dict(load_named_learners()[name]["settings"])
    return {**settings, **changed, "options": {**settings["options"], "stop": "passes"}}


@pytest.mark.parametrize("order", ["constant_first", "constant_last", "reversed"])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("passes", [1, 2, 7, 60])
@pytest.mark.parametrize(
    ("name", "loss", "rule", "bound", "continuation"),
    [
        ("CLS", "squared", "epsilon", "", 0),
        ("CMLS", "squared_hinge", "epsilon", "", 50),
        ("CLG", "logistic", "epsilon", "zhang_oles_2001", 0),
        ("CLG-ridge", "logistic", "halving", "genkin_2004", 0),
    ],
)
def test_column_learners(
    name: str, loss: str, rule: str, bound: str, continuation: int, passes: int, binary: bool, order: str
) -> None:
    small = make(21, binary=binary)
    settings = settings_of(name, lam=LAM, max_passes=passes)
    settings["options"]["order"] = order
    model = fit(small.X, small.Y, **settings)
    X = with_constant(small.X)
    for k in range(small.Y.shape[1]):
        by_hand = column_by_hand(X, small.signs[:, k], loss, LAM, passes, rule, bound, continuation, order)
        np.testing.assert_allclose(weights(model, k), by_hand, atol=1e-9)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("passes", [1, 3, 40])
def test_clg_lasso(passes: int, binary: bool) -> None:
    small = make(22, binary=binary)
    model = fit(small.X, small.Y, **settings_of("CLG-lasso", lam=LAM, max_passes=passes))
    X = with_constant(small.X)
    for k in range(small.Y.shape[1]):
        by_hand = lasso_by_hand(X, small.signs[:, k], LAM * len(X), passes)
        np.testing.assert_allclose(weights(model, k), by_hand, atol=1e-9)
        np.testing.assert_array_equal(weights(model, k) == 0, by_hand == 0)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("passes", [1, 2, 30])
@pytest.mark.parametrize(
    ("name", "loss", "eta"), [("modified-SVM", "hinge", 0.1), ("dual-CMLS", "squared_hinge", 1.0)]
)
def test_row_learners(name: str, loss: str, eta: float, passes: int, binary: bool) -> None:
    small = make(23, binary=binary)
    changed = settings_of(name, lam=LAM, max_passes=passes)
    changed["options"]["order"] = "given"
    model = fit(small.X, small.Y, **changed)
    X = with_constant(small.X)
    for k in range(small.Y.shape[1]):
        by_hand = row_by_hand(X, small.signs[:, k], loss, LAM, passes, eta)
        np.testing.assert_allclose(weights(model, k), by_hand, atol=1e-9)


def test_dual_logistic_solves_its_equation_at_each_document() -> None:
    """After one visit of one document, ln((1 + v) / -v) is its margin: the equation below (16)."""
    X, Y = np.array([[2.0, 1.0]]), np.array([[True]])
    for lam in (1e-6, 1e-2, 1.0, 100.0):
        options = {"keep_dual": True, "stop": "passes"}
        model = fit(X, Y, loss="logistic", algorithm="row", lam=lam, max_passes=1, options=options)
        assert model.dual is not None
        v = model.dual[0, 0]
        margin = model.scores(X)[0, 0]
        assert -1 < v < 0
        assert np.log((1 + v) / -v) == pytest.approx(margin, rel=1e-8)


def test_scores_rule_stops_at_the_first_small_change() -> None:
    small = make(24)
    settings: dict[str, Any] = {"lam": 1e-2, "tol": 5e-4}
    model = fit(small.X, small.Y, options={"stop": "scores"}, **settings)
    for k, certificate in enumerate(model.certificate):
        assert certificate.reason == "scores"
        runs = [
            fit(small.X, small.Y, lam=1e-2, max_passes=p, options={"stop": "passes"}).scores(small.X)[:, k]
            for p in (certificate.passes - 2, certificate.passes - 1, certificate.passes)
            if p > 0
        ]
        changes = [np.abs(b - a).sum() / (1 + np.abs(b).sum()) for a, b in pairwise(runs)]
        assert changes[-1] <= 5e-4
        assert len(changes) == 1 or changes[0] > 5e-4


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_of_lanes_are_the_sums_of_their_parts_in_the_columns_that_still_move(kind: Any) -> None:
    rng = np.random.default_rng(0)
    state, target = (split_into_lanes(rng.standard_normal((9, 18)), kind) for _ in range(2))
    kept, scores = np.delete(np.arange(20), [0, 7]), np.ones((9, 20))
    fill_scores(state, target, kept, scores)
    assert np.array_equal(scores[:, kept], join_lanes(state + target, 18))
    assert (scores[:, [0, 7]] == 1).all()
