"""Feature scores, and the selection of features per category or pooled."""

from textcat.selection.choice import SelectionSettings, best, pool, select
from textcat.selection.scores import score

__all__ = ["SelectionSettings", "best", "pool", "score", "select"]
