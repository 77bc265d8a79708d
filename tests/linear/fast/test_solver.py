"""The fast path and the faithful algorithms end at the same place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linear.problems import Small, make, smalls
from tests.loops import for_each
from textcat.linear import fit

PAIRS = [("logistic", "gaussian"), ("squared_hinge", "gaussian"), ("hinge", "gaussian")]
PAIRS += [("logistic", "laplace"), ("squared_hinge", "laplace")]


@for_each("masked", [False, True])
@for_each("lam", [2e-3, 0.02, 0.2])
@for_each(("loss", "prior"), PAIRS)
def test_same_optimum_as_the_faithful_algorithm(loss: str, prior: str, lam: float, masked: bool) -> None:
    small = make(71, documents=60, binary=False)
    known: dict[str, Any] = {"loss": loss, "prior": prior, "lam": lam, "tol": 5e-7, "max_passes": 20_000}
    known["mask"] = np.random.default_rng(0).random((15, 4)) < 0.7 if masked else None
    known["sample_weight"] = np.linspace(0.5, 2, 60) if masked else None
    fast = fit(small.X, small.Y, algorithm="fast", **known)
    slow = fit(small.X, small.Y, algorithm="row" if loss == "hinge" else "column", **known)
    for a, b in zip(fast.certificate, slow.certificate, strict=True):
        assert a.reason == "optimality"
        assert a.objective == pytest.approx(b.objective, rel=2e-6)


@settings(max_examples=40, deadline=None)
@given(smalls, st.sampled_from(PAIRS), st.sampled_from([1e-6, 1e-3, 0.1, 10.0]))
def test_certificates_hold_on_any_problem(small: Small, pair: tuple[str, str], lam: float) -> None:
    known: dict[str, Any] = {"loss": pair[0], "prior": pair[1], "lam": lam, "max_passes": 300}
    fast = fit(small.X, small.Y, algorithm="fast", **known)
    slow = fit(small.X, small.Y, algorithm="row" if pair[0] == "hinge" else "column", **known)
    for a, b in zip(fast.certificate, slow.certificate, strict=True):
        assert a.gap is not None
        assert a.gap >= -1e-9 * max(1.0, a.objective)
        assert a.objective - a.gap <= b.objective * (1 + 1e-7) + 1e-12
