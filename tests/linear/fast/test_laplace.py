"""The Laplace prior against liblinear, and what must hold whatever the data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.linear.fast.problems import make, objective, solve

LOSSES = ("logistic", "squared_hinge")


def oracle(X, y, loss, C):
    """The optimum of one category by liblinear's coordinate descent."""
    if loss == "logistic":
        settings_ = {"penalty": "l1", "solver": "liblinear", "tol": 1e-9, "max_iter": 100_000}
        model = LogisticRegression(C=C, fit_intercept=False, **settings_)
    else:
        settings_ = {
            "penalty": "l1",
            "loss": "squared_hinge",
            "dual": False,
            "tol": 1e-9,
            "max_iter": 1_000_000,
        }
        model = LinearSVC(C=C, fit_intercept=False, **settings_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return objective(X, y[:, None], model.coef_.T, loss, "laplace", C)[0]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(60, 20, 3), (15, 40, 3), (40, 5, 19), (200, 100, 3)])
def test_agrees_with_liblinear(loss, C, shape):
    X, Y = make(1, *shape)
    solution = solve(X, Y, loss=loss, prior="laplace", C=C, tol=1e-8)
    assert set(solution.reason) == {"optimality"}
    value = objective(X, Y, solution.coef, loss, "laplace", C)
    np.testing.assert_allclose(solution.objective, value, rtol=1e-9)
    for k in range(2, Y.shape[1]):
        if 0 < Y[:, k].sum() < len(Y):
            assert solution.objective[k] == pytest.approx(oracle(X, Y[:, k], loss, C), rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(1, 40),
    st.integers(1, 30),
    st.integers(1, 20),
    st.sampled_from(LOSSES),
    st.sampled_from([1e-3, 1.0, 50.0]),
)
def test_the_gap_is_honest(seed, n, d, k, loss, C):
    X, Y = make(seed, n, d, k)
    solution = solve(X, Y, loss=loss, prior="laplace", C=C, tol=1e-5)
    assert (solution.gap >= 0).all()
    assert (solution.gap <= 1e-5 * solution.objective).all()
    value = objective(X, Y, solution.coef, loss, "laplace", C)
    np.testing.assert_allclose(solution.objective, value, rtol=1e-9)
    finer = solve(X, Y, loss=loss, prior="laplace", C=C, tol=1e-8)
    assert (solution.objective - solution.gap <= finer.objective * (1 + 1e-9)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_is_selected_below_the_critical_trade_off(loss):
    X, Y = make(2, 50, 30, 4)
    slope = 0.5 if loss == "logistic" else 2.0
    steepest = np.abs(X.T @ np.where(Y, 1.0, -1.0)).max(axis=0) * slope
    below = solve(X, Y, loss=loss, prior="laplace", C=0.999 / steepest)
    above = solve(X, Y, loss=loss, prior="laplace", C=1.01 / steepest, tol=1e-9)
    assert (below.coef == 0).all()
    assert (above.coef != 0).any(axis=0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_other_categories_and_the_start_do_not_matter(loss):
    X, Y = make(3, 60, 30, 18)
    whole = solve(X, Y, loss=loss, prior="laplace", tol=1e-9)
    order = np.random.default_rng(0).permutation(18)
    moved = solve(X, Y[:, order], loss=loss, prior="laplace", tol=1e-9)
    np.testing.assert_allclose(moved.objective, whole.objective[order], rtol=1e-8)
    alone = solve(X, Y[:, 7], loss=loss, prior="laplace", tol=1e-9)
    np.testing.assert_allclose(alone.objective[0], whole.objective[7], rtol=1e-8)
    warm = solve(X, Y, loss=loss, prior="laplace", tol=1e-9, init=whole.coef)
    np.testing.assert_allclose(warm.objective, whole.objective, rtol=1e-8)
    assert warm.passes.sum() <= whole.passes.sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_extreme_values_stay_finite(loss, scale):
    X, Y = make(4, 30, 10, 3, scale=scale)
    solution = solve(X, Y, loss=loss, prior="laplace", max_passes=100)
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.objective).all()
    assert (solution.gap >= 0).all()


def test_weights_and_masks_reach_the_laplace_prior():
    X, Y = make(5, 40, 12, 5)
    weight = np.ones(40)
    weight[:5], weight[5:9] = 2, 0
    mask = np.random.default_rng(0).random((13, 5)) < 0.6
    repeated = np.repeat(np.arange(40), weight.astype(int))
    options = {"prior": "laplace", "tol": 1e-9, "mask": mask}
    one = solve(X, Y, sample_weight=weight, **options)
    other = solve(X[repeated], Y[repeated], **options)
    assert (one.coef[~mask] == 0).all()
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-8)


def make_rare_words(seed: int, n: int = 400, d: int = 600, k: int = 3):
    """Sparse documents with a constant, most of which have none of the few features that a category needs."""
    rng = np.random.default_rng(seed)
    X = sp.random(n, d, 0.01, random_state=seed, data_rvs=lambda size: rng.random(size) + 0.5)
    X = sp.csr_matrix(sp.hstack([X, np.full((n, 1), 0.7)]))
    Y = np.asarray((X[:, :k] > 0).todense()) | (rng.random((n, k)) < 0.02)
    return X, Y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_documents_with_only_the_constant_are_solved_together(loss, C):
    X, Y = make_rare_words(1)
    solution = solve(X, Y, loss=loss, prior="laplace", C=C, tol=1e-8)
    used = X[:, np.flatnonzero((solution.coef[:-1] != 0).any(axis=1))]
    assert used.nnz and np.diff(used.indptr).astype(bool).mean() < 0.8
    np.testing.assert_allclose(
        solution.objective, objective(X, Y, solution.coef, loss, "laplace", C), rtol=1e-9
    )
    for k in range(Y.shape[1]):
        assert solution.objective[k] == pytest.approx(oracle(X, Y[:, k], loss, C), rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("tol", [0.5, 0.05])
def test_a_loose_gap_is_reached_in_a_few_rounds(loss, seed, tol):
    X, Y = make_rare_words(seed)
    solution = solve(X, Y, loss=loss, prior="laplace", C=1.0, tol=tol, max_passes=100)
    assert set(solution.reason) == {"optimality"}
    best = solve(X, Y, loss=loss, prior="laplace", C=1.0, tol=1e-8)
    assert (solution.objective - best.objective <= tol * solution.objective).all()
