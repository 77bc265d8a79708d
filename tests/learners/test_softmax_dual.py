"""Dual ascent for softmax regression: the optimum of scikit-learn and of L-BFGS, with a gap that bounds the rest."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.learners.test_softmax import problem
from textcat.errors import UsageError
from textcat.experiment.steps.learner import LearningProblem
from textcat.experiment.steps.learners import fit_polytomous
from textcat.learners.parameters import validate_parameters
from textcat.learners.softmax import SoftmaxProblem, fit_softmax
from textcat.learners.softmax_dual import ascend_softmax_dual, can_ascend_dual


def certified(X, Y, lam: float, tol: float = 1e-9, **more):
    model = fit_softmax(X, Y, lam=lam, tol=tol, algorithm="dual", **more)
    assert model.joint_certificate is not None
    return model, model.joint_certificate


@pytest.mark.parametrize("lam", [1e-4, 1e-2, 0.1])
@pytest.mark.parametrize("shape", [(80, 12), (30, 60)])
def test_objective_is_that_of_scikit_learn(lam: float, shape: tuple[int, int]) -> None:
    from sklearn.linear_model import LogisticRegression

    X, Y = problem(1, *shape)
    kept = Y.any(axis=0)
    Y = Y[:, kept]
    with_constant = scipy.sparse.hstack([X, np.ones((X.shape[0], 1))]).tocsr()
    oracle = LogisticRegression(C=1 / (2 * lam * X.shape[0]), fit_intercept=False, tol=1e-10, max_iter=50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle.fit(with_constant, Y.argmax(axis=1))
    scores = with_constant @ oracle.coef_.T
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    theirs = -np.log(chances[Y]).mean() + lam * np.square(oracle.coef_).sum()
    model, certificate = certified(X, Y, lam)
    assert certificate.objective == pytest.approx(theirs, rel=1e-8)
    assert certificate.reason == "converged"
    assert np.abs(model.coef - oracle.coef_[:, :-1].T).max() < 1e-3


@example(seed=857, lam=1e-4, bias=5.0, weighted=False)
@given(
    seed=st.integers(0, 1000),
    lam=st.sampled_from([1e-6, 1e-4, 1e-2, 10.0]),
    bias=st.sampled_from([0.0, 1.0, 5.0]),
    weighted=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_the_gap_bounds_the_distance_to_the_optimum(
    seed: int, lam: float, bias: float, weighted: bool
) -> None:
    X, Y = problem(seed, documents=40)
    weights = np.random.default_rng(seed).random(40) + 0.1 if weighted else None
    best = fit_softmax(X, Y, lam=lam, bias=bias, tol=1e-10, sample_weight=weights).joint_certificate
    assert best is not None
    for tol in (1e-1, 1e-6):
        _, found = certified(X, Y, lam, tol, bias=bias, sample_weight=weights)
        assert found.gap is not None
        assert found.gap >= 0
        assert best.objective is not None
        assert found.objective is not None
        assert found.reason == "converged"
        assert found.gap <= tol * min(1.0, found.objective)
        assert found.objective - found.gap <= best.objective + 1e-9
        assert found.objective >= best.objective - 1e-9


def test_a_large_constant_takes_no_thousands_of_passes() -> None:
    X, Y = problem(857, documents=40)
    for bias in (5.0, 20.0):
        _, found = certified(X, Y, 1e-4, 1e-6, bias=bias)
        assert found.reason == "converged"
        assert found.passes < 1000  # the dual alone takes 5,154 and 80,488


def test_weights_are_those_of_lbfgs() -> None:
    X, Y = problem(5, documents=200, features=30, categories=6)
    ours, _ = certified(X, Y, 1e-3, 1e-12)
    theirs = fit_softmax(X, Y, lam=1e-3, tol=1e-10)
    assert np.abs(ours.coef - theirs.coef).max() < 1e-5
    assert np.abs(ours.intercept - theirs.intercept).max() < 1e-5


def test_hard_shapes_stay_finite_and_end() -> None:
    identical = scipy.sparse.csr_matrix(np.ones((6, 3)) * 1e3)
    labels = np.eye(3, dtype=bool)[np.arange(6) % 3]
    empty = scipy.sparse.csr_matrix((6, 3))
    for X in (identical, empty, scipy.sparse.csr_matrix(np.eye(6, 3) * 1e-9), np.eye(6, 3) * 1e4):
        for lam in (1e-8, 1e-2, 1e4):
            result = ascend_softmax_dual(X, labels, lam, 1.0, None, 1e-3, 200)
            assert np.isfinite(result.weights).all()
            assert np.isfinite(result.gap)


def test_equal_arguments_give_equal_bytes() -> None:
    X, Y = problem(6, documents=100)
    first, second = (fit_softmax(X, Y, lam=1e-3, algorithm="dual") for _ in range(2))
    assert first.coef.tobytes() == second.coef.tobytes()


def test_other_priors_and_free_constants_are_refused() -> None:
    X, Y = problem(7)
    for more in ({"prior": "laplace"}, {"penalize_bias": False}):
        with pytest.raises(UsageError, match="dual algorithm needs"):
            fit_softmax(X, Y, algorithm="dual", **more)
        with pytest.raises(ValueError, match="algorithm: lbfgs"):
            validate_parameters("softmax", {"algorithm": "dual", **more})
        assert not can_ascend_dual(more.get("prior", "gaussian"), more.get("penalize_bias", True), 100)
    assert not can_ascend_dual("gaussian", True, 10**9)


def test_the_default_strength_is_a_cost_of_ten() -> None:
    X, Y = problem(8)
    documents = Y.shape[0]

    def fit(**given: object):
        return fit_polytomous(LearningProblem(X, Y, None, 1), validate_parameters("softmax", dict(given)), 1)  # type: ignore[arg-type]

    default, by_cost, by_lam = fit(), fit(cost=10), fit(lam=1 / (2 * 10 * documents))
    assert np.array_equal(default.coef, by_cost.coef)  # type: ignore[attr-defined]
    assert np.allclose(default.coef, by_lam.coef)  # type: ignore[attr-defined]
    assert fit(prior="laplace", cost=1).describe()["settings"]["lam"] == pytest.approx(1 / documents)
    with pytest.raises(ValueError, match="not both"):
        validate_parameters("softmax", {"lam": 1.0, "cost": 1.0})


def test_the_problem_is_the_one_that_the_certificate_measures() -> None:
    X, Y = problem(9)
    found = ascend_softmax_dual(X, Y, 1e-2, 1.0, None, 1e-10, 1000)
    measured = SoftmaxProblem(X, Y, "gaussian", 1e-2)
    downhill = measured.compute_downhill(found.weights)
    assert np.abs(downhill).max() < 1e-4
