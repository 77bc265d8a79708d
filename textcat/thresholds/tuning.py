"""Tune thresholds on given scores: fewest errors, best F1, break-even, or a wanted number of documents.

The scores may be those of training documents, or held-out scores with the fold of each document. The best loss is
reached anywhere in an interval between two neighbouring scores, and often in several intervals. Which interval and
which point of it is chosen moves precision and recall by whole percent: see `TuningRule`.

All cuts that a threshold can make through the ranked documents of a category are listed with their losses: cut k
accepts the first k documents by decreasing score, and is possible only between different scores. Arrays hold all
categories: rows are k = 0..n, columns are categories.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError, UsageError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = float("inf")
# Share of equal scores from which a stable sort is faster.
MANY_TIES = 0.3


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


def check_scores(scores: Floats, labels: Bools, first: int = 0) -> None:
    """Refuse scores that do not fit the labels or are NaN; `first` is the number of the first category."""
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


def make_cuts(scores: Floats, labels: Bools, first: int = 0) -> Cuts:
    """Rank the documents of every category; `first` is the number of the first category, for messages."""
    check_scores(scores, labels, first)
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

    A stable sort takes five times as long. Ties are few, so they are ordered after an unstable sort. Where they are
    many, as among the documents that a label tree gives no score, a stable sort is fast.
    """
    by_category = np.ascontiguousarray(scores.T)
    order = np.argsort(-by_category, axis=1)
    falling = np.take_along_axis(by_category, order, axis=1)
    is_tied = np.zeros(order.shape, dtype=np.bool_)
    is_tied[:, 1:] = falling[:, 1:] == falling[:, :-1]
    if np.count_nonzero(is_tied) > MANY_TIES * is_tied.size:
        return np.argsort(-by_category, axis=1, kind="stable").T, falling.T
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


AmongEqual = Literal["lowest", "highest", "widest"]
IntervalPoint = Literal["lowest", "midpoint", "highest"]

_FRACTIONS = {"lowest": 0.0, "midpoint": 0.5, "highest": 1.0}


@dataclass(frozen=True)
class TuningRule:
    """The loss to minimize, and the choice among equally good thresholds.

    point: the point of the interval, by name or as the fraction from its lower end. A threshold at the lower end
        would accept that score, so 0 means the next number above it.
    among_equal: the interval to take of several equally good ones: the lowest, the highest, or the widest (the lower
        of equally wide ones; an unbounded interval has width 0).
    accept_nothing: if accepting no document is best, the distance of the threshold above the highest score. 0 means
        the next number above, infinity no document ever, None that this cut is not considered.
    accept_everything: if accepting all documents is best, the distance of the threshold below the lowest score.

    The defaults are those of the BBR program of genkin_2004: midpoint of the lowest interval, minus infinity to
    accept everything, 1 above the highest score to accept nothing.
    """

    criterion: Criterion = "errors"
    point: IntervalPoint | float = "midpoint"
    among_equal: AmongEqual = "lowest"
    accept_nothing: float | None = 1.0
    accept_everything: float = float("inf")

    def __post_init__(self) -> None:
        if not 0.0 <= self.fraction <= 1.0:
            raise UsageError(
                f"the fraction of an interval must be between 0 and 1, not {self.fraction}",
                hint="Give a number from 0 to 1, or lowest, midpoint or highest.",
            )
        if not (self.accept_everything >= 0 and (self.accept_nothing is None or self.accept_nothing >= 0)):
            raise UsageError(
                "the distance of a threshold from the scores cannot be negative",
                hint="Give a number of 0 or more.",
            )

    @property
    def fraction(self) -> float:
        """The point of the interval as a number from 0 to 1."""
        return _FRACTIONS[self.point] if isinstance(self.point, str) else float(self.point)


BBR_RULE = TuningRule()
# Ranking needs several arrays of this many numbers, so categories are tuned in blocks.
_MAX_SCORES_PER_BLOCK = 10_000_000


