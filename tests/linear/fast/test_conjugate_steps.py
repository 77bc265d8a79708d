"""Conjugate gradients within bounds: the optimum of the dual on a working set, with flat directions and little work."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.linear.fast.problems import make, solve
from textcat.linear.fast import support_vectors as finish
from textcat.linear.fast.conjugate_steps import copy_documents, maximise_on_documents
from textcat.linear.fast.layout import pack_rows

Array = NDArray[np.float64]


def make_documents(seed: int, repeated: int) -> tuple[Array, Array]:
    """Return documents of length 1 with a constant, and signs; the last documents repeat the first ones."""
    rng = np.random.default_rng(seed)
    X = rng.random((150, 400)) * (rng.random((150, 400)) < 0.05)
    X /= np.maximum(np.linalg.norm(X, axis=1), 1e-9)[:, None]
    X = np.hstack([X, np.ones((150, 1))])
    X[150 - repeated :] = X[:repeated]
    return X, np.where(rng.random(150) < 0.3, 1.0, -1.0)


def maximise(X: Array, signs: Array, ceiling: float, ridge: float, target: float, work: float = np.inf):
    """Solve from zero; return the dual variables, the weights, the reported gap and the work."""
    rows = pack_rows(sp.csr_matrix(X), np.ones(len(X)))
    matrix, features = copy_documents(rows, np.arange(len(X)), signs)
    alpha, w = np.zeros(len(X)), np.zeros(len(features))
    bounds = (rows.norms, np.full(len(X), ceiling), np.full(len(X), ridge))
    gap, spent = maximise_on_documents(matrix, *bounds, alpha, w, target, work)
    whole = np.zeros(X.shape[1])
    whole[features] = w
    return alpha, whole[rows.place], gap, spent


def compute_gap(X: Array, signs: Array, alpha: Array, ceiling: float, ridge: float) -> float:
    gradient = 1.0 - signs * (X @ (X.T @ (signs * alpha))) - ridge * alpha
    rise = np.clip(gradient / max(ridge, 1e-30), -alpha, ceiling - alpha)
    return float((rise * (gradient - 0.5 * ridge * rise)).sum())


@pytest.mark.parametrize("repeated", [0, 40])
@pytest.mark.parametrize(("ceiling", "ridge"), [(1.0, 0.0), (100.0, 0.0), (np.inf, 0.5), (np.inf, 0.005)])
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_asked_for_is_reached(seed: int, ceiling: float, ridge: float, repeated: int) -> None:
    X, signs = make_documents(seed, repeated)
    alpha, w, gap, _ = maximise(X, signs, ceiling, ridge, target=1e-7)
    assert gap <= 1e-7
    assert (alpha >= 0.0).all()
    assert (alpha <= ceiling).all()
    np.testing.assert_allclose(w, X.T @ (signs * alpha), atol=1e-9)
    assert compute_gap(X, signs, alpha, ceiling, ridge) == pytest.approx(gap, abs=1e-8)


def test_rounds_end_when_the_work_is_used_up() -> None:
    X, signs = make_documents(0, 0)
    *_, all_work = maximise(X, signs, 1.0, 0.0, target=1e-7)
    alpha, w, gap, work = maximise(X, signs, 1.0, 0.0, target=1e-7, work=all_work / 2)
    assert gap > 1e-7
    assert all_work / 2 < work < all_work
    np.testing.assert_allclose(w, X.T @ (signs * alpha), atol=1e-9)


def test_documents_are_copied_with_their_signs_over_their_own_features() -> None:
    X, signs = make_documents(1, 0)
    rows, chosen = pack_rows(sp.csr_matrix(X), np.ones(150)), np.array([7, 3, 140])
    (starts, positions, values), features = copy_documents(rows, chosen, signs)
    copied = np.zeros((3, X.shape[1]))
    for k in range(3):
        part = slice(starts[k], starts[k + 1])
        copied[k, features[positions[part]]] = values[part]
    assert np.array_equal(copied[:, rows.place], signs[chosen, None] * X[chosen])
    assert len(features) == np.count_nonzero(X[chosen].any(axis=0))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("products", [0.0, np.inf])
def test_each_method_finishes_alone(loss: str, products: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without work for conjugate gradients Newton steps finish all categories, with unlimited work none."""
    led: list[bool] = []
    take = finish._take_conjugate_steps
    monkeypatch.setattr(finish, "_PRODUCTS_PER_VISIT", products)
    monkeypatch.setattr(finish, "_take_conjugate_steps", lambda *given: led.append(take(*given)) or led[-1])
    X, Y = make(6, 300, 40, 8)
    solution = solve(X, Y, loss=loss, C=10.0, tol=1e-8)
    assert led
    assert all(led) == (products > 0)
    assert np.all(solution.gap <= 1e-8 * solution.objective)
