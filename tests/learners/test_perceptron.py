"""The Perceptron and the SVM by dual ascent against ten-line references, scikit-learn and invariants."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from textcat.errors import UsageError
from textcat.learners.perceptron import fit_dual_svm, fit_perceptron


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


def words(seed, documents=40, features=15, categories=3, density=0.3):
    generator = np.random.default_rng(seed)
    X = (generator.random((documents, features)) < density).astype(float)
    return X, generator.random((documents, categories)) < generator.random(categories) * 0.6


def with_constant(X, bias=1.0):
    return np.column_stack([X, np.full(len(X), bias)])


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


def test_the_dual_never_falls_while_the_rate_is_small():
    X, Y = words(5, 60, 20, 4)
    gaps = []
    duals = []
    for passes in range(1, 25):
        model = fit_dual_svm(X, Y, C=0.5, rate=0.04, passes=passes)
        objective = np.array([entry.objective for entry in model.certificate])
        gap = np.array([entry.gap for entry in model.certificate])
        gaps.append(gap)
        duals.append(objective - gap)
    assert (np.diff(duals, axis=0) >= -1e-12).all()
    assert (np.array(gaps) >= 0).all()
    assert (gaps[-1] < gaps[0]).all()


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


def test_the_rate_scales_the_perceptron_and_changes_no_decision():
    X, Y = words(2)
    slow, fast = fit_perceptron(X, Y, rate=0.01), fit_perceptron(X, Y, rate=7.0)
    np.testing.assert_allclose(fast.scores(X), 700 * slow.scores(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "fit", [fit_perceptron, lambda *given, **named: fit_dual_svm(*given, C=0.3, **named)]
)
def test_blocks_and_jobs_change_nothing_and_categories_do_not_see_each_other(fit):
    X, Y = words(4, 30, 12, 45)
    model = fit(X, Y, passes=5)
    assert (fit(X, Y, passes=5, n_jobs=2).coef == model.coef).all()
    for k in (0, 17, 44):
        alone = fit(X, Y[:, k], passes=5)
        assert (alone.coef[:, 0] == model.coef[:, k]).all()
        assert alone.certificate[0].passes == model.certificate[k].passes


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


def test_settings_out_of_range_are_refused():
    X, Y = words(8)
    for broken in ({"rate": 0.0}, {"passes": 0}, {"bias": float("inf")}, {"C": -1.0}):
        with pytest.raises(UsageError, match="must be"):
            fit_dual_svm(X, Y, **{"C": 1.0, **broken})
