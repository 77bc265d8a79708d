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

from textcat.errors import BadDataError, UsageError
from textcat.evaluation.contingency import Bools, Ints
from textcat.evaluation.measures import Floats, compute_percentage


@dataclass(frozen=True)
class BreakEven:
    """The number of positive documents n+ of each category, and the hits among its first n+ ranks."""

    hits: Ints
    positives: Ints

    def per_category(self) -> Floats:
        """Return percentages; NaN for a category without positive documents."""
        return compute_percentage(self.hits, self.positives, "skip")

    def micro(self, categories: Ints | None = None) -> float:
        """Return the percentage over the summed counts of all or some categories."""
        chosen = slice(None) if categories is None else categories
        hits, positives = self.hits[chosen], self.positives[chosen]
        return float(compute_percentage(hits.sum(keepdims=True), positives.sum(keepdims=True), "skip")[0])


def rank_documents(scores: Floats) -> Ints:
    """Return document numbers by decreasing score for each category; ties are in document order."""
    if np.isnan(scores).any():
        document, category = np.argwhere(np.isnan(scores))[0]
        raise BadDataError(
            f"the score of document {document} for category {category} is not a number",
            hint="Check the training of this category: stronger regularization usually helps.",
        )
    return np.argsort(-scores, axis=0, kind="stable")


def find_break_even(scores: Floats, labels: Bools) -> BreakEven:
    """Count the hits among the first n+ ranks of every category."""
    if scores.shape != labels.shape:
        raise UsageError(
            f"scores of shape {scores.shape} do not fit labels of shape {labels.shape}",
            hint="Give both as documents x categories.",
        )
    positives = np.count_nonzero(labels, axis=0).astype(np.int64)
    ranked = np.take_along_axis(labels, rank_documents(scores), axis=0)
    within = np.arange(len(labels))[:, np.newaxis] < positives
    return BreakEven(hits=np.count_nonzero(ranked & within, axis=0).astype(np.int64), positives=positives)


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """Points of a precision-recall curve in percent, by increasing recall."""

    recall: Floats
    precision: Floats


def compute_micro_curve(scores: Floats, labels: Bools, points: int = 100) -> PrecisionRecallCurve:
    """Return the micro-averaged curve over all categories with positive documents.

    It has `points` even steps up to the break-even point and as many growing steps until all documents are accepted.
    """
    if not labels.any():
        return PrecisionRecallCurve(recall=np.empty(0), precision=np.empty(0))
    ranked = np.take_along_axis(labels, rank_documents(scores), axis=0)
    positives = np.count_nonzero(labels, axis=0)
    present = positives > 0
    positives = positives[present]
    hits = np.cumsum(ranked[:, present], axis=0, dtype=np.int64)
    beyond = np.geomspace(1.0, len(labels) / positives.min(), points)[1:]
    multiples = np.append(np.arange(1, points + 1) / points, beyond)[:, np.newaxis]
    accepted = np.clip(np.ceil(multiples * positives), 1, len(labels)).astype(np.int64)
    found = np.take_along_axis(hits, accepted - 1, axis=0).sum(axis=1)
    return PrecisionRecallCurve(
        recall=100.0 * found / int(positives.sum()), precision=100.0 * found / accepted.sum(axis=1)
    )


def area_under_curve(curve: PrecisionRecallCurve) -> float:
    """Return the area under the curve in percent of the unit square; it is flat from recall 0 to the first point."""
    if not len(curve.recall):
        return float("nan")
    recall = np.concatenate([[0.0], curve.recall])
    precision = np.concatenate([curve.precision[:1], curve.precision])
    return float(np.sum(np.diff(recall) * (precision[1:] + precision[:-1])) / 200.0)
