"""Estimators for scikit-learn; they need the extra `sklearn`.

The rest of textcat never imports this package. Every estimator can be cloned, pickled and used in pipelines and
grid searches, and gives the same numbers as the function of textcat that it wraps.
"""

try:
    import sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(
        "textcat.sklearn needs scikit-learn 1.6 or newer: in the clone of textcat, run `pip install '.[sklearn]'`"
    ) from error

from textcat.sklearn.one_vs_rest import OneVsRestLinearClassifier, PolytomousLinearClassifier
from textcat.sklearn.text_categorizer import TextCategorizer
from textcat.sklearn.threshold_tuner import ThresholdTuner
from textcat.sklearn.transformers import FeatureSelector, TermWeighting

__all__ = [
    "FeatureSelector",
    "OneVsRestLinearClassifier",
    "PolytomousLinearClassifier",
    "TermWeighting",
    "TextCategorizer",
    "ThresholdTuner",
]
