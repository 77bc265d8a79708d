"""Each conversion is proved on the objective itself: both forms must order weights in the same way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcat.errors import UsageError
from textcat.linear.regularization import (
    c_from_lam,
    lam_from_c,
    lam_from_laplace_rate,
    lam_from_variance,
)

RNG = np.random.default_rng(3)
LOSSES = RNG.random(7)
W = RNG.normal(size=5)
N = len(LOSSES)
positive = st.floats(1e-6, 1e6)


def ours(lam: float, prior: str) -> float:
    return float(LOSSES.mean() + lam * (np.abs(W).sum() if prior == "laplace" else (W * W).sum()))


@given(positive)
def test_cost_form_is_a_multiple(c: float) -> None:
    assert c * LOSSES.sum() + (W * W).sum() / 2 == pytest.approx(c * N * ours(lam_from_c(c, N), "gaussian"))
    lam = lam_from_c(c, N, "laplace")
    assert c * LOSSES.sum() + np.abs(W).sum() == pytest.approx(c * N * ours(lam, "laplace"))


@given(positive)
def test_minus_log_posterior_is_a_multiple(variance: float) -> None:
    gaussian = LOSSES.sum() + (W * W).sum() / (2 * variance)
    assert gaussian == pytest.approx(N * ours(lam_from_variance(variance, N), "gaussian"))
    bare = LOSSES.sum() + (W * W).sum() / variance
    assert bare == pytest.approx(N * ours(lam_from_variance(variance, N, bare=True), "gaussian"))
    rate = np.sqrt(2 / variance)
    laplace = LOSSES.sum() + rate * np.abs(W).sum()
    assert laplace == pytest.approx(N * ours(lam_from_variance(variance, N, "laplace"), "laplace"))
    assert lam_from_laplace_rate(rate, N) == pytest.approx(lam_from_variance(variance, N, "laplace"))


@given(positive, st.integers(1, 10**6), st.sampled_from(["gaussian", "laplace"]))
def test_conversions_invert(value: float, n: int, prior: str) -> None:
    assert c_from_lam(lam_from_c(value, n, prior), n, prior) == pytest.approx(value)


def test_printed_cost_of_zhang_jin_2003() -> None:
    assert c_from_lam(0.001, 7769) == pytest.approx(1 / (2 * 0.001 * 7769))


def test_a_prior_without_strength_is_refused() -> None:
    with pytest.raises(UsageError, match="no strength"):
        lam_from_c(1.0, 10, "none")
