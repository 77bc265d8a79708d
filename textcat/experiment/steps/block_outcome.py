"""Decide and count in one pass over blocks of categories, and write and read the files of evaluated runs.

Decisions and counts are the same as with the whole matrix of scores. Only the scores that a report shows are kept:
those of accepted categories, of true ones, and the highest of each document.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.evaluation.curves import (
    BreakEven,
    MicroCurve,
    PrecisionRecallCurve,
    count_break_even,
    rank_labels,
)
from textcat.evaluation.measures import (
    PROBABILITY_CLIP,
    Bools,
    ContingencyTable,
    Floats,
    Ints,
    SparseLabels,
    count_positives,
    make_dense_labels,
)
from textcat.evaluation.one_label import find_columns
from textcat.evaluation.ranking import TopLabels
from textcat.evaluation.run_measures import EvaluationCounts
from textcat.experiment.context import RunContext
from textcat.experiment.steps.decide import DecisionRule
from textcat.experiment.steps.models import Model, find_tree_labels, map_score_blocks
from textcat.learners.label_tree import UNREACHED, LabelTree
from textcat.store.arrays import read_array, read_mask, read_matrix, write_array, write_mask, write_matrix
from textcat.thresholds.calibration import Calibration

# Scores kept of each document at least.
KEPT_LABELS = 10


@dataclass(frozen=True)
class BlockOutcome:
    """Counts, curve, decisions and kept scores of test documents; Brier score and log loss with a calibration."""

    counts: EvaluationCounts
    curve: PrecisionRecallCurve
    decisions: sp.csr_array[Any]
    scores: sp.csr_array[Any]
    calibration: dict[str, float]


@dataclass(frozen=True)
class _BlockCounts:
    """The contribution of one block of categories to an outcome."""

    hits: Ints
    curve: MicroCurve
    top: TopLabels
    places: tuple[Ints, Ints, Floats, Bools]
    calibration: tuple[int, float, float]


@dataclass(frozen=True)
class _BlockCounter:
    """Decides and counts the scores of a block of categories, here or on a worker."""

    model: Model
    rule: DecisionRule
    labels: SparseLabels
    positives: Ints
    ranked: int

    def __call__(self, first: int, scores: Floats) -> _BlockCounts:
        """Return the counts of consecutive categories with these scores."""
        stop = first + scores.shape[1]
        own = make_dense_labels(self.labels, first, stop)
        part = self.rule.select_categories(first, stop)
        accepted = np.zeros_like(own)
        if self.rule.most_categories is None:
            accepted = part.decide(self.model, scores)
        ranked, curve = rank_labels(scores, own), self.make_curve()
        curve.add(ranked)
        rows, columns = np.nonzero(accepted | own)
        return _BlockCounts(
            count_break_even(ranked).hits,
            curve,
            TopLabels.find(scores, first, self.ranked),
            (rows, columns + first, scores[rows, columns], accepted[rows, columns]),
            _sum_calibration(part.calibration, scores, own),
        )

    def make_curve(self) -> MicroCurve:
        """Return a curve without categories."""
        return MicroCurve(self.labels.shape[0], self.positives)


def evaluate_in_blocks(
    context: RunContext, model: Model, X: Any, rule: DecisionRule, labels: SparseLabels, most_ranked: int
) -> BlockOutcome:
    """Score, decide and count in one pass over blocks of categories; `most_ranked` is the largest k of P@k."""
    positives = count_positives(labels)
    ranked = min(max(most_ranked, KEPT_LABELS, rule.most_categories or 0), labels.shape[1])
    counter = _BlockCounter(model, rule, labels, positives, ranked)
    top, curve, hits = TopLabels.make_empty(labels.shape[0], ranked), counter.make_curve(), []
    places, quality = _Places(labels.shape), np.zeros(3)
    for block in map_score_blocks(context, model, X, counter):
        hits.append(block.hits)
        curve.merge(block.curve)
        top.merge(block.top)
        places.add(block.places)
        quality += block.calibration
    places.add_top(top, accepted=rule.most_categories or 0)
    decisions, kept = places.matrices()
    counts = EvaluationCounts(
        _count_sparse(decisions, labels),
        BreakEven(np.concatenate(hits), positives),
        _measure_accuracy(top, labels),
        top,
    )
    return BlockOutcome(counts, curve.points(), decisions, kept, _average_calibration(*quality.tolist()))


def count_in_blocks(
    context: RunContext, model: Model, X: Any, rule: DecisionRule, labels: SparseLabels
) -> ContingencyTable:
    """Return the contingency table of documents that are decided in blocks."""
    if rule.most_categories is not None:
        top = TopLabels.make_empty(labels.shape[0], rule.most_categories)
        find = partial(_find_top, rule.most_categories)
        for block in map_score_blocks(context, model, X, find):
            top.merge(block)
        places = _Places(labels.shape)
        places.add_top(top, accepted=rule.most_categories)
        return _count_sparse(places.matrices()[0], labels)
    if isinstance(model, LabelTree) and rule.compares_scores and bool(np.all(rule.thresholds > UNREACHED)):
        return _count_sparse(_accept_found(find_tree_labels(context, model, X), rule.thresholds), labels)
    counts = list(map_score_blocks(context, model, X, partial(_count_decisions, model, rule, labels)))
    hits, accepted = (np.concatenate(each) for each in zip(*counts, strict=True))
    return _make_table(hits, accepted, labels)


def _accept_found(scores: sp.csr_matrix, thresholds: Floats) -> sp.csr_array[Any]:
    """Return the labels that a tree has found with a score of at least their threshold."""
    accepted = scores.data >= thresholds[scores.indices]
    ends = np.concatenate([[0], np.cumsum(accepted)])[scores.indptr]
    return sp.csr_array((accepted[accepted], scores.indices[accepted], ends), shape=scores.shape)


def _find_top(most: int, first: int, scores: Floats) -> TopLabels:
    return TopLabels.find(scores, first, most)


def _count_decisions(
    model: Model, rule: DecisionRule, labels: SparseLabels, first: int, scores: Floats
) -> tuple[Ints, Ints]:
    """Return the numbers of hits and of accepted documents of a block of categories."""
    stop = first + scores.shape[1]
    accepted = rule.select_categories(first, stop).decide(model, scores)
    return count_positives(accepted & make_dense_labels(labels, first, stop)), count_positives(accepted)


def _make_table(tp: Ints, accepted: Ints, labels: SparseLabels) -> ContingencyTable:
    return ContingencyTable.from_totals(tp, accepted, count_positives(labels), labels.shape[0])


def _count_sparse(decisions: sp.csr_array[Any], labels: SparseLabels) -> ContingencyTable:
    hits = sp.csr_array(decisions.multiply(labels))
    return _make_table(count_positives(hits), count_positives(decisions), labels)


def _measure_accuracy(top: TopLabels, labels: SparseLabels) -> float:
    """Return the share of documents with the highest score at their one category; NaN with other numbers of labels."""
    if not labels.shape[0] or not bool(np.all(np.diff(labels.indptr) == 1)):
        return float("nan")
    return float(100.0 * (find_columns(labels) == top.labels[:, 0]).mean())


class _Places:
    """Document, category, score and decision of the scores that are kept."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = (shape[0], shape[1])
        self._parts: list[tuple[Ints, Ints, Floats, Bools]] = []

    def add(self, places: tuple[Ints, Ints, Floats, Bools]) -> None:
        """Keep some places: rows, columns, scores and decisions."""
        self._parts.append(places)

    def add_top(self, top: TopLabels, *, accepted: int) -> None:
        """Keep the highest scores of each document; the `accepted` first of them are decisions."""
        rows, places = np.nonzero(top.labels >= 0)
        columns = top.labels[rows, places]
        self._parts.append((rows, columns, top.scores[rows, places], places < accepted))

    def matrices(self) -> tuple[sp.csr_array[Any], sp.csr_array[Any]]:
        """Return the decisions and the kept scores, documents x categories."""
        rows, columns, scores, accepted = (
            np.concatenate([part[k] for part in self._parts]) for k in range(4)
        )
        place, first = np.unique(rows * self._shape[1] + columns, return_index=True)
        kept = sp.csr_array((scores[first], np.divmod(place, self._shape[1])), shape=self._shape)
        chosen = np.unique((rows * self._shape[1] + columns)[accepted])
        where = np.divmod(chosen, self._shape[1])
        return sp.csr_array((np.ones(len(chosen), dtype=np.bool_), where), shape=self._shape), kept


