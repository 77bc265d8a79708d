"""Scores of features, and the selection of the best ones per category or for all categories."""

from textcat.selection.choice import SelectionSettings, pool_scores, select_best, select_features
from textcat.selection.scores import Contingency, of_contingency, score_features

__all__ = [
    "Contingency",
    "SelectionSettings",
    "of_contingency",
    "pool_scores",
    "score_features",
    "select_best",
    "select_features",
]
