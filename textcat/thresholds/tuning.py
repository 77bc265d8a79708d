"""Thresholds that minimise a loss or reach break-even on given scores, of training documents or of held-out folds.

The least number of errors (or the best F1) is reached anywhere in an interval between two neighbouring
scores, and often in several intervals. Which interval, and which point of it, is a setting that moves
precision against recall by points: see `TuningRule`.

The caller trains on k - 1 parts and scores the part left out; here the held-out scores of all parts come
together with the number of each document's part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from textcat.errors import UsageError
from textcat.thresholds.cuts import NEVER, Bools, Criterion, Cuts, Floats, Ints, compute_cut_losses, make_cuts

AmongEqual = Literal["lowest", "highest", "widest"]
IntervalPoint = Literal["lowest", "midpoint", "highest"]

_FRACTIONS = {"lowest": 0.0, "midpoint": 0.5, "highest": 1.0}


@dataclass(frozen=True)
class TuningRule:
    """What is minimised, and how ties are settled.

    point: where in the interval, by name or as the fraction from its lower end; the lower end itself is
        refused (a threshold there would accept it), so 0 means the next number above.
    among_equal: of several equally good intervals the one with the lowest threshold, the highest, or the
        widest (the lower of equally wide ones; an interval open to infinity counts as having no width).
    accept_nothing: where accepting no document is best, how far above the highest score the threshold
        stands; 0 means the next number above, infinity never, None that it is not considered.
    accept_everything: where accepting all is best, how far below the lowest score it stands.
    no_positives: the threshold of a category without positive documents to tune on.

    The default is the way of the BBR program of genkin_2004: midpoints, the first met from below, minus
    infinity to accept everything, one above the highest score to accept nothing.
    """

    criterion: Criterion = "errors"
    point: IntervalPoint | float = "midpoint"
    among_equal: AmongEqual = "lowest"
    accept_nothing: float | None = 1.0
    accept_everything: float = float("inf")
    no_positives: float = NEVER

    def __post_init__(self) -> None:
        if not 0.0 <= self.fraction <= 1.0:
            raise UsageError(
                f"a fraction of an interval lies between 0 and 1, not at {self.fraction}",
                hint="Give a number from 0 to 1, or lowest, midpoint or highest.",
            )
        if not (self.accept_everything >= 0 and (self.accept_nothing is None or self.accept_nothing >= 0)):
            raise UsageError(
                "a threshold stands some distance outside the scores, and that is not negative",
                hint="Give a number of 0 or more.",
            )

    @property
    def fraction(self) -> float:
        """The point of the interval as a number between 0 and 1."""
        return _FRACTIONS[self.point] if isinstance(self.point, str) else float(self.point)


BBR_RULE = TuningRule()
# Ranking takes several numbers for each score: more categories than this allows are worked on in turn.
_SCORES_AT_ONCE = 10_000_000


def tune_thresholds(scores: Floats, labels: Bools, rule: TuningRule = BBR_RULE) -> Floats:
    """One threshold a category, the best on these scores."""
    together = max(1, _SCORES_AT_ONCE // max(len(scores), 1))
    parts = [
        _tune_block(scores[:, first : first + together], labels[:, first : first + together], rule, first)
        for first in range(0, max(scores.shape[1], 1), together)
    ]
    return np.concatenate(parts)


def _tune_block(scores: Floats, labels: Bools, rule: TuningRule, first: int) -> Floats:
    candidates = make_cuts(scores, labels, first)
    if not len(scores):
        return np.full(scores.shape[1], rule.no_positives)
    cost = compute_cut_losses(candidates, rule.criterion)
    if rule.accept_nothing is None:
        cost[0] = np.inf
    chosen = _choose_cuts(candidates, cost, rule.among_equal)
    thresholds = interpolate_thresholds(
        candidates.get_highest_refused(chosen), candidates.get_lowest_accepted(chosen), rule
    )
    thresholds[candidates.positives == 0] = rule.no_positives
    return thresholds


def interpolate_thresholds(low: Floats, high: Floats, rule: TuningRule) -> Floats:
    """A threshold above `low` and not above `high`, where the rule wants it."""
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
    """The number of accepted documents at the best division of each category."""
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
    """Tune once on all held-out scores, or in every fold and combine.

    A fold without positive documents of a category, or whose best is an infinite threshold, has no say
    for it; where no fold has, the rule's `no_positives` stands.
    """
    if fold_of_document.shape != (len(labels),):
        raise UsageError(
            f"{fold_of_document.shape} fold numbers for {len(labels)} documents",
            hint="Give the number of a fold for each document.",
        )
    if combination == "pooled":
        return tune_thresholds(held_out_scores, labels, rule)
    by_fold = []
    for fold in np.unique(fold_of_document):
        inside = fold_of_document == fold
        thresholds = tune_thresholds(held_out_scores[inside], labels[inside], rule)
        has_a_say = labels[inside].any(axis=0) & np.isfinite(thresholds)
        by_fold.append(np.where(has_a_say, thresholds, np.nan))
    return _combine_folds(np.array(by_fold), rule, combination)


def _combine_folds(by_fold: Floats, rule: TuningRule, combination: FoldCombination) -> Floats:
    result = np.full(by_fold.shape[1], rule.no_positives)
    known = ~np.isnan(by_fold).all(axis=0)
    combine = np.nanmean if combination == "mean_of_folds" else np.nanmedian
    result[known] = combine(by_fold[:, known], axis=0)
    return result


def find_break_even_thresholds(scores: Floats, labels: Bools, rule: TuningRule = BBR_RULE) -> Floats:
    """The division whose size is nearest to the number of positives; of two equally near, the larger.

    Equal scores cannot be divided, so that precision and recall may differ a little. Of `rule` only the point
    in the interval and `no_positives` are used.
    """
    candidates = make_cuts(scores, labels)
    return find_thresholds_by_size(candidates, candidates.positives, rule)


def find_thresholds_by_size(candidates: Cuts, wanted: Floats | Ints, rule: TuningRule) -> Floats:
    """Thresholds whose division is nearest in size to the number of documents wanted of each category."""
    accepted = np.arange(len(candidates.hits))[:, np.newaxis]
    distance = np.abs(accepted - wanted).astype(np.float64)
    distance[~candidates.possible] = np.inf
    last = len(distance) - 1
    chosen = last - distance[::-1].argmin(axis=0).astype(np.int64)
    thresholds = interpolate_thresholds(
        candidates.get_highest_refused(chosen), candidates.get_lowest_accepted(chosen), rule
    )
    thresholds[candidates.positives == 0] = rule.no_positives
    return thresholds
