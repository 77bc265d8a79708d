"""Log-count ratios by hand, and the machine on them against a direct computation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from tests.experiment.own_table import results_of
from textcat.errors import UsageError
from textcat.learners.naive_bayes import compute_log_count_ratios, fit_nb_svm


def problem(seed: int, documents: int = 120, terms: int = 25, categories: int = 3):
    rng = np.random.default_rng(seed)
    Y = np.eye(categories, dtype=bool)[rng.integers(categories, size=documents)]
    rates = 0.2 + 0.5 * (Y @ (rng.random((categories, terms)) < 0.2))
    return sp.csr_matrix((rng.random((documents, terms)) < rates).astype(np.float64)), Y


def test_ratios_are_those_of_the_counted_documents() -> None:
    X = sp.csr_matrix(np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [1.0, 0.0, 0.0]]))
    Y = np.array([[True], [False], [True]])
    # Documents with each term, plus one: 3, 1, 2 in the category and 1, 2, 2 outside it.
    expected = np.log(np.array([3, 1, 2]) / 6) - np.log(np.array([1, 2, 2]) / 5)
    assert compute_log_count_ratios(X, Y, 1.0)[:, 0] == pytest.approx(expected)


def test_stored_zeros_are_not_counted() -> None:
    X, Y = problem(1)
    stored = X.copy()
    stored.data[::3] = 0.0
    plain = stored.copy()
    plain.eliminate_zeros()
    assert np.array_equal(compute_log_count_ratios(stored, Y, 1.0), compute_log_count_ratios(plain, Y, 1.0))


@pytest.mark.parametrize("beta", [1.0, 0.25, 0.0])
def test_scores_are_those_of_a_direct_computation(beta: float) -> None:
    X, Y = problem(2)
    ours = fit_nb_svm(X, Y, cost=0.7, beta=beta, tol=1e-10)
    ratios = compute_log_count_ratios(X, Y, 1.0)
    for column in range(Y.shape[1]):
        features = X.toarray() * ratios[:, column]
        machine = LinearSVC(C=0.7, loss="squared_hinge", tol=1e-10, max_iter=200_000, fit_intercept=False)
        machine.fit(np.hstack([features, np.ones((len(features), 1))]), Y[:, column])
        w, constant = machine.coef_[0, :-1], machine.coef_[0, -1]
        w = (1 - beta) * np.abs(w).mean() + beta * w
        assert ours.scores(X)[:, column] == pytest.approx(features @ w + constant, abs=1e-4)


def test_features_outside_the_mask_have_no_weight() -> None:
    X, Y = problem(3)
    mask = np.random.default_rng(3).random((25, 3)) < 0.5
    for beta in (1.0, 0.25):
        model = fit_nb_svm(X, Y, mask=mask, beta=beta)
        assert not np.asarray(model.coef)[~mask].any()


def test_wrong_settings_are_refused() -> None:
    X, Y = problem(4)
    for wrong in ({"cost": 0.0}, {"alpha": -1.0}, {"tol": 0.0}):
        with pytest.raises(UsageError):
            fit_nb_svm(X, Y, **wrong)


def test_it_learns_the_topics_of_an_experiment(tmp_path: Path) -> None:
    runs = {"ratios": {"learner": "nb_svm"}, "few": {"learner": "nb_svm", "selection": {"features": 15}}}
    results = results_of(tmp_path, {"runs": runs, "corpus": {"single_label": True}}, single=True)
    assert results["runs"]["ratios"]["measures"]["accuracy"] > 75
    assert results["runs"]["few"]["measures"]["accuracy"] > 75


@pytest.mark.parametrize("beta", [1.0, 0.25])
def test_a_mask_is_training_on_the_selected_features(beta: float) -> None:
    X, Y = problem(5)
    mask = np.random.default_rng(5).random((25, 3)) < 0.5
    mask[:, 2] = False
    before = X.toarray()
    model = fit_nb_svm(X, Y, mask=mask, beta=beta, tol=1e-10)
    assert X.indptr[-1] == X.nnz == len(X.data)
    assert np.array_equal(X.toarray(), before)
    for column in range(2):
        own = np.flatnonzero(mask[:, column])
        alone = fit_nb_svm(X[:, own], Y[:, [column]], beta=beta, tol=1e-10)
        np.testing.assert_allclose(model.coef[own, column], alone.coef[:, 0], atol=1e-6)
        assert model.intercept[column] == pytest.approx(alone.intercept[0], abs=1e-6)
    assert not model.coef[:, 2].any()
    assert np.isfinite(model.intercept).all()
