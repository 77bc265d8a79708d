"""Break-even points: where precision equals recall.

A category with n+ positive documents has precision = recall when exactly n+ documents are accepted, so
its break-even point is the precision at rank n+. Equal scores are ranked in document order. The micro
value sums the counts over categories, as in the tables of zhang_oles_2001 and zhang_2000.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from textcat.errors import BadDataError, UsageError
from textcat.evaluation.contingency import Bools, Ints
from textcat.evaluation.measures import Floats, compute_percentage


@dataclass(frozen=True)
class BreakEven:
    """For each category: its positive documents, and how many of them are among the first n+ ranks."""

    hits: Ints
    positives: Ints

    def per_category(self) -> Floats:
        """Percent; NaN for a category without positive documents."""
        return compute_percentage(self.hits, self.positives, "skip")

    def micro(self, categories: Ints | None = None) -> float:
        """Percent over the summed counts of all, or of some, categories."""
        chosen = slice(None) if categories is None else categories
        hits, positives = self.hits[chosen], self.positives[chosen]
        return float(compute_percentage(hits.sum(keepdims=True), positives.sum(keepdims=True), "skip")[0])


def rank_documents(scores: Floats) -> Ints:
    """Document numbers from the highest score down, a column a category; ties in document order."""
    if np.isnan(scores).any():
        document, category = np.argwhere(np.isnan(scores))[0]
        raise BadDataError(
            f"the score of document {document} for category {category} is not a number",
            hint="Look at the training that left it: a larger regularization usually helps.",
        )
    return np.argsort(-scores, axis=0, kind="stable")


def find_break_even(scores: Floats, labels: Bools) -> BreakEven:
    """Count the hits within the first n+ ranks of every category."""
    if scores.shape != labels.shape:
        raise UsageError(
            f"scores of shape {scores.shape} do not fit labels of shape {labels.shape}",
            hint="Give both as documents x categories.",
        )
    positives = np.count_nonzero(labels, axis=0).astype(np.int64)
    ranked = np.take_along_axis(labels, rank_documents(scores), axis=0)
    within = np.arange(len(labels))[:, np.newaxis] < positives
    return BreakEven(hits=np.count_nonzero(ranked & within, axis=0).astype(np.int64), positives=positives)
