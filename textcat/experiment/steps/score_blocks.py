"""Scores of documents by blocks of categories, so that no matrix of documents x categories is in memory.

An executor's workers score the blocks of a linear model, and find the labels of a label tree by blocks of documents.
Documents, model and labels are sent to each worker once; of the scores only what is computed from them comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from textcat.experiment.context import RunContext
from textcat.experiment.steps.models import Model
from textcat.learners.label_tree import CHUNK, LabelTree
from textcat.linear.model import LinearModel

# More scores than this, documents x categories, are never in memory together.
MAX_DENSE_SCORES = 20_000_000
MAX_BLOCK_SCORES = 10_000_000
MAX_BLOCK_CATEGORIES = 512

BlockResult = TypeVar("BlockResult")


def is_too_large(documents: int, categories: int) -> bool:
    """Return whether scores of this size are computed in blocks."""
    return documents * categories > MAX_DENSE_SCORES


def choose_block_width(documents: int, most_scores: int = MAX_BLOCK_SCORES) -> int:
    """Return the number of categories of a block with at most that many scores."""
    return min(max(most_scores // max(documents, 1), 1), MAX_BLOCK_CATEGORIES)


def map_score_blocks(
    context: RunContext, model: Model, X: Any, work: Callable[[int, NDArray[np.float64]], BlockResult]
) -> Iterator[BlockResult]:
    """Yield `work(first, scores)` of blocks of categories, in order; `first` is the first category of the block.

    Learners other than linear ones and label trees score all categories at once.
    """
    width = choose_block_width(X.shape[0])
    if isinstance(model, LinearModel):
        inputs = _BlockInputs(model, X, width, context.jobs_per_task, work)
        yield from context.map_items(_score_block, inputs, range(0, model.coef.shape[1], width))
        return
    if isinstance(model, LabelTree):
        blocks = model.split_scores(find_tree_labels(context, model, X), width)
    else:
        whole = model.scores(X)
        blocks = ((first, whole[:, first : first + width]) for first in range(0, whole.shape[1], width))
    for first, scores in blocks:
        yield work(first, scores)


@dataclass(frozen=True)
class _BlockInputs:
    """Inputs that all blocks share."""

    model: Any
    X: Any
    width: int
    jobs: int
    work: Callable[[int, NDArray[np.float64]], Any]


def _score_block(inputs: _BlockInputs, first: int) -> Any:
    part = inputs.model.select_categories(first, first + inputs.width)
    return inputs.work(first, part.scores_in_threads(inputs.X, inputs.jobs))


def find_tree_labels(context: RunContext, tree: LabelTree, X: Any) -> sp.csr_matrix:
    """Return the scores of the labels that a beam reaches; an executor's workers have some documents each."""
    if context.executor is None:
        return tree.find_labels(X, context.jobs)
    chunks = [slice(first, first + CHUNK) for first in range(0, max(X.shape[0], 1), CHUNK)]
    parts = list(context.map_items(_find_labels_of_chunk, (tree, X), chunks))
    return sp.csr_matrix(sp.vstack(parts, format="csr"))


def _find_labels_of_chunk(inputs: tuple[LabelTree, Any], chunk: slice) -> sp.csr_matrix:
    tree, X = inputs
    return tree.find_labels(X[chunk])
