"""Files of an evaluated run: all scores and decisions, or, with many categories, those that were kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.evaluation.curves import PrecisionRecallCurve
from textcat.store.arrays import read_array, read_mask, read_matrix, write_array, write_mask, write_matrix

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
