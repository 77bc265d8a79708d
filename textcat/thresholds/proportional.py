"""How many decisions to make: categories a document, documents a category, from training documents.

Yang (SIGIR 2001) tunes the numbers of RCut and PCut on held-out documents; here the one number that both are
given is the mean number of categories a document, and micro F1 says which is best.
"""

from __future__ import annotations

import numpy as np

from textcat.thresholds.apply import NEVER, Bools, Floats
from textcat.thresholds.break_even import accepting_thresholds
from textcat.thresholds.cuts import cuts
from textcat.thresholds.tuned import BBR, TuningRule

# Multiples of the training documents' own number that are tried: no further than a factor of four.
MULTIPLES = np.geomspace(0.25, 4.0, 129)


def categories_a_document(labels: Bools) -> float:
    """The mean number of categories of these documents."""
    return float(np.count_nonzero(labels)) / max(len(labels), 1)


def wanted_documents(shares: Floats, per_document: float, documents: int) -> Floats:
    """For each category how many of `documents` PCut gives it: whole numbers, halves rounded up."""
    total = float(shares.sum())
    exact = shares * (per_document * documents / total if total else 0.0)
    # What is a half but for the rounding of its factors is a half.
    return np.asarray(np.floor(exact.round(9) + 0.5))


def tuned_rcut(scores: Floats, labels: Bools) -> float:
    """The number of categories for every document with the best micro F1; the smallest of equally good ones."""
    if not scores.size:
        return 1.0
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(labels, order, axis=1).sum(axis=0).cumsum()
    given = np.arange(1, scores.shape[1] + 1) * len(scores)
    return float(1 + np.argmax(2.0 * hits / (given + hits[-1])))


def tuned_pcut(scores: Floats, labels: Bools) -> float:
    """The number of categories a document, over all, with which PCut has the best micro F1."""
    usual = categories_a_document(labels)
    shares = labels.mean(axis=0) if len(labels) else np.zeros(labels.shape[1])
    hits = cuts(scores, labels).hits
    best, chosen = -1.0, usual
    for per_document in usual * MULTIPLES:
        wanted = np.minimum(wanted_documents(shares, per_document, len(labels)), len(labels)).astype(np.int64)
        found = np.take_along_axis(hits, wanted[np.newaxis, :], axis=0).sum()
        f1 = 2.0 * found / max(wanted.sum() + hits[-1].sum(), 1)
        if f1 > best:
            best, chosen = float(f1), float(per_document)
    return chosen


def proportional_thresholds(
    scores: Floats, labels: Bools, per_document: float, rule: TuningRule = BBR
) -> Floats:
    """PCut as fixed thresholds: those that accept the wanted number of documents here, or nearest to it.

    Equal scores cannot be divided; of two equally near divisions the larger is taken. A category without
    positive documents, of which nothing is wanted, gets the rule's `no_positives`.
    """
    candidates = cuts(scores, labels)
    shares = labels.mean(axis=0) if len(labels) else np.zeros(labels.shape[1])
    wanted = np.minimum(wanted_documents(shares, per_document, len(labels)), len(labels))
    thresholds = accepting_thresholds(candidates, wanted, rule)
    # Nothing wanted is nothing accepted, of new documents too.
    thresholds[wanted == 0] = NEVER
    return thresholds
