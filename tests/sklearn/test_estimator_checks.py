"""Every estimator passes scikit-learn's own checks, without exception."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from textcat.sklearn import (
    FeatureSelector,
    OneVsRestLinearClassifier,
    PolytomousLinearClassifier,
    TermWeighting,
    ThresholdTuner,
)


@pytest.mark.parametrize(
    "estimator",
    [
        OneVsRestLinearClassifier(),
        PolytomousLinearClassifier(),
        FeatureSelector("chi_square", 2, scope="weighted_mean"),
        TermWeighting(),
        ThresholdTuner(OneVsRestLinearClassifier()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_contract(estimator: Any) -> None:
    check_estimator(estimator, on_skip=None)
