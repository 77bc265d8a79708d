"""The gaussian prior against independent solvers, and what must hold whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from tests.linear.fast.problems import make, objective, solve
from textcat.errors import UsageError

LOSSES = ("logistic", "hinge", "squared_hinge")


def oracle(X, y, loss, C):
    """The optimum of one category: L-BFGS for the smooth losses, liblinear's dual for the hinge."""
    sign = np.where(y, 1.0, -1.0)
    if loss == "hinge":
        if len(set(y)) < 2:
            return None
        model = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(X, y)
        return objective(X, y[:, None], model.coef_.T, loss, "gaussian", C)[0]

    def value_and_gradient(w):
        z = sign * (X @ w)
        if loss == "logistic":
            values, slope = np.logaddexp(0, -z), -np.exp(-np.logaddexp(0, z))
        else:
            h = np.maximum(0, 1 - z)
            values, slope = h * h, -2 * h
        return w @ w / 2 + C * values.sum(), w + C * (X.T @ (sign * slope))

    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    return minimize(
        value_and_gradient, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=options
    ).fun


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(60, 20, 3), (15, 40, 2), (1, 3, 1), (40, 5, 19)])
def test_agrees_with_an_independent_solver(loss, C, shape):
    X, Y = make(1, *shape)
    solution = solve(X, Y, loss=loss, C=C, tol=1e-7)
    assert set(solution.reason) == {"optimality"}
    np.testing.assert_allclose(
        solution.objective, objective(X, Y, solution.coef, loss, "gaussian", C), rtol=1e-10
    )
    for k in range(Y.shape[1]):
        best = oracle(X, Y[:, k], loss, C)
        if best is not None:
            assert solution.objective[k] == pytest.approx(best, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 30),
    st.integers(1, 30),
    st.integers(1, 20),
    st.sampled_from(LOSSES),
    st.sampled_from([1e-3, 1.0, 50.0]),
)
def test_the_gap_is_honest(seed, n, d, k, loss, C):
    X, Y = make(seed, n, d, k)
    solution = solve(X, Y, loss=loss, C=C, tol=1e-5)
    assert (solution.gap >= 0).all()
    assert (solution.gap <= 1e-5 * solution.objective).all()
    np.testing.assert_allclose(
        solution.objective, objective(X, Y, solution.coef, loss, "gaussian", C), rtol=1e-9
    )
    finer = solve(X, Y, loss=loss, C=C, tol=1e-8)
    assert (solution.objective - solution.gap <= finer.objective * (1 + 1e-9)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_same_seed_gives_the_same_answer(loss):
    X, Y = make(3, 50, 30, 18)
    first, second = (solve(X, Y, loss=loss, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.coef, second.coef)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_categories_and_the_other_categories_do_not_matter(loss):
    X, Y = make(4, 50, 30, 18)
    whole = solve(X, Y, loss=loss, tol=1e-8).coef
    order = np.random.default_rng(0).permutation(18)
    np.testing.assert_allclose(solve(X, Y[:, order], loss=loss, tol=1e-8).coef, whole[:, order], atol=2e-3)
    apart = [solve(X, Y[:, part], loss=loss, tol=1e-8).coef for part in (slice(0, 5), slice(5, 18))]
    np.testing.assert_allclose(np.hstack(apart), whole, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_odd_documents_and_features(loss):
    X, Y = make(5, 30, 10, 4)
    X = X.tolil()
    X[3] = 0
    X[7, :-1] = 0
    X = sp.csr_matrix(sp.hstack([X, np.zeros((30, 1)), X[:, :2]]))
    solution = solve(X, Y, loss=loss, tol=1e-7)
    assert np.isfinite(solution.coef).all()
    assert (solution.coef[11] == 0).all()
    np.testing.assert_allclose(solution.coef[:2], solution.coef[12:], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_large_values_stay_finite(loss):
    X, Y = make(6, 30, 10, 3, scale=1e6)
    solution = solve(X, Y, loss=loss, max_passes=300)
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.gap).all()
    assert (solution.gap >= 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_is_a_document_twice_and_of_zero_is_none(loss):
    X, Y = make(7, 30, 10, 3)
    weight = np.ones(30)
    weight[:5], weight[5:9] = 2, 0
    repeated = np.repeat(np.arange(30), weight.astype(int))
    one = solve(X, Y, loss=loss, tol=1e-9, sample_weight=weight)
    other = solve(X[repeated], Y[repeated], loss=loss, tol=1e-9)
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-7)
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-3)


def test_the_trade_off_may_differ_by_category():
    X, Y = make(8, 40, 10, 5)
    C = np.array([0.1, 1, 2, 5, 10])
    together = solve(X, Y, tol=1e-8, C=C)
    for k in range(5):
        alone = solve(X, Y[:, k], tol=1e-8, C=C[k])
        np.testing.assert_allclose(together.objective[k], alone.objective[0], rtol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_selected_features_are_the_only_ones_with_weights(loss):
    X, Y = make(9, 40, 12, 5)
    mask = np.random.default_rng(0).random((13, 5)) < 0.5
    mask[:, 4] = mask[:, 3]
    solution = solve(X, Y, loss=loss, tol=1e-8, mask=mask)
    assert (solution.coef[~mask] == 0).all()
    for k in range(5):
        alone = solve(X[:, np.flatnonzero(mask[:, k])], Y[:, k], loss=loss, tol=1e-8)
        assert solution.objective[k] == pytest.approx(alone.objective[0], rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_good_start_needs_fewer_passes(loss):
    X, Y = make(10, 80, 30, 4)
    cold = solve(X, Y, loss=loss, tol=1e-8)
    warm = solve(X, Y, loss=loss, tol=1e-8, init=cold.coef)
    assert warm.objective.sum() == pytest.approx(cold.objective.sum(), rel=1e-7)
    if loss != "hinge":
        assert warm.passes.sum() <= cold.passes.sum()


def test_impossible_requests_are_refused():
    X, Y = make(11, 10, 5, 2)
    for wrong in (
        {"loss": "huber"},
        {"prior": "cauchy"},
        {"C": -1},
        {"tol": 0},
        {"loss": "hinge", "prior": "laplace"},
    ):
        with pytest.raises(UsageError):
            solve(X, Y, **wrong)
    with pytest.raises(UsageError):
        solve(X, Y[:5])
    with pytest.raises(UsageError):
        solve(X * np.inf, Y)
