"""The thresholding strategies of Yang (SIGIR 2001): RCut, PCut, and SCut with fallback.

RCut gives every document the same number of categories. PCut accepts documents of each category in proportion to its
share of the training documents. SCut tunes the threshold of each category; SCut.FBR replaces poor thresholds.
RCut and PCut have one parameter, the mean number of categories per document, which may be tuned for micro F1.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from textcat.errors import UsageError
from textcat.thresholds.cuts import NEVER, Bools, Floats, apply_thresholds, make_cuts
from textcat.thresholds.tuning import BBR_RULE, TuningRule, find_thresholds_by_size, tune_thresholds

# Candidates of PCut's number, as multiples of the training documents' own number.
CARDINALITY_MULTIPLES = np.geomspace(0.25, 4.0, 129)


def compute_label_cardinality(labels: Bools) -> float:
    """Return the mean number of categories per document."""
    return float(np.count_nonzero(labels)) / max(len(labels), 1)


def compute_pcut_sizes(shares: Floats, per_document: float, documents: int) -> Floats:
    """Return the number of documents that PCut accepts for each category, with halves rounded up."""
    total = float(shares.sum())
    exact = shares * (per_document * documents / total if total else 0.0)
    # Rounding first makes a half out of a number that misses it by rounding errors.
    return np.asarray(np.floor(exact.round(9) + 0.5))


def tune_rcut(scores: Floats, labels: Bools) -> float:
    """Return the number of categories per document with the best micro F1; the smallest of equally good ones."""
    if not scores.size:
        return 1.0
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(labels, order, axis=1).sum(axis=0).cumsum()
    given = np.arange(1, scores.shape[1] + 1) * len(scores)
    return float(1 + np.argmax(2.0 * hits / (given + hits[-1])))


def tune_pcut(scores: Floats, labels: Bools) -> float:
    """Return the mean number of categories per document with which PCut has the best micro F1."""
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
    """Return PCut as fixed thresholds, which accept here the number of documents that PCut accepts.

    With tied scores this is the nearest possible number, the larger of two equally near. A category without
    positive documents gets the rule's `no_positives`.
    """
    candidates = make_cuts(scores, labels)
    shares = labels.mean(axis=0) if len(labels) else np.zeros(labels.shape[1])
    wanted = np.minimum(compute_pcut_sizes(shares, per_document, len(labels)), len(labels))
    thresholds = find_thresholds_by_size(candidates, wanted, rule)
    # A category of which no document is wanted accepts no new document either.
    thresholds[wanted == 0] = NEVER
    return thresholds


def scut_fbr(
    scores: Floats, labels: Bools, least_f1: float, fallback: Literal[0, 1], rule: TuningRule
) -> Floats:
    """Return SCut's thresholds with a fallback for categories whose validation F1 is below `least_f1` percent.

    Fallback 0 accepts no document; fallback 1 takes the highest validation score as the threshold. A category without
    positive documents gets the rule's `no_positives`.
    """
    thresholds = tune_thresholds(scores, labels, rule)
    accepted = apply_thresholds(scores, thresholds)
    hits = np.count_nonzero(accepted & labels, axis=0)
    size = np.count_nonzero(accepted, axis=0) + np.count_nonzero(labels, axis=0)
    reached = np.divide(200.0 * hits, size, out=np.zeros(len(size)), where=size > 0)
    poor = reached < least_f1
    thresholds[poor] = NEVER if fallback == 0 else scores.max(axis=0)[poor]
    # Without positive documents all scores are nearly equal: their highest would accept most new documents.
    thresholds[~labels.any(axis=0)] = rule.no_positives
    return thresholds


def rcut(scores: Floats, categories_per_document: int) -> Bools:
    """Accept each document for its categories of highest score; ties are in category order."""
    if not 0 <= categories_per_document <= scores.shape[1]:
        raise UsageError(
            f"a document cannot be given {categories_per_document} of {scores.shape[1]} categories",
            hint="Ask for a number from 0 to the number of categories.",
        )
    first = np.argsort(-scores, axis=1, kind="stable")[:, :categories_per_document]
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    np.put_along_axis(decisions, first, True, axis=1)
    return decisions


def accept_top_documents(scores: Floats, wanted: Floats) -> Bools:
    """Accept the wanted number of documents of highest score for each category; ties are in document order."""
    order = np.argsort(-scores, axis=0, kind="stable")
    decisions = np.zeros(scores.shape, dtype=np.bool_)
    within = np.arange(len(scores))[:, np.newaxis] < wanted
    np.put_along_axis(decisions, order, within, axis=0)
    return decisions
