"""Measures that other packages add: functions of scores, decisions and labels, documents x categories."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from textcat.evaluation.contingency import Bools
from textcat.evaluation.measures import Floats
from textcat.evaluation.summary import measure_all
from textcat.plugins import find, guarded, loaded


@cache
def own_measures() -> tuple[str, ...]:
    """The names of all measures that are always taken, those of single categories left out."""
    one = np.ones((1, 1), dtype=np.bool_)
    measures = measure_all(one.astype(np.float64), one, one, ["one"], np.ones(1, dtype=np.int64))
    return tuple(name for name in measures if not name.startswith("category."))


def more_measures(names: Iterable[str], scores: Floats, decisions: Bools, labels: Bools) -> dict[str, float]:
    """The measures of plugins by name; one that is undefined is NaN."""
    found: dict[str, float] = {}
    for name in names:
        plugin = find("measures", name, own_measures())
        if plugin is not None:
            measure = guarded(plugin, loaded(plugin))
            found[name] = guarded(plugin, float)(measure(scores, decisions, labels))
    return found