def tune_thresholds(scores: Floats, labels: Bools, rule: TuningRule = BBR_RULE) -> Floats:
    """Return the best threshold of each category on these scores."""
    together = max(1, _MAX_SCORES_PER_BLOCK // max(len(scores), 1))
    parts = [
        _tune_block(scores[:, first : first + together], labels[:, first : first + together], rule, first)
        for first in range(0, max(scores.shape[1], 1), together)
    ]
    return np.concatenate(parts)


# The best cut is searched among these shares of the documents, those of highest score, one after another.
_RANKED_SHARES = (1 / 16, 1 / 4, 1.0)
# Fewer documents are ranked at once.
_LEAST_DOCUMENTS = 1000


def _tune_block(scores: Floats, labels: Bools, rule: TuningRule, first: int) -> Floats:
    """Return the best thresholds; only as many documents are ranked as the best cut of a category can accept."""
    check_scores(scores, labels, first)
    documents, positives = len(scores), np.count_nonzero(labels, axis=0)
    thresholds = np.full(len(positives), NEVER)
    left = np.flatnonzero(positives)
    for share in _RANKED_SHARES if documents > _LEAST_DOCUMENTS else (1.0,):
        size = math.ceil(share * documents)
        # A cut that accepts fewer documents than there are positives is seldom proven to be the best.
        tried = left[positives[left] <= size / 2] if size < documents else left
        if not len(tried):
            continue
        top_scores, top_labels = _take_highest(scores[:, tried], labels[:, tried], size)
        candidates = replace(make_cuts(top_scores, top_labels), positives=positives[tried])
        cost = compute_cut_losses(candidates, rule.criterion)
        if rule.accept_nothing is None:
            cost[0] = np.inf
        chosen = _choose_cuts(candidates, cost, rule.among_equal)
        most = _bound_best_cuts(cost.min(axis=0), positives[tried], rule.criterion)
        known = (most < size - 1) | (size == documents)
        thresholds[tried[known]] = make_thresholds(candidates, chosen, rule)[known]
        left = np.setdiff1d(left, tried[known])
    return thresholds


def _take_highest(scores: Floats, labels: Bools, size: int) -> tuple[Floats, Bools]:
    """Return scores and labels of the `size` documents of highest score of each category."""
    if size == len(scores):
        return scores, labels
    by_category = np.ascontiguousarray(scores.T)
    highest = np.argpartition(by_category, -size, axis=1)[:, -size:]
    own = np.take_along_axis(np.ascontiguousarray(labels.T), highest, axis=1)
    return np.take_along_axis(by_category, highest, axis=1).T, own.T


def _bound_best_cuts(cost: Floats, positives: Ints, criterion: Criterion) -> Floats:
    """Return the most documents that a cut can accept whose loss is not above this one.

    A cut of k documents has at least k - P errors of P positives, and at most the F1 2 P / (P + k).
    """
    if criterion == "errors":
        return np.asarray(positives + cost)
    size = np.divide(-2.0 * positives, cost, out=np.full(len(cost), np.inf), where=cost < 0)
    return np.asarray(size - positives)


def make_thresholds(candidates: Cuts, chosen: Ints, rule: TuningRule) -> Floats:
    """Return the thresholds of the chosen cuts; a category without positive documents accepts nothing."""
    thresholds = interpolate_thresholds(
        candidates.get_highest_refused(chosen), candidates.get_lowest_accepted(chosen), rule
    )
    thresholds[candidates.positives == 0] = NEVER
    return thresholds


def interpolate_thresholds(low: Floats, high: Floats, rule: TuningRule) -> Floats:
    """Return thresholds in (`low`, `high`], at the rule's point of the interval."""
    with np.errstate(invalid="ignore"):
        inside = low + rule.fraction * (high - low)
    if rule.fraction == 1.0:
        inside = high.copy()
    thresholds = np.minimum(np.maximum(inside, np.nextafter(low, np.inf)), high)
    everything, nothing = np.isneginf(low), np.isposinf(high)
    thresholds[everything] = high[everything] - rule.accept_everything
    highest = low[nothing]
    margin = 0.0 if rule.accept_nothing is None else rule.accept_nothing
    thresholds[nothing] = np.maximum(highest + margin, np.nextafter(highest, np.inf))
    return thresholds


def _choose_cuts(candidates: Cuts, cost: Floats, among_equal: AmongEqual) -> Ints:
    """Return the best cut of each category."""
    best = cost == cost.min(axis=0)
    if among_equal == "highest":
        return np.asarray(best.argmax(axis=0), dtype=np.int64)
    last = len(cost) - 1
    if among_equal == "lowest":
        return np.asarray(last - best[::-1].argmax(axis=0), dtype=np.int64)
    width = np.zeros_like(cost)
    width[1:-1] = candidates.ranked[1:-2] - candidates.ranked[2:-1]
    width[~best] = -1.0
    return np.asarray(last - width[::-1].argmax(axis=0), dtype=np.int64)


FoldCombination = Literal["pooled", "mean_of_folds", "median_of_folds"]


def cross_validate_thresholds(
    held_out_scores: Floats,
    labels: Bools,
    fold_of_document: Ints,
    rule: TuningRule = BBR_RULE,
    combination: FoldCombination = "pooled",
) -> Floats:
    """Tune once on all held-out scores, or tune in every fold and combine the thresholds.

    A fold without positive documents of a category, or with an infinite threshold, is left out; if all folds are left
    out, the category accepts nothing.
    """
    if fold_of_document.shape != (len(labels),):
        raise UsageError(
            f"{fold_of_document.shape} fold numbers for {len(labels)} documents",
            hint="Give one fold number per document.",
        )
    if combination == "pooled":
        return tune_thresholds(held_out_scores, labels, rule)
    by_fold = []
    for fold in np.unique(fold_of_document):
        inside = fold_of_document == fold
        thresholds = tune_thresholds(held_out_scores[inside], labels[inside], rule)
        is_used = labels[inside].any(axis=0) & np.isfinite(thresholds)
        by_fold.append(np.where(is_used, thresholds, np.nan))
    together = np.array(by_fold)
    result = np.full(together.shape[1], NEVER)
    known = ~np.isnan(together).all(axis=0)
    combine = np.nanmean if combination == "mean_of_folds" else np.nanmedian
    result[known] = combine(together[:, known], axis=0)
    return result


def find_break_even_thresholds(scores: Floats, labels: Bools, rule: TuningRule = BBR_RULE) -> Floats:
    """Return thresholds that accept as many documents as there are positives, so that precision equals recall.

    With tied scores this is the nearest possible number, the larger of two equally near. Of `rule` only the point
    of the interval is used.
    """
    candidates = make_cuts(scores, labels)
    return find_thresholds_by_size(candidates, candidates.positives, rule)


def find_thresholds_by_size(candidates: Cuts, wanted: Floats | Ints, rule: TuningRule) -> Floats:
    """Return the thresholds whose cuts accept nearest to the wanted number of documents of each category."""
    accepted = np.arange(len(candidates.hits))[:, np.newaxis]
    distance = np.abs(accepted - wanted).astype(np.float64)
    distance[~candidates.possible] = np.inf
    last = len(distance) - 1
    chosen = last - distance[::-1].argmin(axis=0).astype(np.int64)
    return make_thresholds(candidates, chosen, rule)
