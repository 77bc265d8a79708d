"""Thresholds tuned on documents that the scoring model has not seen: k-fold cross-validation.

The caller trains on k - 1 parts and scores the part left out; here the held-out scores of all parts come
together with the number of each document's part.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from textcat.errors import UsageError
from textcat.thresholds.apply import Bools, Floats, Ints
from textcat.thresholds.tuned import BBR, TuningRule, tuned_thresholds

Combination = Literal["pooled", "mean_of_folds", "median_of_folds"]


def cross_validated_thresholds(
    held_out_scores: Floats,
    labels: Bools,
    fold_of_document: Ints,
    rule: TuningRule = BBR,
    combination: Combination = "pooled",
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
        return tuned_thresholds(held_out_scores, labels, rule)
    by_fold = []
    for fold in np.unique(fold_of_document):
        inside = fold_of_document == fold
        thresholds = tuned_thresholds(held_out_scores[inside], labels[inside], rule)
        has_a_say = labels[inside].any(axis=0) & np.isfinite(thresholds)
        by_fold.append(np.where(has_a_say, thresholds, np.nan))
    return _combined(np.array(by_fold), rule, combination)


def _combined(by_fold: Floats, rule: TuningRule, combination: Combination) -> Floats:
    result = np.full(by_fold.shape[1], rule.no_positives)
    known = ~np.isnan(by_fold).all(axis=0)
    combine = np.nanmean if combination == "mean_of_folds" else np.nanmedian
    result[known] = combine(by_fold[:, known], axis=0)
    return result
