"""Count contingency tables; compute precision, recall, F1 and errors, per category, micro and macro averaged.

Measures are percentages. `zero_division` is the value of a ratio 0/0: 1 counts it as 100 (genkin_2004 section 5.4),
0 as 0. `skip` counts it as 0 too, but leaves categories without documents out of every mean: what is accepted for them
counts in micro averages only.

The first axis of counts is that of the categories. Counts of bootstrap resamples have a second axis, one column for
each resample, which the averages over categories keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.errors import BadDataError, UsageError

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
# A number over all categories, or one for each resample.
Average = Any
# Labels of many documents and categories, without duplicates and with sorted columns.
SparseLabels = sp.csr_array[Any]
ZeroDivision = Literal[1, 0, "skip"]
_ZERO_DIVISION_VALUES = {1: 100.0, 0: 0.0, "skip": float("nan")}


def take_columns(labels: SparseLabels, categories: Ints) -> SparseLabels:
    """Return the labels of some categories, in the given order."""
    taken = sp.csr_array(labels[:, categories])
    taken.sort_indices()
    return taken


def make_dense_labels(labels: Any, first: int = 0, stop: int | None = None) -> Bools:
    """Return the labels of consecutive categories, sparse or not, as a bool array."""
    block = labels[:, first:stop]
    return np.asarray(block if isinstance(block, np.ndarray) else block.toarray(), dtype=np.bool_)


def count_positives(labels: Any) -> Ints:
    """Return the number of documents of each category, of labels that are CSR or an array."""
    if isinstance(labels, np.ndarray):
        return np.asarray(np.count_nonzero(labels, axis=0), dtype=np.int64)
    counts: Ints = np.bincount(labels.indices, minlength=labels.shape[1]).astype(np.int64)
    return counts


@dataclass(frozen=True)
class ContingencyTable:
    """True positives, false positives, false negatives and true negatives of each category."""

    tp: Ints
    fp: Ints
    fn: Ints
    tn: Ints

    @classmethod
    def from_totals(cls, tp: Ints, accepted: Ints, positive: Ints, documents: int) -> ContingencyTable:
        """Return the tables of categories with these numbers of hits, accepted and positive documents."""
        return cls(tp, accepted - tp, positive - tp, documents - accepted - positive + tp)

    def sum_categories(self) -> ContingencyTable:
        """Return the sums over all categories, as the table of one category."""
        return ContingencyTable(*(counts.sum(axis=0, keepdims=True) for counts in self._counts()))

    def restrict(self, categories: Sequence[int] | Ints) -> ContingencyTable:
        """Return the tables of some categories, in the given order."""
        chosen = np.asarray(categories, dtype=np.int64)
        return ContingencyTable(*(counts[chosen] for counts in self._counts()))

    @property
    def errors(self) -> Ints:
        """The number of wrong decisions."""
        return self.fp + self.fn

    @property
    def documents(self) -> Ints:
        """The number of documents."""
        return self.tp + self.fp + self.fn + self.tn

    def _counts(self) -> tuple[Ints, Ints, Ints, Ints]:
        return self.tp, self.fp, self.fn, self.tn


def count_contingency(decisions: Bools, labels: Bools) -> ContingencyTable:
    """Count decisions by label; both are documents x categories."""
    if decisions.shape != labels.shape or decisions.ndim != 2:
        raise UsageError(
            f"decisions of shape {decisions.shape} cannot be compared with labels of shape {labels.shape}",
            hint="Give both as documents x categories.",
        )
    tp, accepted, positive = (
        np.count_nonzero(each, axis=0).astype(np.int64) for each in (decisions & labels, decisions, labels)
    )
    return ContingencyTable.from_totals(tp, accepted, positive, len(labels))


def compute_percentage(part: Ints, whole: Ints, zero_division: ZeroDivision) -> Floats:
    """Return 100 * part / whole, with `zero_division` for 0/0."""
    undefined = _ZERO_DIVISION_VALUES[zero_division]
    result = np.full(whole.shape, undefined, dtype=np.float64)
    np.divide(100.0 * part, whole, out=result, where=whole != 0)
    return result


def precision(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Floats:
    """Return the percentage of the accepted documents that are in the category."""
    return _compute_ratio(table, table.tp, table.tp + table.fp, zero_division)


def recall(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Floats:
    """Return the percentage of the category's documents that are accepted."""
    return _compute_ratio(table, table.tp, table.tp + table.fn, zero_division)


