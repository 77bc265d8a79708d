"""The SVM with a free threshold against scikit-learn, its certificate and invariants."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from textcat.errors import UsageError
from textcat.experiment.steps.learner import LearningProblem, find_learner
from textcat.learners.parameters import validate_parameters
from textcat.learners.smo import fit_svm


def objective(X, y, weights, intercept, lam):
    """Equation 8, written once more; the penalty leaves the threshold out."""
    margins = np.where(y, 1.0, -1.0) * (X @ weights + intercept)
    return np.maximum(0.0, 1.0 - margins).mean() + lam * weights @ weights


def oracle_bounds(X, y, lam):
    """The value of a dual and of a primal point by libsvm: the optimum lies between them."""
    machine = SVC(kernel="linear", C=1.0 / (2.0 * lam * len(y)), tol=1e-10).fit(X, y)
    weights = machine.coef_.ravel()
    dual = 2.0 * lam * (np.abs(machine.dual_coef_).sum() - weights @ weights / 2.0)
    return dual, objective(X, y, weights, machine.intercept_[0], lam)


def random_problem(seed, documents, features, share, density=0.2, scale=1.0):
    generator = np.random.default_rng(seed)
    X = (
        (generator.random((documents, features)) < density)
        * generator.normal(1.0, 0.5, (documents, features))
        * scale
    )
    hidden = generator.normal(size=features)
    y = X @ hidden + generator.normal(size=documents) * scale * 0.5
    return X, y > np.quantile(y, 1.0 - share)


@pytest.mark.parametrize("shape", [(40, 5), (30, 80), (200, 20)])
@pytest.mark.parametrize("share", [0.05, 0.4])
@pytest.mark.parametrize("lam", [1e-5, 1e-3, 0.1, 10.0])
def test_the_objective_is_that_of_an_independent_solver(shape, share, lam):
    X, y = random_problem(1, *shape, share)
    model = fit_svm(sp.csr_matrix(X), y, lam, tol=1e-8)
    ours = objective(X, y, model.coef[:, 0], model.intercept[0], lam)
    dual, primal = oracle_bounds(X, y, lam)
    assert ours == pytest.approx(dual, rel=1e-6)
    assert ours <= primal * (1.0 + 1e-8)
    assert ours == pytest.approx(model.certificate[0].objective, rel=1e-12, abs=1e-15)


def odd_problem(seed, documents, features, scale):
    """Small integers; a duplicate document, an empty one, a duplicate feature; categories of every kind."""
    generator = np.random.default_rng(seed)
    X = (
        generator.integers(-1, 2, (documents, features))
        * scale
        * (generator.random((documents, features)) < 0.4)
    )
    X = np.vstack([X, X[:1], np.zeros((1, features))])
    X = np.hstack([X, X[:, :1]])
    return X, generator.random((documents + 2, 2)) < generator.choice([0.0, 0.2, 0.6, 1.0])


SHAPES = {"seed": st.integers(0, 10_000), "documents": st.integers(1, 25), "features": st.integers(1, 30)}


@given(**SHAPES, penalty=st.sampled_from([1e-5, 1e-3, 1.0, 10.0]), scale=st.sampled_from([1e-3, 1.0, 1e6]))
@settings(max_examples=60, deadline=None)
def test_any_shape_is_solved_to_the_gap_asked_for(seed, documents, features, penalty, scale):
    X, Y = odd_problem(seed, documents, features, scale)
    lam = penalty * scale**2  # the same problem at every scale
    model = fit_svm(X, Y, lam, tol=1e-6)
    for k, entry in enumerate(model.certificate):
        assert 0.0 <= entry.gap <= 1e-6 * entry.objective, entry
        ours = objective(X, Y[:, k], model.coef[:, k], model.intercept[k], lam)
        assert ours == pytest.approx(entry.objective, rel=1e-9, abs=1e-12)
        at_zero = 2 * min(Y[:, k].mean(), 1 - Y[:, k].mean())
        assert ours <= at_zero + 1e-6


@given(**SHAPES, lam=st.sampled_from([1e-8, 1e-3, 10.0]), scale=st.sampled_from([1e-6, 1e3, 1e6]))
@settings(max_examples=40, deadline=None)
def test_nothing_overflows_and_the_certificate_tells_the_truth_where_digits_run_out(
    seed, documents, features, lam, scale
):
    X, Y = odd_problem(seed, documents, features, scale)
    model = fit_svm(X, Y, lam, tol=1e-6, max_rounds=20)
    assert np.isfinite(model.coef).all()
    for k, entry in enumerate(model.certificate):
        ours = objective(X, Y[:, k], model.coef[:, k], model.intercept[k], lam)
        assert ours == pytest.approx(entry.objective, rel=1e-6, abs=1e-9)
        assert entry.gap >= 0.0


@pytest.mark.parametrize("value", [False, True])
def test_a_category_without_contrast_keeps_zero_weights(value):
    model = fit_svm(np.eye(4), np.full((4, 1), value), 0.01)
    assert not model.coef.any()
    assert model.intercept[0] == (1.0 if value else -1.0)
    assert model.certificate[0].objective == 0.0
    assert model.certificate[0].gap == 0.0


def test_a_small_batch_and_a_small_capacity_lead_to_the_same_optimum():
    X, y = random_problem(2, 300, 40, 0.3)
    reference = fit_svm(X, y, 1e-3, tol=1e-9).certificate[0].objective
    for batch, capacity in [(1, 1), (1, 3000), (5, 20), (1000, 10)]:
        entry = fit_svm(X, y, 1e-3, tol=1e-9, batch=batch, capacity=capacity, max_rounds=20_000).certificate[
            0
        ]
        assert entry.reason == "gap reached"
        assert entry.objective == pytest.approx(reference, rel=1e-8)


def test_the_gap_bounds_the_distance_to_the_optimum():
    X, y = random_problem(3, 200, 30, 0.3)
    optimum = fit_svm(X, y, 1e-4, tol=1e-10).certificate[0].objective
    for rounds in (1, 2, 3, 5):
        entry = fit_svm(X, y, 1e-4, batch=5, tol=1e-10, max_rounds=rounds).certificate[0]
        assert entry.objective - optimum <= entry.gap + 1e-12
        assert entry.reason == "most rounds allowed"


@pytest.mark.parametrize("cost", [{"lam": 1e-4}, {"cost": "norm"}])
def test_most_passes_of_an_experiment_stop_the_training(cost):
    X, y = random_problem(3, 400, 30, 0.3)
    problem = LearningProblem(sp.csr_matrix(X), y[:, None], np.ones((30, 1), dtype=bool), seed=0)
    stopped, done = (
        find_learner("smo").fit(problem, validate_parameters("smo", {**cost, **limit}), 1).certificate[0]
        for limit in ({"most_passes": 1}, {})
    )
    assert (stopped.reason, done.reason) == ("most rounds allowed", "gap reached")
    assert stopped.passes < done.passes


def test_of_an_interval_of_optimal_thresholds_the_middle_is_taken():
    X, y = random_problem(3, 40, 5, 0.5)
    model = fit_svm(X, y[:, None], lam=10.0)
    outputs = (model.scores(sp.csr_matrix(X)) - model.intercept).ravel()
    # With so small weights all positive documents want a higher threshold, and all others a lower one.
    low, high = (-1.0 - outputs[~y]).max(), (1.0 - outputs[y]).min()
    assert high - low > 1.0
    assert model.intercept[0] == pytest.approx((low + high) / 2)


def test_a_mask_equals_training_without_the_other_features():
    X, y = random_problem(7, 80, 30, 0.3)
    Y = np.column_stack([y, ~y])
    mask = np.random.default_rng(1).random((30, 2)) < 0.5
    model = fit_svm(X, Y, 1e-3, mask, tol=1e-9)
    assert not model.coef[~mask].any()
    for k in range(2):
        alone = fit_svm(X[:, mask[:, k]], Y[:, k], 1e-3, tol=1e-9)
        np.testing.assert_allclose(model.coef[mask[:, k], k], alone.coef[:, 0], atol=1e-6)


def test_permuted_documents_features_and_categories_permute_the_answer():
    X, y = random_problem(8, 70, 25, 0.3)
    Y = np.column_stack([y, X[:, 0] > 0, ~y])
    generator = np.random.default_rng(0)
    rows, columns, categories = generator.permutation(70), generator.permutation(25), [2, 0, 1]
    model = fit_svm(X, Y, 1e-3, tol=1e-11)
    moved = fit_svm(X[rows][:, columns], Y[rows][:, categories], 1e-3, tol=1e-11)
    np.testing.assert_allclose(moved.coef, model.coef[columns][:, categories], atol=1e-4)
    np.testing.assert_allclose(model.coef[:, 0], -model.coef[:, 2], atol=1e-4)


def test_the_number_of_jobs_changes_nothing():
    X, _ = random_problem(9, 60, 25, 0.3)
    Y = np.random.default_rng(2).random((60, 5)) < 0.3
    one, two = fit_svm(X, Y, 1e-3), fit_svm(X, Y, 1e-3, n_jobs=2)
    assert (one.coef == two.coef).all()
    assert (one.intercept == two.intercept).all()


def test_settings_out_of_range_are_refused():
    for broken in ({"lam": 0.0}, {"lam": float("nan")}, {"tol": -1.0}, {"batch": 0}):
        with pytest.raises(UsageError, match="must be"):
            fit_svm(np.eye(2), np.array([True, False]), **broken)
