"""Softmax regression against scikit-learn, its certificate, and its invariants."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from textcat.errors import BadDataError, UsageError
from textcat.learners.softmax import PriorName, SoftmaxProblem, certify, fit_softmax


def problem(
    seed: int, documents: int = 80, features: int = 12, categories: int = 4, density: float = 0.5
) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((documents, features)) * (rng.random((documents, features)) < density)
    noisy = X @ rng.standard_normal((features, categories)) + rng.standard_normal((documents, categories))
    Y = np.zeros((documents, categories), dtype=bool)
    Y[np.arange(documents), noisy.argmax(axis=1)] = True
    return scipy.sparse.csr_matrix(X), Y


@pytest.mark.parametrize(
    ("prior", "lam", "shape"),
    [
        *product(["gaussian"], [1e-4, 1e-2, 0.1], [(80, 12), (30, 60)]),
        *product(["laplace"], [0.02, 0.05, 0.1], [(80, 12), (30, 60)]),  # below, saga does not converge
    ],
)
def test_objective_is_that_of_scikit_learn(prior: PriorName, lam: float, shape: tuple[int, int]) -> None:
    from sklearn.linear_model import LogisticRegression

    X, Y = problem(1, *shape)
    documents = shape[0]
    model = fit_softmax(X, Y, prior=prior, lam=lam, penalize_bias=False)
    strength = 1 / (2 * lam * documents) if prior == "gaussian" else 1 / (lam * documents)
    penalty, solver = ("l2", "lbfgs") if prior == "gaussian" else ("l1", "saga")
    oracle = LogisticRegression(penalty=penalty, C=strength, solver=solver, tol=1e-9, max_iter=50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.fit(X, Y.argmax(axis=1))
    weights = np.zeros((shape[1] + 1, Y.shape[1]))
    weights[:-1, oracle.classes_], weights[-1, oracle.classes_] = oracle.coef_.T, oracle.intercept_
    theirs = certify(SoftmaxProblem(X, Y, prior, lam, penalize_bias=False), weights, 1e-9, 0, 0.0).objective
    assert model.joint_certificate is not None
    if oracle.classes_.size == Y.shape[1]:
        assert model.joint_certificate.objective == pytest.approx(theirs, rel=1e-6)
    assert model.joint_certificate.objective <= theirs * (1 + 1e-6)


@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
@given(seed=st.integers(0, 1000), lam=st.sampled_from([1e-5, 1e-3, 0.05, 10.0]))
@settings(max_examples=10, deadline=None)
def test_gap_is_small_and_never_below_zero(prior: PriorName, seed: int, lam: float) -> None:
    X, Y = problem(seed, documents=40, features=6, categories=3)
    found = fit_softmax(X, Y, prior=prior, lam=lam, tol=1e-8).joint_certificate
    assert found is not None
    assert found.gap >= -1e-9 * found.objective
    assert found.gap <= 1e-4 * found.objective + 1e-7
    assert found.violation <= 1e-6


@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_a_feature_in_other_units_gives_the_same_probabilities(prior: PriorName) -> None:
    X, Y = problem(6)
    plain = fit_softmax(X, Y, prior=prior, lam=1e-4, bias=1.0)
    factor = 1e12 if prior == "gaussian" else 1e6
    large = fit_softmax(1e6 * X, Y, prior=prior, lam=1e-4 * factor, bias=1e6)
    assert plain.joint_certificate is not None
    assert large.joint_certificate is not None
    assert large.joint_certificate.objective == pytest.approx(plain.joint_certificate.objective, rel=1e-7)
    assert large.joint_certificate.reason == plain.joint_certificate.reason == "converged"


@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_gap_bounds_the_distance_of_any_weights(prior: PriorName) -> None:
    X, Y = problem(3)
    model = fit_softmax(X, Y, prior=prior, lam=1e-2, tol=1e-10)
    assert model.joint_certificate is not None
    best = model.joint_certificate.objective
    rng = np.random.default_rng(0)
    setting = SoftmaxProblem(X, Y, prior, 1e-2)
    for scale in (0.0, 0.1, 1.0, 100.0):
        weights = scale * rng.standard_normal(setting.shape)
        away = certify(setting, weights, 1e-9, 0, 0.0)
        assert away.gap >= away.objective - best - 1e-9
        assert away.objective >= best - 1e-9


def test_laplace_is_all_zero_above_its_critical_value_and_sparse_below() -> None:
    X, Y = problem(5)
    setting = SoftmaxProblem(X, Y, "laplace", 1.0)
    _, residual = setting.compute_loss_and_residual(np.zeros(setting.shape))
    critical = float(np.abs(setting.multiply_backward(residual)).max())
    above = fit_softmax(X, Y, prior="laplace", lam=critical * 1.001)
    below = fit_softmax(X, Y, prior="laplace", lam=critical * 0.6)
    assert np.all(above.coef == 0)
    assert np.all(above.intercept == 0)
    assert 0 < np.count_nonzero(below.coef) < below.coef.size


@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_permuting_everything_permutes_the_weights(prior: PriorName) -> None:
    X, Y = problem(7)
    rng = np.random.default_rng(2)
    documents, features, categories = rng.permutation(80), rng.permutation(12), rng.permutation(4)
    plain = fit_softmax(X, Y, prior=prior, lam=1e-2, tol=1e-10)
    moved = fit_softmax(
        X[documents][:, features], Y[np.ix_(documents, categories)], prior=prior, lam=1e-2, tol=1e-10
    )
    # with the Laplace prior and an even number of categories, a feature's weights may shift together
    theirs = plain.coef[np.ix_(features, categories)]
    moved_contrast = moved.coef - moved.coef.mean(axis=1, keepdims=True)
    assert np.allclose(moved_contrast, theirs - theirs.mean(axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
@pytest.mark.parametrize("lam", [1e-8, 1e-3, 10.0])
def test_hard_shapes_stay_finite(prior: PriorName, lam: float) -> None:
    X, Y = problem(9, documents=30, features=5, categories=3)
    wide = scipy.sparse.hstack([X, X[:, :1], scipy.sparse.csr_matrix((30, 2))]).tocsr()
    wide = scipy.sparse.vstack([scipy.sparse.csr_matrix((1, 8)), wide[1:]]).tocsr()
    empty_category = np.column_stack([Y, np.zeros(30, dtype=bool)])
    with np.errstate(all="raise", under="ignore"):
        model = fit_softmax(wide * 1e6, empty_category, prior=prior, lam=lam, max_passes=200)
    assert np.isfinite(model.scores(wide)).all()
    assert np.all(model.coef[-2:] == 0)


def test_a_large_bias_is_an_unpenalised_constant() -> None:
    X, Y = problem(4)
    free = fit_softmax(X, Y, lam=1e-2, penalize_bias=False)
    wide = fit_softmax(X, Y, lam=1e-2, bias=1e3)
    assert np.allclose(free.coef, wide.coef, atol=1e-3)


def test_wrong_labels_and_settings_are_refused() -> None:
    X, Y = problem(4)
    several = Y.copy()
    several[0] = True
    with pytest.raises(BadDataError, match="exactly one"):
        fit_softmax(X, several)
    with pytest.raises(UsageError, match="has shape"):
        fit_softmax(X, Y[:3])
    with pytest.raises(UsageError, match="lam"):
        fit_softmax(X, Y, lam=0)