def _sum_calibration(
    calibration: Calibration | None, scores: Floats, labels: Bools
) -> tuple[int, float, float]:
    """Return the number of decisions of a block, and the sums of squared errors and log losses."""
    if calibration is None:
        return 0, 0.0, 0.0
    probabilities = calibration.probabilities(scores)
    bounded = np.clip(probabilities, PROBABILITY_CLIP, 1.0 - PROBABILITY_CLIP)
    squares = float(np.square(probabilities - labels).sum())
    return labels.size, squares, -float(np.log(np.where(labels, bounded, 1.0 - bounded)).sum())


def _average_calibration(decisions: float, brier: float, loss: float) -> dict[str, float]:
    """Return the measures of `measure_calibration` from the sums over all blocks; nothing without probabilities."""
    if not decisions:
        return {}
    return {"probability.brier": brier / decisions, "probability.log_loss": loss / decisions}


_KEPT = "kept_scores"
_DECIDED = "accepted"


def write_all_scores(folder: Path, scores: NDArray[np.float64], decisions: NDArray[np.bool_]) -> None:
    """Write all scores and decisions, documents x categories."""
    write_array(folder, "scores", scores)
    write_mask(folder, "decisions", decisions)


def write_kept_scores(
    folder: Path, scores: sp.csr_array[Any], decisions: sp.csr_array[Any], curve: PrecisionRecallCurve
) -> None:
    """Write sparse scores and decisions, and the curve that was computed from all scores."""
    write_matrix(folder, _KEPT, scores)
    write_matrix(folder, _DECIDED, decisions.astype(np.int8))
    write_array(folder, "curve", np.vstack([curve.recall, curve.precision]))


