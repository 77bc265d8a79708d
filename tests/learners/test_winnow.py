"""The six learners of zhang_2000 against ten-line references, scikit-learn, their duals and invariants."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from textcat.errors import UsageError
from textcat.learners.winnow import fit_dual_svm, fit_large_margin_winnow, fit_perceptron, fit_winnow


def with_constant(X, bias=1.0):
    return np.column_stack([X, np.full(len(X), bias)])


def perceptron_reference(X, y, rate, passes):
    weights = np.zeros(X.shape[1])
    for _ in range(passes):
        for document, label in zip(X, y, strict=True):
            if (weights @ document >= 0) != (label > 0):
                weights += label * document
    return rate * weights


def dual_ascent_reference(X, y, C, rate, passes):
    weights, alpha = np.zeros(X.shape[1]), np.zeros(len(y))
    for _ in range(passes):
        for i in range(len(y)):
            moved = max(min(C, alpha[i] + rate * (1 - weights @ X[i] * y[i])), 0.0)
            weights += (moved - alpha[i]) * y[i] * X[i]
            alpha[i] = moved
    return weights, alpha


def doubled(X):
    """The balanced embedding [x, -x], with the constant feature."""
    extended = np.column_stack([X, np.ones(len(X))])
    return np.hstack([extended, -extended])


def winnow_reference(X, y, rate, prior, passes, norm=None):
    exponents = np.zeros(X.shape[1])
    weights = np.full(X.shape[1], prior)
    for _ in range(passes):
        for document, label in zip(X, y, strict=True):
            if (weights @ document >= -1e-9 * prior) != (label > 0):
                exponents += label * document
                weights = prior * np.exp(rate * exponents)
                weights *= 1.0 if norm is None else norm / weights.sum()
    return weights if norm is None else weights * norm / weights.sum()


def large_margin_reference(X, y, C, rate, prior, passes, norm=None):
    exponents, alpha = np.zeros(X.shape[1]), np.zeros(len(y))

    def weights():
        raw = prior * np.exp(exponents)
        return raw if norm is None else raw * norm / raw.sum()

    for _ in range(passes):
        for i in range(len(y)):
            moved = max(min(C, alpha[i] + rate * (1 - weights() @ X[i] * y[i])), 0.0)
            exponents += (moved - alpha[i]) * y[i] * X[i]
            alpha[i] = moved
    return weights(), alpha


def fold(weights):
    """Weights of the doubled features as weights of the features and the constant."""
    half = len(weights) // 2
    return weights[:half] - weights[half:]


def words(seed, documents=30, features=12, categories=3, density=0.3):
    generator = np.random.default_rng(seed)
    X = (generator.random((documents, features)) < density).astype(float)
    return X, generator.random((documents, categories)) < generator.random(categories) * 0.6


def assert_same(model, k, expected, tolerance=1e-11):
    np.testing.assert_allclose(
        np.append(model.coef[:, k], model.intercept[k]), expected, atol=tolerance, rtol=1e-9
    )


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 20), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_the_perceptron_is_its_ten_line_reference(seed, documents, features, passes):
    X, Y = words(seed, documents, features, 3)
    mask = np.random.default_rng(seed).random((features, 3)) < 0.7
    model = fit_perceptron(sp.csr_matrix(X), Y, mask, passes=passes)
    for k in range(3):
        selected = with_constant(X * mask[:, k])
        expected = perceptron_reference(selected, np.where(Y[:, k], 1, -1), 0.01, passes)
        np.testing.assert_allclose(np.append(model.coef[:, k], model.intercept[k]), expected, atol=1e-14)


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.3, 10.0]), st.sampled_from([0.01, 0.1]))
@settings(max_examples=25, deadline=None)
def test_dual_ascent_is_its_ten_line_reference(seed, C, rate):
    X, Y = words(seed, 25, 10, 2)
    X = X * np.random.default_rng(seed).normal(size=X.shape)
    model = fit_dual_svm(X, Y, C=C, rate=rate, passes=7, bias=2.0)
    for k in range(2):
        sign = np.where(Y[:, k], 1, -1)
        expected, alpha = dual_ascent_reference(with_constant(X, 2.0), sign, C, rate, 7)
        np.testing.assert_allclose(model.coef[:, k], expected[:-1], atol=1e-12)
        np.testing.assert_allclose(model.intercept[k], 2.0 * expected[-1], atol=1e-12)
        losses = np.maximum(0, 1 - sign * (with_constant(X, 2.0) @ expected)).sum()
        primal = expected @ expected / 2 + C * losses
        dual = alpha.sum() - expected @ expected / 2
        assert model.certificate[k].objective == pytest.approx(primal / (C * 25), rel=1e-9)
        assert model.certificate[k].gap == pytest.approx((primal - dual) / (C * 25), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_dual_ascent_reaches_the_optimum_of_liblinear(C):
    X, Y = words(3, 80, 20, 1)
    model = fit_dual_svm(X, Y, C=C, passes=20_000)
    oracle = LinearSVC(C=C, loss="hinge", tol=1e-9, max_iter=1_000_000).fit(X, Y[:, 0])
    assert model.certificate[0].gap < 1e-6
    weights = np.append(oracle.coef_.ravel(), oracle.intercept_)
    losses = np.maximum(0, 1 - np.where(Y[:, 0], 1, -1) * (with_constant(X) @ weights)).sum()
    assert model.certificate[0].objective == pytest.approx(
        (weights @ weights / 2 + C * losses) / (C * 80), rel=1e-6
    )


def test_a_separable_problem_is_separated_and_the_category_stops_there():
    X, _ = words(1, 30, 40)
    Y = X[:, :2] > 0
    model = fit_perceptron(X, Y, rate=2.0**-7)  # a power of two keeps scores of exactly 0 exact
    assert ((model.scores(X) >= 0) == Y).all()
    for entry in model.certificate:
        assert entry.reason == "a whole pass moved nothing"
        assert entry.passes < 200
    again = fit_perceptron(X, Y, rate=2.0**-7, passes=max(entry.passes for entry in model.certificate))
    assert (again.coef == model.coef).all()


def test_a_seed_visits_the_documents_in_one_random_order():
    X, Y = words(6)
    order = np.random.default_rng(11).permutation(len(X))
    shuffled = fit_perceptron(X, Y, seed=11, passes=3)
    assert (shuffled.coef == fit_perceptron(X[order], Y[order], passes=3).coef).all()
    assert (shuffled.coef != fit_perceptron(X, Y, passes=3).coef).any()


def test_without_a_constant_feature_there_is_no_intercept():
    X, Y = words(7)
    model = fit_perceptron(X, Y, bias=0.0)
    assert not model.intercept.any()
    np.testing.assert_allclose(model.coef[:, 0], perceptron_reference(X, np.where(Y[:, 0], 1, -1), 0.01, 200))


@given(st.integers(0, 10_000), st.booleans(), st.integers(1, 10), st.sampled_from([0.01, 0.5]))
@settings(max_examples=40, deadline=None)
def test_winnow_is_its_ten_line_reference(seed, normalized, passes, rate):
    X, Y = words(seed, 20, 10, 2)
    model = fit_winnow(sp.csr_matrix(X), Y, normalized=normalized, rate=rate, passes=passes)
    norm = 2 * 0.01 * 11 if normalized else None
    for k in range(2):
        sign = np.where(Y[:, k], 1, -1)
        assert_same(model, k, fold(winnow_reference(doubled(X), sign, rate, 0.01, passes, norm)))


@given(
    st.integers(0, 10_000),
    st.booleans(),
    st.sampled_from([0.05, 1.0, 20.0]),
    st.sampled_from([0.01, 0.2]),
    st.sampled_from([0.01, 0.3]),
)
@settings(max_examples=40, deadline=None)
def test_large_margin_winnow_is_its_ten_line_reference(seed, normalized, C, rate, prior):
    X, Y = words(seed, 15, 8, 2)
    mask = np.random.default_rng(seed).random((8, 2)) < 0.8
    settings_ = {"C": C, "rate": rate, "prior": prior, "passes": 6, "normalized": normalized}
    model = fit_large_margin_winnow(X, Y, mask, **settings_)
    for k in range(2):
        norm = 2 * prior * (mask[:, k].sum() + 1) if normalized else None
        selected = doubled(X[:, mask[:, k]])
        sign = np.where(Y[:, k], 1, -1)
        weights, alpha = large_margin_reference(selected, sign, C, rate, prior, 6, norm)
        expected = np.zeros(9)
        expected[np.append(mask[:, k], True)] = fold(weights)
        assert_same(model, k, expected, 1e-10)
        assert_certified(model.certificate[k], selected, sign, weights, alpha, C, prior, norm)


def assert_certified(entry, X, y, weights, alpha, C, prior, norm):
    """Primal and dual as the paper prints them, plus the constant that makes the least entropy 0."""
    total = prior * X.shape[1]
    primal = (weights * np.log(weights / (np.e * prior))).sum() + C * np.maximum(0, 1 - X @ weights * y).sum()
    raw = prior * np.exp(X.T @ (alpha * y))
    if norm is None:
        dual, constant = alpha.sum() - raw.sum(), total
    else:
        dual = alpha.sum() - norm * np.log(raw.sum()) + norm * np.log(norm) - norm
        constant = norm - norm * np.log(norm / total)
    assert entry.objective * C * len(y) == pytest.approx(primal + constant, rel=1e-8, abs=1e-10)
    assert entry.gap * C * len(y) == pytest.approx(primal - dual, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("C", [0.05, 0.5])
def test_large_margin_winnow_reaches_the_optimum_of_its_dual(normalized, C):
    X, Y = words(3, 30, 10, 1, density=0.4)
    prior = 0.05
    model = fit_large_margin_winnow(X, Y, C=C, prior=prior, normalized=normalized, rate=0.05, passes=20_000)
    sign = np.where(Y[:, 0], 1, -1)
    features, norm = doubled(X), 2 * prior * 11

    def negative_dual(alpha):
        total = (prior * np.exp(features.T @ (alpha * sign))).sum()
        return -alpha.sum() + (norm * np.log(total / norm) if normalized else total - norm)

    oracle = minimize(negative_dual, np.zeros(30), bounds=[(0, C)] * 30, tol=1e-15, options={"maxiter": 5000})
    entry = model.certificate[0]
    assert entry.gap < 1e-6
    assert entry.objective == pytest.approx(-oracle.fun / (C * 30), rel=1e-5)


@given(st.integers(0, 10_000), st.sampled_from([None, 0.5, 200.0]))
@settings(max_examples=25, deadline=None)
def test_normalized_and_unnormalized_winnow_are_the_same_hyperplane(seed, norm):
    X, Y = words(seed)
    plain = fit_winnow(X, Y, passes=20)
    normalized = fit_winnow(X, Y, normalized=True, norm=norm, passes=20)
    for k in range(3):
        one, other = plain.coef[:, k], normalized.coef[:, k]
        if np.abs(one).max() > 0:
            np.testing.assert_allclose(other / np.abs(other).max(), one / np.abs(one).max(), atol=1e-12)
        assert plain.certificate[k].passes == normalized.certificate[k].passes


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("value", [1e3, 1e6])
def test_features_far_beyond_one_do_not_overflow(normalized, value):
    X, Y = words(6)
    for model in (
        fit_winnow(X * value, Y, normalized=normalized, passes=5),
        fit_large_margin_winnow(X * value, Y, C=1.0, normalized=normalized, passes=5),
    ):
        assert np.isfinite(model.coef).all()
        assert np.isfinite(model.scores(X * value)).all()
        for entry in model.certificate:
            assert entry.gap is None or (np.isfinite(entry.objective) and entry.gap >= 0)


MARGIN_LEARNERS = [
    fit_dual_svm,
    partial(fit_large_margin_winnow, normalized=False),
    partial(fit_large_margin_winnow, normalized=True),
]
LEARNERS = [fit_perceptron, fit_winnow, *(partial(fit, C=0.4) for fit in MARGIN_LEARNERS)]


@pytest.mark.parametrize("fit", MARGIN_LEARNERS)
def test_the_dual_never_falls_and_the_gap_closes_while_the_rate_is_small(fit):
    X, Y = words(5, 50, 18, 4)
    models = [fit(X, Y, C=1.0, rate=0.04, passes=passes) for passes in range(1, 22)]
    objectives = np.array([[entry.objective for entry in model.certificate] for model in models])
    gaps = np.array([[entry.gap for entry in model.certificate] for model in models])
    assert (np.diff(objectives - gaps, axis=0) >= -1e-12).all()
    assert (gaps >= 0).all()
    assert (gaps[-1] < gaps[0]).all()


@pytest.mark.parametrize("fit", LEARNERS)
def test_blocks_and_jobs_change_nothing_and_categories_are_independent(fit):
    X, Y = words(4, 30, 12, 45)
    model = fit(X, Y, passes=5)
    assert (fit(X, Y, passes=5, n_jobs=2).coef == model.coef).all()
    for k in (0, 17, 31, 44):
        alone = fit(X, Y[:, k], passes=5)
        assert (alone.coef[:, 0] == model.coef[:, k]).all()
        assert alone.certificate[0].passes == model.certificate[k].passes


@pytest.mark.parametrize("fit", LEARNERS)
def test_settings_out_of_range_are_refused(fit):
    X, Y = words(8)
    for broken in ({"rate": 0.0}, {"passes": 0}, {"bias": float("inf")}):
        with pytest.raises(UsageError, match="must be"):
            fit(X, Y, **broken)
    for broken in ({"prior": 0.0}, {"norm": 0.0}, {"C": -1.0}):
        with pytest.raises(UsageError, match="must be"):
            fit_large_margin_winnow(X, Y, **{"C": 1.0, "normalized": True, **broken})
