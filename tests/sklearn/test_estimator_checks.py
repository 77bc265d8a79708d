"""Every estimator passes scikit-learn's own checks, without exception."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from textcat.sklearn import (
    FeatureSelector,
    OneVsRestLinearClassifier,
    PolytomousLinearClassifier,
    TermWeighting,
    ThresholdTuner,
)


@parametrize_with_checks(
    [
        OneVsRestLinearClassifier(),
        OneVsRestLinearClassifier("squared_hinge"),
        OneVsRestLinearClassifier("hinge"),
        OneVsRestLinearClassifier("squared"),
        OneVsRestLinearClassifier("logistic", "laplace"),
        OneVsRestLinearClassifier(features=3),
        PolytomousLinearClassifier(),
        PolytomousLinearClassifier("laplace"),
        FeatureSelector(),
        FeatureSelector("information_gain", 2),
        FeatureSelector("bi_normal_separation", 2, scope="mean"),
        FeatureSelector("chi_square", 2, scope="weighted_mean"),
        FeatureSelector("pearson", 2, scope="category"),
        FeatureSelector("document_frequency", 2, scope="sum"),
        TermWeighting(),
        TermWeighting("binary", cosine=False),
        TermWeighting("tf_idf"),
        TermWeighting("entropy_share"),
        ThresholdTuner(OneVsRestLinearClassifier()),
        ThresholdTuner(LogisticRegression(), rule="break-even", cv=None),
    ]
)
def test_contract(estimator: Any, check: Any) -> None:
    check(estimator)
