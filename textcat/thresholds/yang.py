"""The thresholding strategies compared by Yang (SIGIR 2001): SCut, SCutFBR.0 and .1, RCut, PCut.

SCut and its kin tune a threshold for each category on validation scores; RCut gives every document the same
number of categories; PCut fills each category in proportion to its share of the training documents.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from textcat.errors import UsageError
from textcat.thresholds.apply import NEVER, Bools, Floats, accept
from textcat.thresholds.tuned import TuningRule, tuned_thresholds

SCUT = TuningRule(criterion="f1", accept_everything=0.0)


def scut(scores: Floats, labels: Bools, rule: TuningRule = SCUT) -> Floats:
    """Thresholds of the best F1 on validation scores."""
    return tuned_thresholds(scores, labels, rule)


def scut_fbr(
    scores: Floats, labels: Bools, least_f1: float, fallback: Literal[0, 1], rule: TuningRule = SCUT
) -> Floats:
    """SCut, but a category whose best validation F1 is under `least_f1` (percent) falls back.

    Fallback 0 accepts nothing ever; fallback 1 takes the highest validation score as the threshold.
    """
    thresholds = scut(scores, labels, rule)
    accepted = accept(scores, thresholds)
    hits = np.count_nonzero(accepted & labels, axis=0)
    size = np.count_nonzero(accepted, axis=0) + np.count_nonzero(labels, axis=0)
    reached = np.divide(200.0 * hits, size, out=np.zeros(len(size)), where=size > 0)
    poor = reached < least_f1
    thresholds[poor] = NEVER if fallback == 0 else scores.max(axis=0)[poor]
    return thresholds


def rcut(scores: Floats, categories_per_document: int) -> Bools:
    """Accept every document for its highest categories; of equal scores the earlier category goes first."""
    if not 0 <= categories_per_document <= scores.shape[1]:
        raise UsageError(
            f"a document cannot be given {categories_per_document} of {scores.shape[1]} categories",
            hint="Ask for at least one category and no more than there are.",
        )
    first = np.argsort(-scores, axis=1, kind="stable")[:, :categories_per_document]
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    np.put_along_axis(decisions, first, True, axis=1)
    return decisions


def pcut(scores: Floats, priors: Floats, documents_per_category: float) -> Bools:
    """Accept for each category its best prior x documents_per_category x (number of categories) documents.

    `priors` are shares of the training documents. The number is rounded to the nearest, halves up, and
    cannot exceed the documents there are; of equal scores the earlier document goes first.
    """
    if priors.shape != (scores.shape[1],):
        raise UsageError(
            f"{priors.shape} priors do not fit scores of shape {scores.shape}",
            hint="Give one prior a category.",
        )
    return most_wanted(scores, np.floor(priors * documents_per_category * len(priors) + 0.5))


def most_wanted(scores: Floats, wanted: Floats) -> Bools:
    """Accept for each category so many documents, those with its highest scores; earlier ones among equals."""
    order = np.argsort(-scores, axis=0, kind="stable")
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    within = np.arange(len(scores))[:, np.newaxis] < wanted
    np.put_along_axis(decisions, order, within, axis=0)
    return decisions
