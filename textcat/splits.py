"""Seeded divisions of documents into folds and into training and test documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError

RowNumbers = NDArray[np.int64]


def assign_folds(documents: int, folds: int, *, seed: int, strata: RowNumbers | None = None) -> RowNumbers:
    """Return the fold of each document. Sizes differ by at most one, within each stratum if strata are given."""
    order = np.random.default_rng(seed).permutation(documents)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    numbers = np.empty(documents, dtype=np.int64)
    numbers[order] = np.arange(documents) % folds
    return numbers


def make_folds(
    documents: int, folds: int, *, seed: int, strata: RowNumbers | None = None
) -> list[tuple[RowNumbers, RowNumbers]]:
    """Return (train, test) rows of each fold; every document is tested once."""
    return split_by_fold(assign_folds(documents, folds, seed=seed, strata=strata), folds)


def split_by_fold(numbers: RowNumbers, folds: int) -> list[tuple[RowNumbers, RowNumbers]]:
    """Return (train, test) rows of each fold, given the fold of each document."""
    return [(np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in range(folds)]


def draw_random_split(
    documents: int, repeat: int, *, train_share: float, seed: int, strata: RowNumbers | None = None
) -> tuple[RowNumbers, RowNumbers]:
    """Return (train, test) rows of one of several independent random splits."""
    generator = np.random.default_rng([seed, repeat])
    groups = (
        [np.arange(documents)] if strata is None else [np.flatnonzero(strata == s) for s in np.unique(strata)]
    )
    trains = np.zeros(documents, dtype=bool)
    for group in groups:
        shuffled = generator.permutation(group)
        trains[shuffled[: round(len(group) * train_share)]] = True
    return np.flatnonzero(trains), np.flatnonzero(~trains)


def draw_training_mask(documents: int, *, seed: int, ratio: float) -> NDArray[np.bool_]:
    """Return which documents are training ones when there are `ratio` of them for each test document."""
    if ratio <= 0:
        raise UsageError(
            f"the ratio of a split must be above 0, not {ratio}",
            hint="Give the number of training documents for each test document, such as 4.",
        )
    mask = np.ones(documents, dtype=bool)
    mask[np.random.default_rng(seed).permutation(documents)[: round(documents / (ratio + 1))]] = False
    return mask
