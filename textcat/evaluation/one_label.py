"""Measures for one label per document: accuracy at k, confused pairs, reliability and calibration error.

Labels and given categories are column numbers, one per document; -1 is a document without a category.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.evaluation.measures import Bools, Floats, Ints, SparseLabels

# Equal parts of [0, 1] in which the mean probability is compared with the share of right answers.
RELIABILITY_BINS = 15
# Points of a risk-coverage curve.
COVERAGE_POINTS = 100

Confusion = tuple[int, int, int]
Reliability = tuple[float, float, int]


def find_columns(chosen: Bools | SparseLabels) -> Ints:
    """Return the first chosen column of each row, or -1."""
    if sp.issparse(chosen):
        found = np.full(chosen.shape[0], -1, dtype=np.int64)
        some = np.diff(chosen.indptr) > 0
        found[some] = chosen.indices[chosen.indptr[:-1][some]]
        return found
    first = np.argmax(chosen, axis=1)
    return np.where(chosen.any(axis=1), first, -1).astype(np.int64)


def count_confusions(labels: Ints, given: Ints, most: int | None = None) -> list[Confusion]:
    """Return (label, category given instead, documents), the most frequent first, ties by label and category.

    Documents without a label or without a given category are left out.
    """
    wrong = (labels != given) & (labels >= 0) & (given >= 0)
    pairs, counts = np.unique(np.stack([labels[wrong], given[wrong]], axis=1), axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return [(int(pairs[k, 0]), int(pairs[k, 1]), int(counts[k])) for k in order]


def measure_top_accuracy(scores: Floats, labels: Ints, ks: Sequence[int]) -> dict[str, float]:
    """Return the percentage of documents whose label is among the k highest scores, for each k below all categories.

    Ties are ranked by the order of the categories. Documents without a label are left out.
    """
    known = np.flatnonzero(labels >= 0)
    if not len(known):
        return {}
    own = scores[known, labels[known]][:, None]
    columns = np.arange(scores.shape[1])
    ahead = (scores[known] > own) | ((scores[known] == own) & (columns < labels[known, None]))
    rank = np.count_nonzero(ahead, axis=1)
    return {f"accuracy.top{k}": float(100.0 * (rank < k).mean()) for k in ks if k < scores.shape[1]}


def measure_reliability(
    probabilities: Floats, labels: Ints, ranked: Floats | None = None
) -> list[Reliability]:
    """Return mean best probability, share of right answers and number of documents of each bin that has any.

    `ranked` has the order of the probabilities and says which of equal ones is the answer.
    """
    best = probabilities.max(axis=1)
    right = np.argmax(probabilities if ranked is None else ranked, axis=1) == labels
    bin_of = np.clip((best * RELIABILITY_BINS).astype(np.int64), 0, RELIABILITY_BINS - 1)
    found = []
    for number in range(RELIABILITY_BINS):
        inside = bin_of == number
        if inside.any():
            found.append((float(best[inside].mean()), float(right[inside].mean()), int(inside.sum())))
    return found


def compute_calibration_error(reliability: Sequence[Reliability]) -> float:
    """Return the expected calibration error: the mean over documents of |probability - share right| of their bin."""
    total = sum(documents for _, _, documents in reliability)
    if not total:
        return float("nan")
    return sum(abs(mean - right) * documents for mean, right, documents in reliability) / total


def rank_label_errors(probabilities: Floats, labels: Ints, most: int) -> NDArray[np.int64]:
    """Return the documents whose held-out probabilities contradict their label most, the clearest first.

    They are ordered by the difference between the best probability and the label's probability. Documents whose label
    has the best probability are left out.
    """
    known = np.flatnonzero(labels >= 0)
    best = np.argmax(probabilities[known], axis=1)
    margin = probabilities[known, best] - probabilities[known, labels[known]]
    contradicting = np.flatnonzero((best != labels[known]) & (margin > 0))
    order = np.argsort(-margin[contradicting], kind="stable")[:most]
    return np.asarray(known[contradicting[order]], dtype=np.int64)


def measure_rejection(labels: Ints, given: Ints, outside: int) -> dict[str, float]:
    """Return in-scope accuracy, out-of-scope recall and precision, and the share answered, in percent.

    `outside` is the column of documents out of scope, or -1 if there are none; documents that are given it or
    nothing (-1) are rejected. Shares of no documents are NaN.
    """
    rejected = (given < 0) | (given == outside)
    beyond = (labels == outside) if outside >= 0 else np.zeros(len(labels), dtype=np.bool_)
    right = (labels == given) & ~rejected

    def share(part: Bools, whole: Bools) -> float:
        return float(100.0 * part[whole].mean()) if whole.any() else float("nan")

    return {
        "reject.in_scope_accuracy": share(right, ~beyond),
        "reject.out_of_scope_recall": share(rejected, beyond),
        "reject.out_of_scope_precision": share(beyond, rejected) if outside >= 0 else float("nan"),
        "reject.answered": share(~rejected, np.ones(len(labels), dtype=np.bool_)),
        "reject.right_of_answered": share(right, ~rejected),
    }


def trace_risk_coverage(best: Floats, right: Bools) -> list[tuple[float, float]]:
    """Return (share answered, share wrong of those) if only the best probabilities above a threshold are answered.

    Documents with equal probabilities are answered together. At most COVERAGE_POINTS thresholds are taken, at equal
    steps of coverage.
    """
    order = np.argsort(-best, kind="stable")
    wrong = np.cumsum(~right[order])
    ends = np.flatnonzero(np.append(np.diff(best[order]) != 0, True)) if len(best) else np.zeros(0, np.int64)
    if len(ends) > COVERAGE_POINTS:
        wanted = np.linspace(0, len(best) - 1, COVERAGE_POINTS)
        ends = np.unique(ends[np.minimum(np.searchsorted(ends, wanted), len(ends) - 1)])
    return [((end + 1) / len(best), float(wrong[end]) / (end + 1)) for end in ends.tolist()]


def compute_risk_area(best: Floats, right: Bools) -> float:
    """Return the area under the risk-coverage curve: the mean share wrong over all numbers of answered documents."""
    if not len(best):
        return float("nan")
    wrong = np.cumsum(~right[np.argsort(-best, kind="stable")])
    return float((wrong / np.arange(1, len(best) + 1)).mean())