def holds_all_scores(folder: Path) -> bool:
    """Return whether a run's folder has the scores of all documents and categories."""
    return not (folder / "curve.npy").exists()


def read_scores(folder: Path) -> Any:
    """Return all scores as an array, or those that were kept as a sparse one."""
    return read_array(folder, "scores") if holds_all_scores(folder) else read_matrix(folder, _KEPT)


def select_scores(scores: Any, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores at some places; those that were not kept are 0."""
    if isinstance(scores, np.ndarray):
        return np.asarray(scores[rows, columns], dtype=np.float64)
    documents, categories = scores.shape
    # One number for each place, in increasing order: rows and columns of `write_kept_scores` are sorted.
    kept = np.repeat(np.arange(documents), np.diff(scores.indptr)) * categories + scores.indices
    wanted = rows * categories + columns
    at = np.searchsorted(kept, wanted)
    found = np.append(kept, -1)[at] == wanted
    return np.where(found, np.append(scores.data, 0.0)[at], 0.0)


def read_decisions(folder: Path) -> SparseLabels:
    """Return the decisions, documents x categories."""
    if holds_all_scores(folder):
        return sp.csr_array(read_mask(folder, "decisions"))
    return sp.csr_array(read_matrix(folder, _DECIDED).astype(np.bool_))


def read_curve(folder: Path) -> PrecisionRecallCurve:
    """Return the micro-averaged curve of a run of which not all scores were written."""
    recall, precision = read_array(folder, "curve")
    return PrecisionRecallCurve(recall, precision)
