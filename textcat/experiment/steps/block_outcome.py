"""Decide and count in one pass over blocks of categories, and write and read the files of evaluated runs.

Decisions and all counts are those of the whole matrix. Of the scores only those are kept that a report shows: of
accepted categories, of true ones, and of the highest of each document.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from textcat.evaluation.measures import PROBABILITY_CLIP, Bools, ContingencyTable, Floats, Ints
from textcat.evaluation.ranking import TopLabels
from textcat.evaluation.run_measures import EvaluationCounts
from textcat.experiment.steps.decide import DecisionRule
from textcat.experiment.steps.models import Model
from textcat.experiment.steps.score_blocks import iterate_score_blocks
from textcat.store.arrays import read_array, read_mask, read_matrix, write_array, write_mask, write_matrix

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


def evaluate_in_blocks(
    model: Model, X: Any, rule: DecisionRule, labels: Bools, most_ranked: int, jobs: int
) -> BlockOutcome:
    """Score, decide and count in one pass over blocks of categories; `most_ranked` is the largest k of P@k."""
    positives = np.count_nonzero(labels, axis=0).astype(np.int64)
    ranked_labels = max(most_ranked, KEPT_LABELS, rule.most_categories or 0)
    top = TopLabels.make_empty(len(labels), min(ranked_labels, labels.shape[1]))
    curve, hits = MicroCurve(len(labels), positives), []
    places, quality = _Places(labels.shape), _CalibrationSums()
    for first, scores in iterate_score_blocks(model, X, jobs):
        columns = slice(first, first + scores.shape[1])
        own = labels[:, columns]
        part = rule.select_categories(columns.start, columns.stop)
        accepted = part.decide(model, scores) if rule.most_categories is None else np.zeros_like(own)
        ranked = rank_labels(scores, own)
        hits.append(count_break_even(ranked).hits)
        curve.add(ranked)
        top.add(scores, first)
        places.add(first, scores, accepted, own)
        if part.calibration is not None:
            quality.add(part.calibration.probabilities(scores), own)
    places.add_top(top, accepted=rule.most_categories or 0)
    decisions, kept = places.matrices()
    counts = EvaluationCounts(
        _count_sparse(decisions, labels),
        BreakEven(np.concatenate(hits), positives),
        _measure_accuracy(top, labels),
        top,
    )
    return BlockOutcome(counts, curve.points(), decisions, kept, quality.means())


def count_in_blocks(model: Model, X: Any, rule: DecisionRule, labels: Bools, jobs: int) -> ContingencyTable:
    """Return the contingency table of documents that are decided in blocks."""
    if rule.most_categories is not None:
        top = TopLabels.make_empty(len(labels), rule.most_categories)
        for first, scores in iterate_score_blocks(model, X, jobs):
            top.add(scores, first)
        places = _Places(labels.shape)
        places.add_top(top, accepted=rule.most_categories)
        return _count_sparse(places.matrices()[0], labels)
    accepted_documents, hits = [], []
    for first, scores in iterate_score_blocks(model, X, jobs):
        stop = first + scores.shape[1]
        accepted = rule.select_categories(first, stop).decide(model, scores)
        accepted_documents.append(np.count_nonzero(accepted, axis=0))
        hits.append(np.count_nonzero(accepted & labels[:, first:stop], axis=0))
    return _make_table(np.concatenate(hits), np.concatenate(accepted_documents), labels)


def _make_table(tp: Ints, accepted: Ints, labels: Bools) -> ContingencyTable:
    positive = np.count_nonzero(labels, axis=0).astype(np.int64)
    return ContingencyTable.from_totals(tp.astype(np.int64), accepted.astype(np.int64), positive, len(labels))


def _count_sparse(decisions: sp.csr_array[Any], labels: Bools) -> ContingencyTable:
    rows, columns = decisions.nonzero()
    categories = labels.shape[1]
    hit = labels[rows, columns]
    return _make_table(
        np.bincount(columns[hit], minlength=categories), np.bincount(columns, minlength=categories), labels
    )


def _measure_accuracy(top: TopLabels, labels: Bools) -> float:
    """Return the share of documents with the highest score at their one category; NaN with other numbers of labels."""
    if not len(labels) or not bool(np.all(np.count_nonzero(labels, axis=1) == 1)):
        return float("nan")
    return float(100.0 * labels[np.arange(len(labels)), top.labels[:, 0]].mean())


class _Places:
    """Document, category, score and decision of the scores that are kept."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = (shape[0], shape[1])
        self._parts: list[tuple[Ints, Ints, Floats, Bools]] = []

    def add(self, first: int, scores: Floats, accepted: Bools, labels: Bools) -> None:
        """Keep the scores of accepted and true categories of a block."""
        rows, columns = np.nonzero(accepted | labels)
        self._parts.append((rows, columns + first, scores[rows, columns], accepted[rows, columns]))

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


class _CalibrationSums:
    """Sums of squared errors and of log losses of the probabilities of blocks."""

    def __init__(self) -> None:
        self._decisions, self._brier, self._loss = 0, 0.0, 0.0

    def add(self, probabilities: Floats, labels: Bools) -> None:
        """Add the probabilities of a block."""
        bounded = np.clip(probabilities, PROBABILITY_CLIP, 1.0 - PROBABILITY_CLIP)
        self._decisions += labels.size
        self._brier += float(np.square(probabilities - labels).sum())
        self._loss -= float(np.log(np.where(labels, bounded, 1.0 - bounded)).sum())

    def means(self) -> dict[str, float]:
        """Return the measures of `measure_calibration`; nothing without probabilities."""
        if not self._decisions:
            return {}
        return {
            "probability.brier": self._brier / self._decisions,
            "probability.log_loss": self._loss / self._decisions,
        }


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


def read_decisions(folder: Path) -> NDArray[np.bool_]:
    """Return the decisions, documents x categories."""
    if holds_all_scores(folder):
        return read_mask(folder, "decisions")
    return np.asarray(read_matrix(folder, _DECIDED).astype(np.bool_).toarray())


def read_curve(folder: Path) -> PrecisionRecallCurve:
    """Return the micro-averaged curve of a run of which not all scores were written."""
    recall, precision = read_array(folder, "curve")
    return PrecisionRecallCurve(recall, precision)
