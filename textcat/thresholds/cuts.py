"""All ways a threshold can divide the documents of a category, and what each costs.

Ranked by falling score, a threshold accepts the first k documents; k can stand only where two neighbouring
scores differ. Everything is worked out for all categories at once: rows are k = 0..n, columns categories.
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
    """Decisions, documents x categories."""
    if scores.ndim != 2 or thresholds.shape != (scores.shape[1],):
        raise UsageError(
            f"{thresholds.shape} thresholds do not fit scores of shape {scores.shape}",
            hint="Give one threshold a category.",
        )
    return scores >= thresholds


def make_default_thresholds(categories: int, value: float = 0.0) -> Floats:
    """The learner's own threshold for every category: 0 for margins, 0.5 for probabilities."""
    return np.full(categories, value, dtype=np.float64)


Criterion = Literal["errors", "f1"]


@dataclass(frozen=True)
class Cuts:
    """Scores from the highest down with both ends open, hits among the first k, and which k can be."""

    ranked: Floats
    hits: NDArray[np.int32]
    possible: Bools
    positives: Ints

    def get_lowest_accepted(self, cut: Ints) -> Floats:
        """The lowest accepted score at each category's cut; infinite where nothing is accepted."""
        lowest: Floats = np.take_along_axis(self.ranked, cut[np.newaxis, :], axis=0)[0]
        return lowest

    def get_highest_refused(self, cut: Ints) -> Floats:
        """The highest refused score at each category's cut; minus infinite where nothing is refused."""
        highest: Floats = np.take_along_axis(self.ranked, cut[np.newaxis, :] + 1, axis=0)[0]
        return highest


def make_cuts(scores: Floats, labels: Bools, first: int = 0) -> Cuts:
    """Rank every category's documents; equal scores are never divided. `first` is the first category's number."""
    if scores.shape != labels.shape or scores.ndim != 2:
        raise UsageError(
            f"scores of shape {scores.shape} do not fit labels of shape {labels.shape}",
            hint="Give both as documents x categories.",
        )
    if np.isnan(scores).any():
        document, category = np.argwhere(np.isnan(scores))[0]
        raise BadDataError(
            f"the score of document {document} for category {first + category} is not a number",
            hint="Look at the training that left it: a larger regularization usually helps.",
        )
    documents, categories = scores.shape
    order, falling = _rank_by_score(scores)
    ranked = np.full((documents + 2, categories), np.inf)
    ranked[1:-1] = falling
    ranked[-1] = -np.inf
    hits = np.zeros((documents + 1, categories), dtype=np.int32)
    np.cumsum(np.take_along_axis(labels, order, axis=0), axis=0, dtype=np.int32, out=hits[1:])
    return Cuts(ranked, hits, ranked[:-1] > ranked[1:], np.count_nonzero(labels, axis=0).astype(np.int64))


def _rank_by_score(scores: Floats) -> tuple[Ints, Floats]:
    """The documents of each category by falling score, earlier ones first among equals, and their scores.

    A sort that keeps the order of equals takes five times as long; there are few, and they are put in order after.
    """
    by_category = np.ascontiguousarray(scores.T)
    order = np.argsort(-by_category, axis=1)
    falling = np.take_along_axis(by_category, order, axis=1)
    as_before = np.zeros(order.shape, dtype=np.bool_)
    as_before[:, 1:] = falling[:, 1:] == falling[:, :-1]
    tied = as_before.copy()
    tied[:, :-1] |= as_before[:, 1:]
    documents, group = order[tied], np.cumsum(~as_before)[tied.ravel()]
    order[tied] = documents[np.lexsort((documents, group))]
    return order.T, falling.T


def compute_cut_losses(candidates: Cuts, criterion: Criterion) -> Floats:
    """What each division costs: the number of errors, or minus F1; infinite where no threshold can stand."""
    accepted = np.arange(len(candidates.hits), dtype=np.int32)[:, np.newaxis]
    if criterion == "errors":
        cost = (candidates.positives + accepted - 2 * candidates.hits).astype(np.float64)
    else:
        size = candidates.positives + accepted
        cost = -np.divide(2.0 * candidates.hits, size, out=np.zeros(size.shape), where=size > 0)
    cost[~candidates.possible] = np.inf
    return cost
