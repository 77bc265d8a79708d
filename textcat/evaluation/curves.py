"""Micro-averaged precision-recall curves over several categories (zhang_2000 figure 1).

Two ways of moving all categories along together: `pooled` lowers one threshold shared by every category;
`proportional` lets each category accept the same multiple of its number of positive documents, so that the
curve passes through the micro break-even point (multiple 1), which also sets every threshold by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from textcat.evaluation.break_even import rank_documents
from textcat.evaluation.contingency import Bools, Ints
from textcat.evaluation.measures import Floats


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """Points of a precision-recall curve in percent, by rising recall."""

    recall: Floats
    precision: Floats


def compute_micro_curve(
    scores: Floats, labels: Bools, how: Literal["pooled", "proportional"] = "proportional"
) -> PrecisionRecallCurve:
    """The curve over all categories; those without positive documents take part only in `pooled`."""
    if not labels.any():
        return PrecisionRecallCurve(recall=np.empty(0), precision=np.empty(0))
    if how == "pooled":
        return _compute_pooled_curve(scores, labels)
    return _compute_proportional_curve(scores, labels)


def area_under_curve(curve: PrecisionRecallCurve) -> float:
    """Percent of the unit square under the curve, by trapezoids; flat from recall 0 to the first point."""
    if not len(curve.recall):
        return float("nan")
    recall = np.concatenate([[0.0], curve.recall])
    precision = np.concatenate([curve.precision[:1], curve.precision])
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1])) / 200.0)


def _compute_pooled_curve(scores: Floats, labels: Bools) -> PrecisionRecallCurve:
    flat_scores, flat_labels = scores.ravel(), labels.ravel()
    order = np.argsort(-flat_scores, kind="stable")
    hits = np.cumsum(flat_labels[order], dtype=np.int64)
    accepted = np.arange(1, len(order) + 1, dtype=np.int64)
    ends_a_tie = np.append(np.diff(flat_scores[order]) != 0, True)
    return _make_curve(hits[ends_a_tie], accepted[ends_a_tie], int(flat_labels.sum()))


def _compute_proportional_curve(scores: Floats, labels: Bools, points: int = 100) -> PrecisionRecallCurve:
    """Up to the break-even point in even steps, from there on in growing ones until all is accepted."""
    ranked = np.take_along_axis(labels, rank_documents(scores), axis=0)
    positives = np.count_nonzero(labels, axis=0)
    present = positives > 0
    positives = positives[present]
    hits = np.cumsum(ranked[:, present], axis=0, dtype=np.int64)
    largest_multiple = len(labels) / positives.min()
    beyond = np.geomspace(1.0, largest_multiple, points)[1:]
    multiples = np.append(np.arange(1, points + 1) / points, beyond)[:, np.newaxis]
    accepted = np.clip(np.ceil(multiples * positives), 1, len(labels)).astype(np.int64)
    found = np.take_along_axis(hits, accepted - 1, axis=0)
    return _make_curve(found.sum(axis=1), accepted.sum(axis=1), int(positives.sum()))


def _make_curve(hits: Ints, accepted: Ints, positives: int) -> PrecisionRecallCurve:
    return PrecisionRecallCurve(recall=100.0 * hits / positives, precision=100.0 * hits / accepted)
