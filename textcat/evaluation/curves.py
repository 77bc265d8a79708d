"""Break-even points, where precision equals recall, and micro-averaged precision-recall curves.

A category with n+ positive documents has precision = recall when exactly n+ documents are accepted, so its break-even
point is the precision at rank n+. Equal scores are ranked in document order. The micro value sums the counts over
categories, as in the tables of zhang_oles_2001 and zhang_2000.

The curve (zhang_2000 figure 1) lets each category accept the same multiple of its number of positive documents, so
that it passes through the micro break-even point at multiple 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textcat.evaluation.measures import Average, Bools, Floats, Ints, compute_percentage
from textcat.thresholds.tuning import check_scores, rank_by_score


@dataclass(frozen=True)
class BreakEven:
    """The number of positive documents n+ of each category, and the hits among its first n+ ranks."""

    hits: Ints
    positives: Ints

    def per_category(self) -> Floats:
        """Return percentages; NaN for a category without positive documents."""
        return compute_percentage(self.hits, self.positives, "skip")

    def micro(self, categories: Ints | None = None) -> Average:
        """Return the percentage over the summed counts of all or some categories."""
        part = self if categories is None else self.restrict(categories)
        hits, positives = (each.sum(axis=0, keepdims=True) for each in (part.hits, part.positives))
        return compute_percentage(hits, positives, "skip")[0]

    def restrict(self, categories: Ints) -> BreakEven:
        """Return the counts of some categories, in the given order."""
        return BreakEven(self.hits[categories], self.positives[categories])


def rank_labels(scores: Floats, labels: Bools) -> Bools:
    """Return the labels of each category in the order of decreasing scores; ties are in document order."""
    check_scores(scores, labels)
    return np.take_along_axis(labels, rank_by_score(scores)[0], axis=0)


def find_break_even(scores: Floats, labels: Bools) -> BreakEven:
    """Count the hits among the first n+ ranks of every category."""
    return count_break_even(rank_labels(scores, labels))


def count_break_even(ranked: Bools) -> BreakEven:
    """Count the hits among the first n+ ranks; `ranked` holds labels by decreasing scores."""
    positives = np.count_nonzero(ranked, axis=0).astype(np.int64)
    within = np.arange(len(ranked))[:, np.newaxis] < positives
    return BreakEven(hits=np.count_nonzero(ranked & within, axis=0).astype(np.int64), positives=positives)


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """Points of a precision-recall curve in percent, by increasing recall."""

    recall: Floats
    precision: Floats


class MicroCurve:
    """The micro-averaged curve of categories that are added in blocks.

    It has `points` even steps up to the break-even point and as many growing steps until all documents are accepted.
    """

    def __init__(self, documents: int, positives: Ints, points: int = 100) -> None:
        """Start a curve; `positives` are the numbers of positive documents of all categories."""
        present = positives[positives > 0]
        self._documents, self._positives = documents, int(present.sum())
        least = present.min() if len(present) else documents
        beyond = np.geomspace(1.0, documents / least, points)[1:] if documents else np.empty(0)
        self._multiples = np.append(np.arange(1, points + 1) / points, beyond)[:, np.newaxis]
        self._found = np.zeros(len(self._multiples), dtype=np.int64)
        self._accepted = np.zeros(len(self._multiples), dtype=np.int64)

    def add(self, ranked: Bools) -> None:
        """Add a block of categories by their labels in the order of decreasing scores."""
        positives = np.count_nonzero(ranked, axis=0)
        present = positives > 0
        if not present.any():
            return
        hits = np.cumsum(ranked[:, present], axis=0, dtype=np.int32)
        # A whole number that misses itself by rounding errors is rounded first.
        wanted = np.ceil((self._multiples * positives[present]).round(9))
        accepted = np.clip(wanted, 1, self._documents).astype(np.int64)
        self._found += np.take_along_axis(hits, accepted - 1, axis=0).sum(axis=1, dtype=np.int64)
        self._accepted += accepted.sum(axis=1)

    def merge(self, other: MicroCurve) -> None:
        """Add the categories of another part of the same curve."""
        self._found += other._found
        self._accepted += other._accepted

    def points(self) -> PrecisionRecallCurve:
        """Return the curve of the categories added."""
        if not self._positives:
            return PrecisionRecallCurve(recall=np.empty(0), precision=np.empty(0))
        return PrecisionRecallCurve(
            recall=100.0 * self._found / self._positives, precision=100.0 * self._found / self._accepted
        )


def compute_micro_curve(scores: Floats, labels: Bools, points: int = 100) -> PrecisionRecallCurve:
    """Return the micro-averaged curve over all categories with positive documents."""
    curve = MicroCurve(len(labels), np.count_nonzero(labels, axis=0), points)
    if labels.any():
        curve.add(rank_labels(scores, labels))
    return curve.points()


def area_under_curve(curve: PrecisionRecallCurve) -> float:
    """Return the area under the curve in percent of the unit square; it is flat from recall 0 to the first point."""
    if not len(curve.recall):
        return float("nan")
    recall = np.concatenate([[0.0], curve.recall])
    precision = np.concatenate([curve.precision[:1], curve.precision])
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1])) / 200.0)
