"""Scores of folds: those of models trained on the other folds one by one, whether rows are shared or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.linear import fit
from textcat.linear.cross_validation import score_held_out_folds
from textcat.linear.regularization import lam_from_c
from textcat.store.arrays import read_matrix, write_matrix

FOLDS, DOCUMENTS, FEATURES, CATEGORIES = 3, 90, 25, 18
TIGHT: dict[str, Any] = {"algorithm": "fast", "tol": 1e-9, "max_passes": 5000}


def problem() -> tuple[sp.csr_array, np.ndarray]:
    """Documents of different lengths, some of them empty, and a category without members."""
    rng = np.random.default_rng(3)
    X = sp.random(DOCUMENTS, FEATURES, density=0.2, format="lil", random_state=4)
    X[[5, 50]] = 0
    Y = rng.random((DOCUMENTS, CATEGORIES)) < np.linspace(0.0, 0.5, CATEGORIES)
    return sp.csr_array(X), Y


def folds() -> list[tuple[np.ndarray, np.ndarray]]:
    numbers = np.random.default_rng(1).integers(FOLDS, size=DOCUMENTS)
    return [(np.flatnonzero(numbers != f), np.flatnonzero(numbers == f)) for f in range(FOLDS)]


def lams() -> list[float]:
    return [lam_from_c(2.0, len(kept)) for kept, _ in folds()]


def one_by_one(X: Any, Y: np.ndarray, **settings: Any) -> list[np.ndarray]:
    """Each fold's rows copied, each model trained from nothing."""
    return [
        fit(X[kept], Y[kept], lam=lam, **settings).scores(X[held])
        for (kept, held), lam in zip(folds(), lams(), strict=True)
    ]


@for_each("bias", [0.0, 2.0])
@for_each("started", [False, True])
@for_each("loss", ["logistic", "hinge", "squared_hinge"])
def test_shared_rows_lead_where_copied_ones_do(loss: str, started: bool, bias: float) -> None:
    X, Y = problem()
    settings = {**TIGHT, "loss": loss, "bias": bias}
    init = fit(X, Y, lam=lam_from_c(2.0, DOCUMENTS), **settings) if started else None
    found = score_held_out_folds(X, Y, folds(), lams(), init=init, **settings)
    for own, expected in zip(found, one_by_one(X, Y, **settings), strict=True):
        np.testing.assert_allclose(own, expected, atol=2e-4)


@for_each(
    "settings",
    [
        {"algorithm": "column", "tol": 1e-4},
        {"algorithm": "row", "loss": "hinge", "max_passes": 3, "options": {"stop": "passes"}},
        {"algorithm": "fast", "prior": "laplace"},
        {"algorithm": "fast", "mask": np.arange(FEATURES * CATEGORIES).reshape(FEATURES, CATEGORIES) % 3 > 0},
    ],
)
def test_what_cannot_share_rows_is_trained_on_rows_of_its_own(settings: dict[str, Any]) -> None:
    X, Y = problem()
    for own, expected in zip(
        score_held_out_folds(X, Y, folds(), lams(), **settings), one_by_one(X, Y, **settings), strict=True
    ):
        assert np.array_equal(own, expected)


def test_neither_jobs_nor_other_categories_nor_the_form_of_the_documents_change_scores(
    tmp_path: Path,
) -> None:
    X, Y = problem()
    settings: dict[str, Any] = {"algorithm": "fast", "loss": "squared_hinge", "tol": 1e-3}
    init = fit(X, Y, lam=0.01, **settings)
    together = score_held_out_folds(X, Y, folds(), lams(), init=init, n_jobs=3, **settings)
    write_matrix(tmp_path, "X", X)
    for form in (read_matrix(tmp_path, "X", mapped=True), X.toarray()):
        for fold, lam, expected in zip(folds(), lams(), together, strict=True):
            (alone,) = score_held_out_folds(form, Y, [fold], [lam], init=init, **settings)
            assert np.array_equal(alone, expected)


def test_folds_that_do_not_fit_are_refused() -> None:
    X, Y = problem()
    empty = (np.empty(0, np.int64), np.arange(DOCUMENTS))
    for parts, strengths in ((folds(), [0.1]), ([], []), ([empty], [0.1])):
        with pytest.raises(UsageError, match="folds"):
            score_held_out_folds(X, Y, parts, strengths, algorithm="fast")
