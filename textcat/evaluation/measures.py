"""Precision, recall, F1 and errors, per category, micro and macro averaged, in percent; calibration error.

A ratio 0/0 is settled by one rule: 1 counts it as 100 (genkin_2004 section 5.4), 0 as 0, and `skip`
leaves it NaN and out of every mean.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError
from textcat.evaluation.contingency import Bools, ContingencyTable, Ints

Floats = NDArray[np.float64]
ZeroDivision = Literal[1, 0, "skip"]

_ZERO_DIVISION_VALUES = {1: 100.0, 0: 0.0, "skip": float("nan")}


def compute_percentage(part: Ints, whole: Ints, zero_division: ZeroDivision) -> Floats:
    """100 x part / whole, with 0/0 as the rule has it."""
    undefined = _ZERO_DIVISION_VALUES[zero_division]
    result = np.full(len(whole), undefined, dtype=np.float64)
    np.divide(100.0 * part, whole, out=result, where=whole != 0)
    return result


def precision(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Floats:
    """Of the accepted documents, how many are in the category."""
    return compute_percentage(table.tp, table.tp + table.fp, zero_division)


def recall(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Floats:
    """Of the category's documents, how many are accepted."""
    return compute_percentage(table.tp, table.tp + table.fn, zero_division)


def f1(table: ContingencyTable, zero_division: ZeroDivision = 1) -> Floats:
    """The harmonic mean of precision and recall, from counts (genkin_2004 equation 34)."""
    return compute_percentage(2 * table.tp, 2 * table.tp + table.fp + table.fn, zero_division)


def error_rate(table: ContingencyTable) -> Floats:
    """Wrong decisions in a hundred (genkin_2004 equation 33); NaN without documents."""
    return compute_percentage(table.errors, table.documents, "skip")


def mean(values: Floats) -> float:
    """The plain mean over categories; NaN entries are skipped, and the mean of nothing is NaN."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def micro_f1(table: ContingencyTable, zero_division: ZeroDivision = 1) -> float:
    """F1 of the pooled counts."""
    return float(f1(table.sum_categories(), zero_division)[0])


def macro_f1(table: ContingencyTable, zero_division: ZeroDivision = 1) -> float:
    """The plain mean of the categories' F1."""
    return mean(f1(table, zero_division))


def f1_of_means(table: ContingencyTable, zero_division: ZeroDivision = 1) -> float:
    """Harmonic mean of mean precision and mean recall: macro F1 as gao_2003 equation 6.1 has it."""
    mean_precision = mean(precision(table, zero_division))
    mean_recall = mean(recall(table, zero_division))
    total = mean_precision + mean_recall
    if total == 0:
        return 0.0
    return 2 * mean_precision * mean_recall / total


def sort_by_size(train_counts: Ints) -> Ints:
    """Categories from the largest to the smallest by training documents; ties in category order."""
    return np.argsort(-np.asarray(train_counts, dtype=np.int64), kind="stable").astype(np.int64)


def argmax_accuracy(scores: Floats, labels: Bools) -> float:
    """Documents in a hundred whose highest score is at their one category; the first of equals wins."""
    labels_per_document = np.count_nonzero(labels, axis=1)
    if np.any(labels_per_document != 1):
        row = int(np.flatnonzero(labels_per_document != 1)[0])
        raise BadDataError(
            f"document {row} has {labels_per_document[row]} categories, accuracy needs exactly one",
            hint="Use micro or macro measures for documents of several categories.",
        )
    if not len(labels):
        return float("nan")
    chosen = np.argmax(scores, axis=1)
    return float(100.0 * labels[np.arange(len(labels)), chosen].mean())


# A certain probability that is wrong has an infinite logarithm: none counts as more certain than this.
PROBABILITY_CLIP = 1e-7


def measure_calibration(probabilities: Floats, labels: Bools) -> dict[str, float]:
    """Means over all decisions: squared error (Brier, 1950) and negative log-likelihood, both better when low."""
    bounded = np.clip(probabilities, PROBABILITY_CLIP, 1.0 - PROBABILITY_CLIP)
    likelihood = np.where(labels, bounded, 1.0 - bounded)
    return {
        "probability.brier": float(np.square(probabilities - labels).mean()),
        "probability.log_loss": float(-np.log(likelihood).mean()),
    }
