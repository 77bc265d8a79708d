"""Cross-validation on rows that are packed once: each fold's documents by weights found without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from textcat.linear.lanes.blocks import Block, Rows, groups_of, pack_block, pack_rows
from textcat.linear.lanes.dual import maximise
from textcat.linear.lanes.rows import all_products
from textcat.linear.lanes.task import Task, margins_of
from textcat.linear.threads import in_threads
from textcat.linear.vector import WIDTH

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """The documents that are trained on and those that are scored, and C by category."""

    kept: NDArray[np.int64]
    held: NDArray[np.int64]
    limits: Array


def solve_each(task: Task, folds: Sequence[Fold], init: Array | None) -> list[Array]:
    """The products of each fold's held documents with the weights of its kept ones, under the gaussian prior; `init`
    are weights of all documents to start from, and the task's own C is not read.
    """
    rows = pack_rows(task.X, task.importance)
    found = [np.empty((len(fold.held), task.Y.shape[1])) for fold in folds]
    # One block after the other: its signs and margins are as large as the documents are many.
    for number, categories in enumerate(groups_of(task.Y)):
        block = pack_block(task.Y, task.limits, categories)
        margins = None if init is None else margins_of(rows, block, init)
        work = partial(_products, task, rows, (task.seed, number), block, margins)
        for whole, part in zip(
            found, in_threads(task.jobs, [partial(work, fold) for fold in folds]), strict=True
        ):
            whole[:, categories] = part[:, : block.size]
    return found


def _products(
    task: Task, rows: Rows, seed: tuple[int, int], block: Block, margins: Array | None, fold: Fold
) -> Array:
    """Those of one block on one fold, by lane."""
    part = replace(block, signs=block.signs[fold.kept], limits=fold.limits[block.lanes])
    start = None if margins is None else [margins[fold.kept]]
    _, (found,) = maximise(rows.some(fold.kept), [part], task.loss, task.aim, [seed], start)
    held = rows.some(fold.held)
    products = np.empty((held.documents, WIDTH))
    all_products(held.spans, held.indices, held.data, found.W, products)
    return products
