"""Seeded random splits and folds of documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def fold_numbers(documents: int, folds: int, *, seed: int, strata: Rows | None = None) -> Rows:
    """A fold for each document: equal sizes within one, within each stratum where strata are given."""
    order = np.random.default_rng(seed).permutation(documents)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    numbers = np.empty(documents, dtype=np.int64)
    numbers[order] = np.arange(documents) % folds
    return numbers


def folds_of(documents: int, folds: int, *, seed: int, strata: Rows | None = None) -> list[tuple[Rows, Rows]]:
    """(train, test) rows of each fold; every document is tested once."""
    numbers = fold_numbers(documents, folds, seed=seed, strata=strata)
    return [(np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)) for fold in range(folds)]


def random_splits(
    documents: int, number: int, *, train_share: float, seed: int, strata: Rows | None = None
) -> list[tuple[Rows, Rows]]:
    """(train, test) rows of independent random splits."""
    return [
        _one_split(documents, train_share, np.random.default_rng([seed, repeat]), strata)
        for repeat in range(number)
    ]


def _one_split(
    documents: int, train_share: float, generator: np.random.Generator, strata: Rows | None
) -> tuple[Rows, Rows]:
    groups = (
        [np.arange(documents)] if strata is None else [np.flatnonzero(strata == s) for s in np.unique(strata)]
    )
    trains = np.zeros(documents, dtype=bool)
    for group in groups:
        shuffled = generator.permutation(group)
        trains[shuffled[: round(len(group) * train_share)]] = True
    return np.flatnonzero(trains), np.flatnonzero(~trains)
