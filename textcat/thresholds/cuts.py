"""List all cuts that a threshold can make through the ranked documents of a category, and their losses.

A cut k accepts the first k documents by decreasing score; it is possible only between different scores. Arrays hold
all categories: rows are k = 0..n, columns are categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError, UsageError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = float("inf")


def apply_thresholds(scores: Floats, thresholds: Floats) -> Bools:
    """Return decisions, documents x categories: a score at its threshold is accepted."""
    if scores.ndim != 2 or thresholds.shape != (scores.shape[1],):
        raise UsageError(
            f"{thresholds.shape} thresholds do not fit scores of shape {scores.shape}",
            hint="Give one threshold per category.",
        )
    return scores >= thresholds


Criterion = Literal["errors", "f1"]


@dataclass(frozen=True)
class Cuts:
    """The cuts of all categories.

    ranked: scores from the highest down, between plus and minus infinity; hits: positives among the first k
    documents; possible: whether a threshold can make the cut k; positives: positive documents of each category.
    """

    ranked: Floats
    hits: NDArray[np.int32]
    possible: Bools
    positives: Ints

    def get_lowest_accepted(self, cut: Ints) -> Floats:
        """Return the lowest accepted score at each category's cut; infinity if nothing is accepted."""
        lowest: Floats = np.take_along_axis(self.ranked, cut[np.newaxis, :], axis=0)[0]
        return lowest

    def get_highest_refused(self, cut: Ints) -> Floats:
        """Return the highest refused score at each category's cut; minus infinity if nothing is refused."""
        highest: Floats = np.take_along_axis(self.ranked, cut[np.newaxis, :] + 1, axis=0)[0]
        return highest


def make_cuts(scores: Floats, labels: Bools, first: int = 0) -> Cuts:
    """Rank the documents of every category; `first` is the number of the first category, for messages."""
    if scores.shape != labels.shape or scores.ndim != 2:
        raise UsageError(
            f"scores of shape {scores.shape} do not fit labels of shape {labels.shape}",
            hint="Give both as documents x categories.",
        )
    if np.isnan(scores).any():
        document, category = np.argwhere(np.isnan(scores))[0]
        raise BadDataError(
            f"the score of document {document} for category {first + category} is not a number",
            hint="Check the training of this category: stronger regularization usually helps.",
        )
    documents, categories = scores.shape
    order, falling = rank_by_score(scores)
    ranked = np.full((documents + 2, categories), np.inf)
    ranked[1:-1] = falling
    ranked[-1] = -np.inf
    hits = np.zeros((documents + 1, categories), dtype=np.int32)
    np.cumsum(np.take_along_axis(labels, order, axis=0), axis=0, dtype=np.int32, out=hits[1:])
    return Cuts(ranked, hits, ranked[:-1] > ranked[1:], np.count_nonzero(labels, axis=0).astype(np.int64))


def rank_by_score(scores: Floats) -> tuple[Ints, Floats]:
    """Return the documents of each category by decreasing score, and their scores; ties are in document order.

    A stable sort takes five times as long. Ties are few, so they are ordered after an unstable sort.
    """
    by_category = np.ascontiguousarray(scores.T)
    order = np.argsort(-by_category, axis=1)
    falling = np.take_along_axis(by_category, order, axis=1)
    is_tied = np.zeros(order.shape, dtype=np.bool_)
    is_tied[:, 1:] = falling[:, 1:] == falling[:, :-1]
    tied = is_tied.copy()
    tied[:, :-1] |= is_tied[:, 1:]
    documents, group = order[tied], np.cumsum(~is_tied)[tied.ravel()]
    order[tied] = documents[np.lexsort((documents, group))]
    return order.T, falling.T


def compute_cut_losses(candidates: Cuts, criterion: Criterion) -> Floats:
    """Return the loss of each cut, the number of errors or minus F1; infinity for impossible cuts."""
    accepted = np.arange(len(candidates.hits), dtype=np.int32)[:, np.newaxis]
    if criterion == "errors":
        cost = (candidates.positives + accepted - 2 * candidates.hits).astype(np.float64)
    else:
        size = candidates.positives + accepted
        cost = -np.divide(2.0 * candidates.hits, size, out=np.zeros(size.shape), where=size > 0)
    cost[~candidates.possible] = np.inf
    return cost
