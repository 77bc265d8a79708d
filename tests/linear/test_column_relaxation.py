"""Column relaxation: shortcuts that change no bit of the weights, and lanes that leave a block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.linear.problems import make
from textcat.linear import cross_validation, fit, fit_path
from textcat.linear.cross_validation import choose_lam_by_cross_validation
from textcat.linear.papers import column_relaxation
from textcat.parallel import start_workers

LASSO: dict[str, Any] = {"prior": "laplace", "tol": 1e-5, "max_passes": 200}
SEARCH: dict[str, Any] = {
    "grid": (30.0, 3.0, 0.3),
    "folds": 4,
    "runs": 3,
    "own_divisions": True,
    "tol": 1e-5,
    "options": {"stop": "scores"},
}


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("bound", ["genkin_2004", "zhang_oles_2001"])
@pytest.mark.parametrize("lam", [0.1, 1e-3])
def test_kept_slopes_change_no_bit_of_a_lasso(
    monkeypatch: pytest.MonkeyPatch, precision: str, bound: str, lam: float
) -> None:
    """Weights and passes are those of the pass that computes every slope and every bound."""
    small = make(71, documents=60, features=25, categories=19, binary=False)
    mask = np.random.default_rng(2).random((25, 19)) < 0.7
    settings = LASSO | {"lam": lam, "mask": mask, "options": {"precision": precision, "bound": bound}}
    kept = fit(small.X, small.Y, **settings)
    monkeypatch.setattr(column_relaxation, "keeps_slopes", lambda _: False)
    computed = fit(small.X, small.Y, **settings)
    assert np.count_nonzero(kept.coef) > 0
    assert (kept.coef == 0).any()
    assert np.array_equal(kept.coef, computed.coef)
    assert np.array_equal(kept.intercept, computed.intercept)
    assert [one.passes for one in kept.certificate] == [one.passes for one in computed.certificate]


@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
@pytest.mark.parametrize("loss", ["logistic", "squared", "squared_hinge"])
def test_weights_of_0_and_1_are_bits_with_the_same_result(loss: str, prior: str) -> None:
    """A block with other weights reads numbers: its first categories have the same weights."""
    small = make(73, documents=50, features=20, categories=5, binary=False)
    weights = (np.random.default_rng(4).random(small.Y.shape) < 0.8).astype(float)
    others = weights.copy()
    others[:, -1] *= 0.5
    settings: dict[str, Any] = {"loss": loss, "prior": prior, "lam": 0.01, "max_passes": 30}
    settings["options"] = {"stop": "passes"}
    bits = fit(small.X, small.Y, sample_weight=weights, **settings)
    numbers = fit(small.X, small.Y, sample_weight=others, **settings)
    assert np.array_equal(bits.coef[:, :-1], numbers.coef[:, :-1])
    assert not np.array_equal(bits.coef[:, -1], numbers.coef[:, -1])
    whole = fit(small.X, small.Y, **settings)
    ones = fit(small.X, small.Y, sample_weight=np.ones(50), **settings)
    assert np.array_equal(whole.coef, ones.coef)


@pytest.mark.parametrize("lanes", [1, 16, 200])
def test_the_lanes_of_a_block_change_no_weight(lanes: int) -> None:
    small = make(74, documents=60, categories=40, binary=False)
    settings = LASSO | {"lam": 0.005}
    usual = fit(small.X, small.Y, **settings)
    divided = fit(small.X, small.Y, **settings, options={"lanes": lanes})
    np.testing.assert_allclose(divided.coef, usual.coef, atol=1e-12)
    assert [one.passes for one in divided.certificate] == [one.passes for one in usual.certificate]


@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_parts_of_own_divisions_are_trained_together(monkeypatch: pytest.MonkeyPatch, prior: str) -> None:
    """Likelihoods do not depend on how many parts and categories share a path, nor on an executor."""
    small = make(75, documents=40, categories=7, binary=False)
    known = SEARCH | {"prior": prior, "mask": np.random.default_rng(3).random((small.X.shape[1], 7)) < 0.8}
    known["sample_weight"] = np.linspace(0.5, 2, 40)
    together = choose_lam_by_cross_validation(small.X, small.Y, **known)
    assert (together.likelihood < 0).all()
    monkeypatch.setattr(cross_validation, "MAX_LANES", 4)
    apart = choose_lam_by_cross_validation(small.X, small.Y, **known)
    np.testing.assert_allclose(apart.likelihood, together.likelihood, rtol=1e-9)
    with start_workers("threads", 2) as workers:
        by_workers = choose_lam_by_cross_validation(small.X, small.Y, executor=workers, **known)
    np.testing.assert_allclose(by_workers.likelihood, together.likelihood, rtol=1e-9)
    one = choose_lam_by_cross_validation(small.X, small.Y, **known | {"runs": 1})
    two = choose_lam_by_cross_validation(small.X, small.Y, **known | {"runs": 2})
    assert (two.likelihood < one.likelihood).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("masked", [False, True])
def test_likelihoods_of_own_divisions_are_those_of_a_path_for_each_part(order: Any, masked: bool) -> None:
    """Every bit: so many documents that numpy works in place, where the order of arrays in memory shows."""
    small = make(77, documents=2500, features=40, categories=9, binary=False)
    labels = np.array(small.Y, order=order)
    known = SEARCH | {"prior": "laplace", "seed": 5}
    if masked:
        known["mask"] = np.random.default_rng(6).random((40, 9)) < 0.6
    found = choose_lam_by_cross_validation(small.X, labels, **known)
    random = np.random.default_rng(5)
    numbers = np.stack([random.permutation(2500) % 4 for _ in range(9)], axis=1)
    settings = {name: known[name] for name in ("prior", "seed", "tol", "options")}
    expected = np.zeros_like(found.likelihood)
    matrix = sp.csr_matrix(small.X, dtype=np.float64)
    for number in range(SEARCH["runs"]):
        held = numbers == number
        path = fit_path(
            matrix, labels, list(found.lams), loss="logistic", mask=known.get("mask"),
            sample_weight=np.where(held, 0.0, 1.0), **settings,
        )  # fmt: skip
        signs = np.where(labels, 1.0, -1.0)
        parts = [-np.logaddexp(0.0, -signs * model.scores(matrix)) * held for model in path]
        expected += np.array([part.sum(axis=0) for part in parts])
    assert np.array_equal(found.likelihood, expected)


def test_a_weight_that_rests_for_many_passes_can_still_move() -> None:
    """In float32 a trust region that is halved 150 times is 0, and its weight would stay where it is."""
    random = np.random.default_rng(36)
    common = random.normal(size=(60, 3))
    X = common @ random.normal(size=(3, 10)) + 0.05 * random.normal(size=(60, 10))
    Y = common[:, :1] + 0.5 * random.normal(size=(60, 1)) > 0
    known: dict[str, Any] = {"loss": "logistic", "prior": "laplace", "lam": 1e-3}
    best = fit(X, Y, algorithm="fast", tol=1e-9, **known).certificate[0].objective
    found = fit(
        X, Y, algorithm="column", tol=1e-5, max_passes=3000, options={"precision": "float32"}, **known
    )
    assert found.certificate[0].objective == pytest.approx(best, abs=1e-5)
