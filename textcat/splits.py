"""Seeded divisions of documents into folds and into training and test documents."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from textcat.errors import UsageError

RowNumbers = NDArray[np.int64]


def assign_folds(
    documents: int,
    folds: int,
    *,
    seed: int,
    strata: RowNumbers | None = None,
    groups: RowNumbers | None = None,
) -> RowNumbers:
    """Return the fold of each document. Sizes differ by at most one, within each stratum if strata are given.

    Documents of one of the `groups` are in one fold, and in the stratum of the first; sizes then differ by more.
    With fewer groups than folds there is no such division, and groups are ignored.
    """
    order = np.random.default_rng(seed).permutation(documents)
    if groups is not None:
        _, first, group, size = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
        if folds <= len(first) < documents:
            # The first document of each group, in random order, the largest groups first.
            order = order[np.isin(order, first)]
            order = order[np.argsort(-size[group[order]], kind="stable")]
            return _assign_groups(order, group, size, folds, strata)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    numbers = np.empty(documents, dtype=np.int64)
    numbers[order] = np.arange(documents) % folds
    return numbers


def _assign_groups(
    order: RowNumbers, group: RowNumbers, size: RowNumbers, folds: int, strata: RowNumbers | None
) -> RowNumbers:
    """Give each group to the fold with the fewest documents of its stratum; of several to the smallest fold.

    `order` has one document of each group. Groups of one document are divided as if there were no groups.
    """
    whole = np.zeros(folds, dtype=np.int64)
    fold_of = np.empty(len(size), dtype=np.int64)
    kinds = np.zeros(len(group), dtype=np.int64) if strata is None else strata
    for kind in np.unique(kinds[order]):
        inside = np.zeros(folds, dtype=np.int64)
        for each in group[order[kinds[order] == kind]]:
            fold = int(np.lexsort((whole, inside))[0])
            fold_of[each] = fold
            inside[fold] += size[each]
            whole[fold] += size[each]
    return fold_of[group]


def make_folds(
    documents: int,
    folds: int,
    *,
    seed: int,
    strata: RowNumbers | None = None,
    groups: RowNumbers | None = None,
) -> list[tuple[RowNumbers, RowNumbers]]:
    """Return (train, test) rows of each fold; every document is tested once."""
    return split_by_fold(assign_folds(documents, folds, seed=seed, strata=strata, groups=groups), folds)


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


def draw_training_mask(
    documents: int, *, seed: int, ratio: float, groups: RowNumbers | None = None
) -> NDArray[np.bool_]:
    """Return which documents are training ones when there are `ratio` of them for each test document.

    Documents of one of the `groups` are on one side.
    """
    if ratio <= 0:
        raise UsageError(
            f"the ratio of a split must be above 0, not {ratio}",
            hint="Give the number of training documents for each test document, such as 4.",
        )
    order, wanted = np.random.default_rng(seed).permutation(documents), round(documents / (ratio + 1))
    mask = np.ones(documents, dtype=bool)
    if groups is None or len(np.unique(groups)) in (1, documents):
        mask[order[:wanted]] = False
        return mask
    _, first, group, size = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    is_test, left = np.zeros(len(size), dtype=bool), wanted
    for each in group[order[np.isin(order, first)]]:
        is_test[each] = size[each] <= left
        left -= size[each] * is_test[each]
    return np.logical_not(is_test[group])


def number_equal_texts(digests: Sequence[bytes]) -> RowNumbers:
    """Return a number for each text, the same for equal ones, given their digests."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(each, len(known)) for each in digests], dtype=np.int64)


def digest_text(*parts: str) -> bytes:
    """Return eight bytes that are the same for equal texts."""
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
