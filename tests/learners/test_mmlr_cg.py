"""MMLR-CG: gradient, line search, optimum at a fixed gamma, and the bound to the SVM objective."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.learners.test_softmax import problem
from textcat.learners.mmlr_cg import (
    MarginProblem,
    fit_mmlr_cg,
    run_conjugate_gradient,
    search_line,
)
from textcat.learners.parameters import MulticlassParameters
from textcat.linear.model import LinearModel


def plain_objective(
    X: np.ndarray, Y: np.ndarray, weights: np.ndarray, lam: float, gamma: float | None
) -> float:
    """Term by term, as printed; gamma=None is the hinge."""
    total = 0.0
    for document, labels in zip(X, Y, strict=True):
        scores = document @ weights[:-1] + weights[-1]
        truth = int(labels.argmax())
        for k in range(Y.shape[1]):
            short = 2 - (scores[truth] - scores[k])
            if k != truth:
                total += max(0.0, short) if gamma is None else float(np.logaddexp(0, gamma * short)) / gamma
    return total / len(X) + lam * float((weights[:-1] ** 2).sum())


@given(seed=st.integers(0, 1000), gamma=st.sampled_from([1.0, 11.0, 191.0]))
@settings(max_examples=15, deadline=None)
def test_objectives_are_the_printed_ones_and_lie_within_the_bound(seed: int, gamma: float) -> None:
    X, Y = problem(seed, documents=15, features=4, categories=3)
    margin = MarginProblem(X, Y, 0.01)
    weights = np.random.default_rng(seed).standard_normal(margin.shape)
    leads = margin.compute_leads(margin.scores(weights))
    smooth, hinge = margin.smooth(weights, leads, gamma), plain_objective(X.toarray(), Y, weights, 0.01, None)
    assert smooth == pytest.approx(plain_objective(X.toarray(), Y, weights, 0.01, gamma))
    assert -1e-12 <= smooth - hinge <= 2 * np.log(2) / gamma + 1e-12


@given(seed=st.integers(0, 1000), gamma=st.sampled_from([1.0, 5.0, 50.0]))
@settings(max_examples=15, deadline=None)
def test_gradient_is_the_difference_quotient(seed: int, gamma: float) -> None:
    X, Y = problem(seed, documents=20, features=4, categories=3)
    margin = MarginProblem(X, Y, 0.1)
    weights = 0.5 * np.random.default_rng(seed).standard_normal(margin.shape)

    def objective(flat: np.ndarray) -> float:
        moved = flat.reshape(margin.shape)
        return margin.smooth(moved, margin.compute_leads(margin.scores(moved)), gamma)

    slope = margin.gradient(weights, margin.compute_leads(margin.scores(weights)), gamma)
    quotient = scipy.optimize.approx_fprime(weights.ravel(), objective, 1e-7)
    assert np.allclose(slope.ravel(), quotient, atol=1e-5)


@pytest.mark.parametrize("gamma", [1.0, 20.0])
def test_reaches_the_optimum_of_l_bfgs_at_a_fixed_gamma(gamma: float) -> None:
    X, Y = problem(2)
    margin = MarginProblem(X, Y, 1e-2)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        moved = flat.reshape(margin.shape)
        leads = margin.compute_leads(margin.scores(moved))
        return margin.smooth(moved, leads, gamma), margin.gradient(moved, leads, gamma).ravel()

    start = np.zeros(margin.shape[0] * margin.shape[1])
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-10}
    oracle = scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    weights, _ = run_conjugate_gradient(margin, np.zeros(margin.shape), gamma, 600)
    assert objective(weights.ravel())[0] == pytest.approx(oracle.fun, rel=1e-6)


def test_every_step_lowers_the_smooth_objective() -> None:
    X, Y = problem(3)
    margin = MarginProblem(X, Y, 1e-3)
    values = []
    for steps in range(15):
        weights, _ = run_conjugate_gradient(margin, np.zeros(margin.shape), 30.0, steps)
        values.append(margin.smooth(weights, margin.compute_leads(margin.scores(weights)), 30.0))
    assert all(later < earlier for earlier, later in pairwise(values))


@given(
    seed=st.integers(0, 1000),
    gamma=st.sampled_from([1.0, 100.0, 1000.0]),
    scale=st.sampled_from([1e-6, 1, 1e6]),
)
@settings(max_examples=30, deadline=None)
def test_line_search_never_climbs(seed: int, gamma: float, scale: float) -> None:
    X, Y = problem(seed, documents=20, features=4, categories=3)
    margin = MarginProblem(X, Y, 1e-3)
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(margin.shape)
    scores = margin.scores(weights)
    slope = margin.gradient(weights, margin.compute_leads(scores), gamma)
    direction = -slope * scale
    step, _ = search_line(margin, weights, direction, scores, margin.scores(direction), gamma)
    moved = weights + step * direction
    before = margin.smooth(weights, margin.compute_leads(scores), gamma)
    after = margin.smooth(moved, margin.compute_leads(margin.scores(moved)), gamma)
    assert step >= 0
    assert after <= before
    if np.abs(slope).max() > 1e-6:
        assert after < before


def test_continuation_approaches_the_svm_objective() -> None:
    X, Y = problem(6, documents=120)
    found, longer = (fit_mmlr_cg(X, Y, MulticlassParameters(lam=1e-2, steps=steps)) for steps in (200, 600))
    last = hinge_objective(X, Y, 1e-2, found)
    assert last <= hinge_objective(X, Y, 1e-2, longer) + 3 * np.log(2) / 191
    certificate = found.joint_certificate
    assert certificate is not None
    assert certificate.objective is not None
    assert certificate.objective >= last
    assert "gamma 191" in certificate.reason
    assert (found.scores(X).argmax(axis=1) == Y.argmax(axis=1)).mean() > 0.8


def hinge_objective(X: scipy.sparse.csr_matrix, Y: np.ndarray, lam: float, model: LinearModel) -> float:
    return plain_objective(X.toarray(), Y, np.vstack([model.coef, model.intercept]), lam, None)


def test_relabelling_categories_relabels_the_model() -> None:
    X, Y = problem(7)
    order = np.array([2, 0, 3, 1])
    setting = MulticlassParameters(lam=1e-2, steps=30)
    plain = fit_mmlr_cg(X, Y, setting)
    moved = fit_mmlr_cg(X, Y[:, order], setting)
    assert np.allclose(moved.coef, plain.coef[:, order], atol=1e-6)


def test_huge_values_and_separable_data_stay_finite() -> None:
    X, Y = problem(8, documents=20, features=40)
    with np.errstate(all="raise", under="ignore"):
        model = fit_mmlr_cg(scipy.sparse.csr_matrix(X * 1e6), Y, MulticlassParameters(steps=40))
    assert np.isfinite(model.scores(X)).all()


def test_refuses_settings_out_of_range() -> None:
    for wrong in ({"lam": 0.0}, {"steps": 0}, {"steps_each": 0}, {"gamma": -1.0}, {"increase": -1.0}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            MulticlassParameters(**wrong)  # type: ignore[arg-type]
