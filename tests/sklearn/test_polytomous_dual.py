"""PolytomousLinearClassifier with the dual algorithm: the optimum of L-BFGS, and wrong names refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from tests.learners.test_softmax import problem
from textcat.sklearn import PolytomousLinearClassifier


@pytest.mark.parametrize("weighted", [False, True])
def test_both_algorithms_find_the_same_optimum(weighted: bool) -> None:
    X, Y = problem(3, documents=120)
    y = Y.argmax(axis=1)
    weights = np.random.default_rng(3).random(120) + 0.2 if weighted else None
    usual = PolytomousLinearClassifier(C=2.0, tol=1e-10).fit(X, y, weights)
    dual = PolytomousLinearClassifier(C=2.0, tol=1e-10, algorithm="dual").fit(X, y, weights)
    assert np.abs(usual.coef_ - dual.coef_).max() < 1e-4
    assert np.abs(usual.predict_proba(X) - dual.predict_proba(X)).max() < 1e-4
    assert dual.certificate_.gap <= 1e-10


def test_wrong_settings_are_refused() -> None:
    X, Y = problem(3)
    with pytest.raises(ValueError, match="unknown algorithm 'newton'"):
        PolytomousLinearClassifier(algorithm="newton").fit(X, Y.argmax(axis=1))
    with pytest.raises(ValueError, match="dual algorithm needs"):
        PolytomousLinearClassifier("laplace", algorithm="dual").fit(X, Y.argmax(axis=1))


def test_it_passes_the_checks_of_scikit_learn() -> None:
    # Steps end where they no longer raise the dual by more than rounding: half of the digits of the weights.
    inexact = "weights are exact to 1e-6, the check asks for 1e-7"
    check_estimator(
        PolytomousLinearClassifier(algorithm="dual", tol=1e-14),
        expected_failed_checks={
            "check_sample_weight_equivalence_on_dense_data": inexact,
            "check_sample_weight_equivalence_on_sparse_data": inexact,
        },
        on_skip=None,
    )