def f1(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Floats:
    """Return the harmonic mean of precision and recall, from counts (genkin_2004 equation 34)."""
    return _compute_ratio(table, 2 * table.tp, 2 * table.tp + table.fp + table.fn, zero_division)


def _compute_ratio(table: ContingencyTable, part: Ints, whole: Ints, zero_division: ZeroDivision) -> Floats:
    """Return a percentage for each category; NaN for those without documents that are skipped."""
    if zero_division != "skip":
        return compute_percentage(part, whole, zero_division)
    return np.where(find_empty_categories(table), np.nan, compute_percentage(part, whole, 0))


def find_empty_categories(table: ContingencyTable) -> Bools:
    """Return which categories have no document."""
    return np.asarray(table.tp + table.fn == 0)


def error_rate(table: ContingencyTable) -> Floats:
    """Return the percentage of wrong decisions (genkin_2004 equation 33); NaN without documents."""
    return compute_percentage(table.errors, table.documents, "skip")


def mean(values: Floats) -> Average:
    """Return the plain mean over categories; NaN entries are skipped, and the mean of nothing is NaN."""
    is_defined = ~np.isnan(values)
    number = np.count_nonzero(is_defined, axis=0)
    total = np.where(is_defined, values, 0.0).sum(axis=0)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)[()]


def micro_f1(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Average:
    """Return F1 of the counts summed over categories."""
    return f1(table.sum_categories(), zero_division)[0]


def macro_f1(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Average:
    """Return the mean of the categories' F1."""
    return mean(f1(table, zero_division))


def f1_of_means(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Average:
    """Return the harmonic mean of mean precision and mean recall, the macro F1 of gao_2003 equation 6.1."""
    mean_precision = mean(precision(table, zero_division))
    mean_recall = mean(recall(table, zero_division))
    total = mean_precision + mean_recall
    return np.where(total == 0, 0.0, 2 * mean_precision * mean_recall / np.where(total == 0, 1.0, total))[()]


def replace_nan(values: Mapping[str, float]) -> dict[str, float | None]:
    """Return measures with None in place of NaN and infinity, which JSON does not have."""
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def sort_by_size(train_counts: Ints) -> Ints:
    """Return the categories by decreasing number of training documents; ties are in category order."""
    return np.argsort(-np.asarray(train_counts, dtype=np.int64), kind="stable").astype(np.int64)


def argmax_accuracy(scores: Floats, labels: Bools) -> float:
    """Return the percentage of documents with the highest score at their one category; of ties the first counts."""
    labels_per_document = np.count_nonzero(labels, axis=1)
    if np.any(labels_per_document != 1):
        row = int(np.flatnonzero(labels_per_document != 1)[0])
        raise BadDataError(
            f"document {row} has {labels_per_document[row]} categories, but accuracy needs exactly one",
            hint="Use micro or macro measures for documents with several categories.",
        )
    if not len(labels):
        return float("nan")
    chosen = np.argmax(scores, axis=1)
    return float(100.0 * labels[np.arange(len(labels)), chosen].mean())


# Probabilities are clipped this far from 0 and 1, since a wrong probability of 1 has infinite loss.
PROBABILITY_CLIP = 1e-7


def measure_calibration(probabilities: Floats, labels: Bools) -> dict[str, float]:
    """Return mean squared error (Brier, 1950) and mean negative log-likelihood over all decisions."""
    bounded = np.clip(probabilities, PROBABILITY_CLIP, 1.0 - PROBABILITY_CLIP)
    likelihood = np.where(labels, bounded, 1.0 - bounded)
    return {
        "probability.brier": float(np.square(probabilities - labels).mean()),
        "probability.log_loss": float(-np.log(likelihood).mean()),
    }
