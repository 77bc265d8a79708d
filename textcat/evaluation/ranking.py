"""Measures of ranked labels, for collections with many labels: P@k, R@k, nDCG@k, R-precision@k, PSP@k, coverage@k.

Each is taken per document over its k labels with the highest scores (ties: the first label counts) and averaged over
the documents that have a label, in percent. Only the k highest scores of a document are kept, so that scores may
come in blocks of labels. The propensity-scored P@k of Jain, Prabhu & Varma (KDD 2016) divides by the value of the
best possible ranking, as the Extreme Classification Repository does. Coverage@k is the share of the labels of the
documents that are found among the k labels of at least one of their documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import UsageError
from textcat.evaluation.measures import Bools, Floats, Ints, SparseLabels

PROPENSITY_A = 0.55
PROPENSITY_B = 1.5
# Scores are searched this many labels, and hits are counted this many documents at a time.
BLOCK_LABELS = 512
BLOCK_DOCUMENTS = 1024


@dataclass
class TopLabels:
    """The k labels with the highest scores of each document, best first; -1 where there are fewer labels."""

    labels: Ints
    scores: Floats

    @classmethod
    def make_empty(cls, documents: int, k: int) -> TopLabels:
        """Return the ranking before the first block."""
        return cls(np.full((documents, k), -1, dtype=np.int64), np.full((documents, k), -np.inf))

    @classmethod
    def find(cls, block: NDArray[Any], first: int, k: int) -> TopLabels:
        """Return the k best of the labels `first`, `first` + 1, ... with these scores."""
        found = cls.make_empty(len(block), min(k, block.shape[1]))
        if not found.labels.size:
            return found
        for start in range(0, len(block), BLOCK_DOCUMENTS):
            rows = slice(start, start + BLOCK_DOCUMENTS)
            best = _find_highest(np.asarray(block[rows], dtype=np.float64), found.labels.shape[1])
            found.scores[rows] = np.take_along_axis(block[rows], best, axis=1)
            found.labels[rows] = best + first
        return found

    def merge(self, other: TopLabels) -> None:
        """Merge the best of later labels; sorting is stable, so of ties the first label wins."""
        k = self.labels.shape[1]
        if not other.labels.shape[1]:
            return
        scores, labels = np.hstack([self.scores, other.scores]), np.hstack([self.labels, other.labels])
        # Places that no label has taken yet come after labels with a score of minus infinity.
        order = np.lexsort((labels < 0, -scores), axis=1)[:, :k]
        self.scores = np.take_along_axis(scores, order, axis=1)
        self.labels = np.take_along_axis(labels, order, axis=1)

    def add(self, block: NDArray[Any], first: int) -> None:
        """Merge the scores of the labels `first`, `first` + 1, ...; blocks come in the order of the labels."""
        self.merge(TopLabels.find(block, first, self.labels.shape[1]))


def _find_highest(scores: Floats, k: int) -> Ints:
    """Return the k columns with the highest scores of each row, best first; of ties the first columns."""
    columns = scores.shape[1]
    if columns <= 4 * k:
        return np.argsort(-scores, axis=1, kind="stable")[:, :k].astype(np.int64)
    limit = np.partition(scores, columns - k, axis=1)[:, columns - k, None]
    # 0 above the k-th highest score, 1 at it and 2 below; the first columns of those at it fill what is left.
    above = scores > limit
    missing = k - above.sum(axis=1, keepdims=True)
    tied = scores == limit
    chosen = above | (tied & (np.cumsum(tied, axis=1) <= missing))
    found = np.nonzero(chosen)[1].reshape(len(scores), k)
    order = np.argsort(-np.take_along_axis(scores, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1).astype(np.int64)


def find_top_labels(scores: NDArray[Any], k: int, width: int = BLOCK_LABELS) -> TopLabels:
    """Return the k highest labels of each document, searched `width` labels at a time."""
    top = TopLabels.make_empty(len(scores), k)
    for first in range(0, scores.shape[1], width):
        top.add(scores[:, first : first + width], first)
    return top


def compute_inverse_propensities(train_counts: Ints, train_documents: int) -> Floats:
    """Return 1/p of each label (Jain et al., 2016): 1 + C (n + B)^-A with C = (ln N - 1) (B + 1)^A."""
    scale = (np.log(max(train_documents, 1)) - 1.0) * (PROPENSITY_B + 1.0) ** PROPENSITY_A
    counts = np.asarray(train_counts, dtype=np.float64)
    return np.asarray(1.0 + scale * (counts + PROPENSITY_B) ** -PROPENSITY_A)


def measure_ranking(
    top: TopLabels, labels: Bools | SparseLabels, ks: Sequence[int], train_counts: Ints, train_documents: int
) -> dict[str, float]:
    """Return the measures at each k, and the numbers of documents measured, and skipped because they have no label.

    A document with fewer than k labels to choose from has misses in the places that are left.
    """
    own = sp.csr_array(labels)
    documents, number = own.shape[0], own.shape[1]
    if not ks or min(ks) < 1 or max(ks) > top.labels.shape[1]:
        raise UsageError(
            f"measures at {list(ks)} need that many ranked labels per document, not {top.labels.shape[1]}",
            hint="Keep as many labels as the largest k.",
        )
    inverse = compute_inverse_propensities(train_counts, train_documents)
    sums = {name: 0.0 for k in ks for name in _list_sums(k)}
    measured, covered = 0, {k: np.zeros(number, dtype=np.bool_) for k in ks}
    for start in range(0, documents, BLOCK_DOCUMENTS):
        rows = np.arange(start, min(start + BLOCK_DOCUMENTS, documents))
        labelled = rows[np.diff(own.indptr)[rows] > 0]
        measured += len(labelled)
        block, best = own[labelled], top.labels[labelled]
        hits = _find_hits(best, block)
        for name, value in _sum_block(best, hits, block, ks, inverse).items():
            sums[name] += value
        for k in ks:
            covered[k][best[:, :k][hits[:, :k]]] = True
    known = int(np.count_nonzero(np.bincount(own.indices, minlength=number)))
    coverage = {
        f"coverage@{k}": 100.0 * int(np.count_nonzero(covered[k])) / known if known else float("nan")
        for k in ks
    }
    counted = {"ranking.documents": float(measured), "ranking.skipped": float(documents - measured)}
    return _divide_sums(sums, ks, measured) | coverage | counted


def _list_sums(k: int) -> tuple[str, ...]:
    return f"precision@{k}", f"recall@{k}", f"ndcg@{k}", f"r_precision@{k}", f"gain@{k}", f"best_gain@{k}"


def _find_hits(top: Ints, labels: SparseLabels) -> Bools:
    """Return which places of the rankings hold a label of their document."""
    documents, number = labels.shape
    rows = np.repeat(np.arange(documents), np.diff(labels.indptr))
    wanted = np.arange(documents)[:, None] * number + top
    return np.isin(wanted, rows * number + labels.indices) & (top >= 0)


def _find_best_gains(labels: SparseLabels, inverse: Floats, k: int) -> Floats:
    """Return the k largest inverse propensities of the labels of each document, 0 where it has fewer labels."""
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    gains = inverse[labels.indices]
    order = np.lexsort((-gains, rows))
    places = np.arange(len(rows)) - labels.indptr[rows]
    kept = places < k
    best = np.zeros((labels.shape[0], k))
    best[rows[kept], places[kept]] = gains[order][kept]
    return best


def _sum_block(
    top: Ints, hits: Bools, labels: SparseLabels, ks: Sequence[int], inverse: Floats
) -> dict[str, float]:
    """Return the sums over some documents, each of which has a label."""
    number = np.diff(labels.indptr)
    gain = np.where(hits, inverse[np.maximum(top, 0)], 0.0)
    best = _find_best_gains(labels, inverse, min(max(ks), labels.shape[1]))
    discount = 1.0 / np.log2(np.arange(2, max(ks) + 2))
    ideal = np.cumsum(discount)
    sums: dict[str, float] = {}
    for k in ks:
        found = hits[:, :k].sum(axis=1)
        values = (
            found / k,
            found / number,
            (hits[:, :k] @ discount[:k]) / ideal[np.minimum(number, k) - 1],
            found / np.minimum(number, k),
            gain[:, :k].sum(axis=1) / k,
            best[:, :k].sum(axis=1) / k,
        )
        sums |= {name: float(value.sum()) for name, value in zip(_list_sums(k), values, strict=True)}
    return sums


def _divide_sums(sums: dict[str, float], ks: Sequence[int], measured: int) -> dict[str, float]:
    result: dict[str, float] = {}
    for k in ks:
        for name in _list_sums(k)[:4]:
            result[name] = 100.0 * sums[name] / measured if measured else float("nan")
        best = sums[f"best_gain@{k}"]
        result[f"psp@{k}"] = 100.0 * sums[f"gain@{k}"] / best if best else float("nan")
    return result
