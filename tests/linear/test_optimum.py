"""Every combination against an independent solver, on problems with every defect that real data has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.linear.oracle import (
    hinge_optimum,
    laplace_optimum,
    objective,
    smooth_optimum,
    with_constant,
)
from tests.linear.problems import Small, make, smalls
from textcat.linear import LinearModel, Prior, fit

SMOOTH = ("squared", "squared_hinge", "logistic", "modified_logistic")
GAUSSIAN = [(loss, algorithm) for loss in SMOOTH for algorithm in ("column", "row", "conjugate_gradient")]


def whole(model: LinearModel, k: int) -> np.ndarray:
    return np.append(model.coef[:, k], model.intercept[k])


def assert_optimal(
    model: LinearModel, small: Small, best: Any, loss: str, lam: float, prior: str = "gaussian"
) -> None:
    """Certificates tell the truth, and a certified category is within 1e-6 of the independent optimum."""
    X = with_constant(small.X)
    for k, certificate in enumerate(model.certificate):
        value = objective(loss, X, small.signs[:, k], whole(model, k), lam, prior)
        least = best(X, small.signs[:, k])
        assert np.isfinite(value)
        assert certificate.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert certificate.gap is not None
        assert certificate.gap >= -1e-9 * max(1.0, value)
        assert value - least <= certificate.gap + 1e-9 * max(1.0, value)
        if certificate.reason == "optimality":
            assert value <= least * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize(("loss", "algorithm"), GAUSSIAN)
def test_gaussian_optimum(loss: str, algorithm: str, lam: float, binary: bool) -> None:
    if algorithm == "row":
        lam = max(lam, 5e-3)  # the dual converges slowly as lam vanishes (zhang_oles_2001, section 4.2)
    small = make(7, binary=binary)
    model = fit(small.X, small.Y, loss=loss, algorithm=algorithm, lam=lam, tol=3e-7, max_passes=20_000)
    assert all(each.reason == "optimality" for each in model.certificate)
    assert_optimal(model, small, lambda X, y: smooth_optimum(loss, X, y, lam)[0], loss, lam)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("lam", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("loss", SMOOTH)
def test_laplace_optimum(loss: str, lam: float, binary: bool) -> None:
    small = make(8, binary=binary)
    model = fit(small.X, small.Y, loss=loss, prior="laplace", lam=lam, tol=3e-7, max_passes=20_000)
    assert all(each.reason == "optimality" for each in model.certificate)
    assert_optimal(model, small, lambda X, y: laplace_optimum(loss, X, y, lam)[0], loss, lam, "laplace")


@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
def test_hinge_optimum(lam: float) -> None:
    small = make(9)
    model = fit(small.X, small.Y, loss="hinge", algorithm="row", lam=lam, tol=1e-7, max_passes=50_000)
    X = with_constant(small.X)
    for k in (2, 3):
        least = hinge_optimum(X, small.signs[:, k], lam)
        assert model.certificate[k].reason == "optimality"
        assert objective("hinge", X, small.signs[:, k], whole(model, k), lam) <= least * (1 + 1e-6)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(smalls, st.sampled_from(GAUSSIAN), st.sampled_from([1e-8, 1e-4, 0.1, 10.0]))
def test_gaussian_certificates_hold_on_any_problem(small: Small, pair: tuple[str, str], lam: float) -> None:
    loss, algorithm = pair
    model = fit(small.X, small.Y, loss=loss, algorithm=algorithm, lam=lam, tol=3e-7, max_passes=300)
    assert_optimal(model, small, lambda X, y: smooth_optimum(loss, X, y, lam)[0], loss, lam)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(smalls, st.sampled_from(SMOOTH), st.sampled_from([1e-8, 1e-3, 0.1, 10.0]))
def test_laplace_certificates_hold_on_any_problem(small: Small, loss: str, lam: float) -> None:
    model = fit(small.X, small.Y, loss=loss, prior="laplace", lam=lam, tol=3e-7, max_passes=300)
    assert_optimal(model, small, lambda X, y: laplace_optimum(loss, X, y, lam)[0], loss, lam, "laplace")


ANY = [(loss, algorithm, "float64") for loss, algorithm in [*GAUSSIAN, ("hinge", "row")]]
ANY += [(loss, algorithm, "float32") for loss, algorithm, _ in ANY if algorithm != "conjugate_gradient"]


@pytest.mark.parametrize("lam", [1e-8, 10.0])
@pytest.mark.parametrize(("loss", "algorithm", "precision"), ANY)
def test_values_of_a_million_stay_finite(loss: str, algorithm: str, lam: float, precision: str) -> None:
    small = make(11, binary=False)
    X = small.X * 1e6
    model = fit(
        X, small.Y, loss=loss, algorithm=algorithm, lam=lam, max_passes=40, options={"precision": precision}
    )
    assert np.isfinite(model.coef).all()
    assert np.isfinite(model.intercept).all()
    for each in model.certificate:
        assert np.isfinite(each.objective)
        assert each.gap is not None
        assert each.gap >= -1e-6 * max(1.0, each.objective)


@pytest.mark.parametrize("algorithm", ["column", "conjugate_gradient"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_unpenalized_constant(loss: str, algorithm: str) -> None:
    small = make(12)
    model = fit(
        small.X, small.Y[:, 2:], loss=loss, algorithm=algorithm, lam=1e-2, penalize_bias=False, tol=3e-7
    )
    X = with_constant(small.X)
    lams = np.append(np.full(small.X.shape[1], 1e-2), 0.0)
    for k in range(2):
        y = small.signs[:, k + 2]
        assert model.certificate[k].reason == "optimality"
        least = smooth_optimum(loss, X, y, lams)[0]
        assert objective(loss, X, y, whole(model, k), lams) <= least * (1 + 1e-6)


@pytest.mark.parametrize("loss", SMOOTH)
def test_laplace_with_an_unpenalized_constant(loss: str) -> None:
    small = make(16, documents=60, binary=False)
    Y = small.Y[:, 2:]
    model = fit(
        small.X, Y, loss=loss, prior="laplace", lam=0.02, penalize_bias=False, tol=3e-7, max_passes=5000
    )
    X, lams = with_constant(small.X), np.append(np.full(small.X.shape[1], 0.02), 0.0)
    for k in range(2):
        y = small.signs[:, k + 2]
        assert model.certificate[k].reason == "optimality"
        value = objective(loss, X, y, whole(model, k), lams, "laplace")
        assert value <= laplace_optimum(loss, X, y, lams)[0] * (1 + 1e-6)


@pytest.mark.parametrize("algorithm", ["column", "conjugate_gradient"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_no_prior(loss: str, algorithm: str) -> None:
    """Without a prior nothing bounds the optimum from below: the certificate has a violation and no gap."""
    rng = np.random.default_rng(17)
    X, Y = rng.normal(size=(200, 4)), rng.random((200, 2)) < 0.5
    model = fit(X, Y, loss=loss, prior="none", algorithm=algorithm, tol=1e-5, max_passes=3000)
    for k, certificate in enumerate(model.certificate):
        y = np.where(Y[:, k], 1.0, -1.0)
        assert certificate.gap is None
        assert certificate.reason == "optimality"
        assert certificate.objective <= smooth_optimum(loss, with_constant(X), y, 0.0)[0] * (1 + 1e-6)


@pytest.mark.parametrize("algorithm", ["column", "conjugate_gradient"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_categories_of_one_side_with_a_free_constant_stay_finite(loss: str, algorithm: str) -> None:
    small = make(18)
    model = fit(small.X, small.Y[:, :2], loss=loss, algorithm=algorithm, penalize_bias=False, max_passes=200)
    assert np.isfinite(model.intercept).all()
    assert all(np.isfinite(each.objective) and each.gap is not None for each in model.certificate)
    assert (np.sign(model.intercept) == [-1, 1]).all()


def test_lasso_is_zero_just_above_its_critical_strength() -> None:
    small = make(13)
    X, y = with_constant(small.X), small.signs[:, 2]
    critical = np.abs(X.T @ y).max() / (2 * len(y))
    above = fit(small.X, small.Y[:, 2], prior="laplace", lam=critical * 1.0001)
    below = fit(small.X, small.Y[:, 2], prior="laplace", lam=critical * 0.99)
    assert not above.coef.any()
    assert not above.intercept.any()
    assert below.coef.any() or below.intercept.any()


def test_variances_of_single_features() -> None:
    small = make(14, binary=False)
    d = small.X.shape[1]
    X, y, n = with_constant(small.X), small.signs[:, 2], small.X.shape[0]
    variance = np.linspace(0.1, 5, d)
    model = fit(small.X, small.Y[:, 2], prior=Prior("gaussian", variance), lam=0.01, tol=1e-7)
    lams = np.append(1 / (2 * variance * n), 0.01)

    def objective(w: np.ndarray) -> float:
        return float(np.mean(np.logaddexp(0, -(X @ w) * y)) + np.sum(lams * w**2))

    best = objective(whole(model, 0))
    assert model.certificate[0].objective == pytest.approx(best)
    assert model.certificate[0].reason == "optimality"
    rng = np.random.default_rng(0)
    assert all(objective(whole(model, 0) + 1e-3 * rng.normal(size=d + 1)) > best for _ in range(200))
