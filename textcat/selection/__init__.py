"""Feature scores, and the selection of features per category or pooled."""

from textcat.selection.choice import SelectionSettings, best, pool, select
from textcat.selection.scores import Contingency, of_contingency, score

__all__ = ["Contingency", "SelectionSettings", "best", "of_contingency", "pool", "score", "select"]
