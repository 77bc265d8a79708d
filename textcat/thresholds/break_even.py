"""Thresholds at the break-even point of given scores: as many accepted as there are positive documents."""

from __future__ import annotations

import numpy as np

from textcat.thresholds.apply import Bools, Floats, Ints
from textcat.thresholds.cuts import Cuts, cuts
from textcat.thresholds.tuned import BBR, TuningRule, place


def break_even_thresholds(scores: Floats, labels: Bools, rule: TuningRule = BBR) -> Floats:
    """The division whose size is nearest to the number of positives; of two equally near, the larger.

    Equal scores cannot be divided, so that precision and recall may differ a little. Of `rule` only the point
    in the interval and `no_positives` are used.
    """
    candidates = cuts(scores, labels)
    return accepting_thresholds(candidates, candidates.positives, rule)


def accepting_thresholds(candidates: Cuts, wanted: Floats | Ints, rule: TuningRule) -> Floats:
    """Thresholds whose division is nearest in size to the number of documents wanted of each category."""
    accepted = np.arange(len(candidates.hits))[:, np.newaxis]
    distance = np.abs(accepted - wanted).astype(np.float64)
    distance[~candidates.possible] = np.inf
    last = len(distance) - 1
    chosen = last - distance[::-1].argmin(axis=0).astype(np.int64)
    thresholds = place(candidates.below(chosen), candidates.above(chosen), rule)
    thresholds[candidates.positives == 0] = rule.no_positives
    return thresholds
