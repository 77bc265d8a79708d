"""Scores of documents by blocks of categories, so that no matrix of documents x categories is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textcat.experiment.steps.models import Model

# More scores than this, documents x categories, are never in memory together.
MAX_DENSE_SCORES = 20_000_000
MAX_BLOCK_SCORES = 10_000_000
MAX_BLOCK_CATEGORIES = 512


def is_too_large(documents: int, categories: int) -> bool:
    """Return whether scores of this size are computed in blocks."""
    return documents * categories > MAX_DENSE_SCORES


def choose_block_width(documents: int, most_scores: int = MAX_BLOCK_SCORES) -> int:
    """Return the number of categories of a block with at most that many scores."""
    return min(max(most_scores // max(documents, 1), 1), MAX_BLOCK_CATEGORIES)


def iterate_score_blocks(model: Model, X: Any, jobs: int = 1) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield scores of consecutive categories with the first of them; learners without blocks score all at once."""
    width = choose_block_width(X.shape[0])
    score_blocks: Any = getattr(model, "score_blocks", None)
    if score_blocks is not None:
        yield from score_blocks(X, width, jobs)
        return
    scores = model.scores(X)
    for first in range(0, scores.shape[1], width):
        yield first, scores[:, first : first + width]
