"""MLR-CG: its schedule, its directions, and how near it comes to the support vector machine."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tests.linear.oracle import hinge_optimum, objective, with_constant
from tests.linear.problems import make
from textcat.linear import fit, load_named_learners


@pytest.mark.parametrize("gamma", [1.0, 10.0, 100.0])
def test_objective_lies_between_the_svm_and_ln2_over_gamma_above_it(gamma: float) -> None:
    small = make(51, documents=60)
    X, y = with_constant(small.X), small.signs[:, 2]
    model = fit(small.X, small.Y[:, 2], loss="modified_logistic", algorithm="conjugate_gradient", lam=1e-2,
                max_passes=3000, options={"gamma": gamma})  # fmt: skip
    w = np.append(model.coef[:, 0], model.intercept[0])
    at_w = objective("hinge", X, y, w, 1e-2)
    assert 0 <= model.certificate[0].objective - at_w <= np.log(2) / gamma
    least = hinge_optimum(X, y, 1e-2)
    assert 0 <= model.certificate[0].objective - least <= np.log(2) / gamma + 1e-6


def test_two_hundred_steps_come_close_to_the_svm() -> None:
    small = make(52, documents=60)
    settings = dict(load_named_learners()["MLR-CG"]["settings"], lam=1e-2, penalize_bias=True)
    model = fit(small.X, small.Y[:, 2], **settings)
    X, y = with_constant(small.X), small.signs[:, 2]
    w = np.append(model.coef[:, 0], model.intercept[0])
    assert model.certificate[0].passes == 200
    least = hinge_optimum(X, y, 1e-2)
    assert objective("hinge", X, y, w, 1e-2) - least < np.log(2) / 191
    gamma = objective("modified_logistic", X, y, w, 1e-2, gamma=191.0)
    assert model.certificate[0].objective == pytest.approx(gamma)


@pytest.mark.parametrize("direction", ["HS", "FR", "PR"])
def test_directions_reach_the_same_optimum(direction: str) -> None:
    small = make(53)
    known = fit(small.X, small.Y, loss="logistic", lam=1e-3, tol=1e-9, max_passes=5000)
    model = fit(small.X, small.Y, loss="logistic", lam=1e-3, algorithm="conjugate_gradient", tol=1e-8,
                max_passes=5000, options={"direction": direction, "steps": 20})  # fmt: skip
    for a, b in zip(model.certificate, known.certificate, strict=True):
        assert a.reason == "optimality"
        assert a.objective == pytest.approx(b.objective, rel=1e-7)


def test_quadratic_is_solved_in_as_many_steps_as_dimensions() -> None:
    """On least squares every direction is conjugate: 6 features and a constant need 7 steps."""
    small = make(54, features=6, binary=False)
    for direction in ("HS", "FR", "PR"):
        model = fit(small.X, small.Y[:, 2], loss="squared", lam=1e-2, algorithm="conjugate_gradient",
        max_passes=7,
                    options={"direction": direction, "steps": 100, "stop": "passes"})  # fmt: skip
        gap = model.certificate[0].gap
        assert gap is not None
        assert gap < 1e-10


def test_constant_is_not_pulled_to_zero() -> None:
    small = make(55)
    settings = dict(load_named_learners()["MLR-CG"]["settings"], lam=100.0)
    model = fit(small.X, small.Y[:, 2:], **settings)
    assert np.abs(model.coef).max() < 1e-2
    assert (np.abs(model.intercept) > 0.5).all()


def test_a_free_constant_does_not_run_away_on_a_rare_category() -> None:
    """With one positive document the objective is a plateau: a step must lower it or not be taken."""
    rng = np.random.default_rng(0)
    frequencies = 1.0 / np.arange(2, 42)
    X = sp.csr_matrix((rng.random((2000, 40)) < frequencies).astype(np.float64))
    Y = np.zeros((2000, 4), dtype=bool)
    for category, positives in enumerate((1, 1, 2, 3)):
        Y[rng.choice(2000, positives, replace=False), category] = True
    model = fit(X, Y, **load_named_learners()["MLR-CG"]["settings"])
    assert np.abs(model.coef).max() < 10
    assert np.abs(model.intercept).max() < 10
    hinge = np.maximum(0.0, 1.0 - np.where(Y, 1.0, -1.0) * model.scores(X)).mean(axis=0)
    objective = hinge + 1e-3 * np.square(model.coef).sum(axis=0)
    # The all-negative classifier is always possible.
    assert (objective <= 2.0 * Y.mean(axis=0) + np.log(2) / 191).all()


def test_one_newton_step_makes_directions_differ_that_an_exact_search_makes_equal() -> None:
    """After an exact search the gradient is orthogonal to the direction: Hestenes-Stiefel is Polak-Ribiere."""
    small = make(53)

    def weights(direction: str, line_search: str) -> np.ndarray:
        options = {"direction": direction, "steps": 50, "stop": "passes", "line_search": line_search}
        fitted = fit(small.X, small.Y, loss="logistic", lam=1e-3, algorithm="conjugate_gradient", max_passes=4,
                     options=options)  # fmt: skip
        return np.asarray(fitted.coef)

    assert weights("HS", "exact") == pytest.approx(weights("PR", "exact"), rel=1e-5, abs=1e-9)
    assert np.abs(weights("HS", "newton") - weights("PR", "newton")).max() > 1e-4


def test_newton_steps_reach_the_optimum() -> None:
    small = make(53)
    known = fit(small.X, small.Y, loss="logistic", lam=1e-3, tol=1e-9, max_passes=5000)
    model = fit(small.X, small.Y, loss="logistic", lam=1e-3, algorithm="conjugate_gradient", tol=1e-8,
                max_passes=5000, options={"line_search": "newton", "steps": 20})  # fmt: skip
    for a, b in zip(model.certificate, known.certificate, strict=True):
        assert a.objective == pytest.approx(b.objective, rel=1e-7)
