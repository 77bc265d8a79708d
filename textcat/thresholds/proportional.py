"""Rank-based rules: categories per document (RCut), documents per category (PCut), and SCut with fallback.

Yang (SIGIR 2001) tunes the numbers of RCut and PCut on held-out documents; here the one number that both are
given is the mean number of categories a document, and micro F1 says which is best.

SCut and its kin tune a threshold for each category on validation scores; RCut gives every document the same
number of categories; PCut fills each category in proportion to its share of the training documents.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from textcat.errors import UsageError
from textcat.thresholds.cuts import NEVER, Bools, Floats, apply_thresholds, make_cuts
from textcat.thresholds.tuning import BBR_RULE, TuningRule, find_thresholds_by_size, tune_thresholds

# Multiples of the training documents' own number that are tried: no further than a factor of four.
CARDINALITY_MULTIPLES = np.geomspace(0.25, 4.0, 129)


def compute_label_cardinality(labels: Bools) -> float:
    """The mean number of categories of these documents."""
    return float(np.count_nonzero(labels)) / max(len(labels), 1)


def compute_pcut_sizes(shares: Floats, per_document: float, documents: int) -> Floats:
    """For each category how many of `documents` PCut gives it: whole numbers, halves rounded up."""
    total = float(shares.sum())
    exact = shares * (per_document * documents / total if total else 0.0)
    # What is a half but for the rounding of its factors is a half.
    return np.asarray(np.floor(exact.round(9) + 0.5))


def tune_rcut(scores: Floats, labels: Bools) -> float:
    """The number of categories for every document with the best micro F1; the smallest of equally good ones."""
    if not scores.size:
        return 1.0
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(labels, order, axis=1).sum(axis=0).cumsum()
    given = np.arange(1, scores.shape[1] + 1) * len(scores)
    return float(1 + np.argmax(2.0 * hits / (given + hits[-1])))


def tune_pcut(scores: Floats, labels: Bools) -> float:
    """The number of categories a document, over all, with which PCut has the best micro F1."""
    usual = compute_label_cardinality(labels)
    shares = labels.mean(axis=0) if len(labels) else np.zeros(labels.shape[1])
    hits = make_cuts(scores, labels).hits
    best, chosen = -1.0, usual
    for per_document in usual * CARDINALITY_MULTIPLES:
        wanted = np.minimum(compute_pcut_sizes(shares, per_document, len(labels)), len(labels)).astype(
            np.int64
        )
        found = np.take_along_axis(hits, wanted[np.newaxis, :], axis=0).sum()
        f1 = 2.0 * found / max(wanted.sum() + hits[-1].sum(), 1)
        if f1 > best:
            best, chosen = float(f1), float(per_document)
    return chosen


def find_proportional_thresholds(
    scores: Floats, labels: Bools, per_document: float, rule: TuningRule = BBR_RULE
) -> Floats:
    """PCut as fixed thresholds: those that accept the wanted number of documents here, or nearest to it.

    Equal scores cannot be divided; of two equally near divisions the larger is taken. A category without
    positive documents, of which nothing is wanted, gets the rule's `no_positives`.
    """
    candidates = make_cuts(scores, labels)
    shares = labels.mean(axis=0) if len(labels) else np.zeros(labels.shape[1])
    wanted = np.minimum(compute_pcut_sizes(shares, per_document, len(labels)), len(labels))
    thresholds = find_thresholds_by_size(candidates, wanted, rule)
    # Nothing wanted is nothing accepted, of new documents too.
    thresholds[wanted == 0] = NEVER
    return thresholds


SCUT_RULE = TuningRule(criterion="f1", accept_everything=0.0)


def scut(scores: Floats, labels: Bools, rule: TuningRule = SCUT_RULE) -> Floats:
    """Thresholds of the best F1 on validation scores."""
    return tune_thresholds(scores, labels, rule)


def scut_fbr(
    scores: Floats, labels: Bools, least_f1: float, fallback: Literal[0, 1], rule: TuningRule = SCUT_RULE
) -> Floats:
    """SCut, but a category whose best validation F1 is under `least_f1` (percent) falls back.

    Fallback 0 accepts nothing ever; fallback 1 takes the highest validation score as the threshold.
    """
    thresholds = scut(scores, labels, rule)
    accepted = apply_thresholds(scores, thresholds)
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
    return accept_top_documents(scores, np.floor(priors * documents_per_category * len(priors) + 0.5))


def accept_top_documents(scores: Floats, wanted: Floats) -> Bools:
    """Accept for each category so many documents, those with its highest scores; earlier ones among equals."""
    order = np.argsort(-scores, axis=0, kind="stable")
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    within = np.arange(len(scores))[:, np.newaxis] < wanted
    np.put_along_axis(decisions, order, within, axis=0)
    return decisions
