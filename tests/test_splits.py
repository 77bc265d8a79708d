"""Folds and random splits: sizes, disjointness, strata, seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.splits import assign_folds, draw_random_split, draw_training_mask, make_folds

SEEDS = st.integers(0, 5)


@given(n=st.integers(2, 300), folds=st.integers(2, 10), seed=SEEDS)
def test_folds_test_every_document_once(n: int, folds: int, seed: int) -> None:
    parts = make_folds(n, folds, seed=seed)
    assert np.array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(n))
    for train, test in parts:
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
    sizes = [len(test) for _, test in parts]
    assert max(sizes) - min(sizes) <= 1


@given(strata=st.lists(st.integers(0, 3), min_size=2, max_size=200), folds=st.integers(2, 6), seed=SEEDS)
def test_folds_divide_every_stratum_evenly(strata: list[int], folds: int, seed: int) -> None:
    groups = np.array(strata)
    numbers = assign_folds(len(groups), folds, seed=seed, strata=groups)
    for group in np.unique(groups):
        sizes = np.bincount(numbers[groups == group], minlength=folds)
        assert sizes.max() - sizes.min() <= 1


@given(strata=st.lists(st.integers(0, 3), min_size=2, max_size=200), share=st.floats(0.05, 0.95), seed=SEEDS)
def test_random_splits_keep_the_share_of_every_stratum(strata: list[int], share: float, seed: int) -> None:
    groups = np.array(strata)
    train, test = draw_random_split(len(groups), 0, train_share=share, seed=seed, strata=groups)
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(groups)))
    for group in np.unique(groups):
        assert np.sum(groups[train] == group) == round(np.sum(groups == group) * share)


@given(n=st.integers(5, 500), seed=SEEDS, ratio=st.sampled_from([0.5, 1, 4]))
def test_a_training_mask_has_the_ratio(n: int, seed: int, ratio: float) -> None:
    mask = draw_training_mask(n, seed=seed, ratio=ratio)
    assert np.count_nonzero(~mask) == round(n / (ratio + 1))


@for_each(
    "draw",
    [
        lambda seed: assign_folds(100, 5, seed=seed),
        lambda seed: draw_random_split(100, 0, train_share=0.5, seed=seed)[0],
        lambda seed: draw_training_mask(100, seed=seed, ratio=4),
    ],
)
def test_a_seed_gives_one_division_and_another_seed_another(draw: Any) -> None:
    assert np.array_equal(draw(1), draw(1))
    assert not np.array_equal(draw(1), draw(2))


def test_repetitions_differ() -> None:
    first, second = (draw_random_split(100, repeat, train_share=0.5, seed=1)[0] for repeat in range(2))
    assert not np.array_equal(first, second)


@for_each(
    ("seed", "mask"),
    [(0, [1, 1, 1, 1, 0, 1, 0, 1, 1, 1]), (3, [1, 1, 1, 1, 1, 1, 0, 1, 1, 0])],
)
def test_masks_of_a_seed_do_not_change(seed: int, mask: list[int]) -> None:
    assert draw_training_mask(10, seed=seed, ratio=4).astype(int).tolist() == mask


def test_a_ratio_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="above 0"):
        draw_training_mask(10, seed=1, ratio=0)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 3))
def test_equal_documents_are_in_one_fold(texts, folds, seed):
    groups, strata = np.array(texts), np.array(texts) % 3
    numbers = assign_folds(len(texts), folds, seed=seed, strata=strata, groups=groups)
    if len(set(texts)) < folds:
        assert np.array_equal(numbers, assign_folds(len(texts), folds, seed=seed, strata=strata))
        return
    assert len({(text, number) for text, number in zip(texts, numbers, strict=True)}) == len(set(texts))
    assert set(numbers) == set(range(folds))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(2, 6), st.integers(0, 3))
def test_different_documents_are_divided_as_without_groups(strata, folds, seed):
    given = {"seed": seed, "strata": np.array(strata)}
    alone = np.random.default_rng(seed).permutation(len(strata))
    expected = assign_folds(len(strata), folds, **given)
    assert np.array_equal(assign_folds(len(strata), folds, **given, groups=alone), expected)


def test_documents_that_are_there_twice_are_divided_evenly():
    strata = np.repeat(np.arange(4), 50)
    numbers = assign_folds(200, 5, seed=1, strata=strata, groups=np.arange(200) // 2)
    assert np.array_equal(numbers[::2], numbers[1::2])
    for stratum in range(4):
        assert np.bincount(numbers[strata == stratum], minlength=5).tolist() == [10] * 5


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60), st.integers(0, 3))
def test_equal_documents_are_on_one_side(texts, seed):
    groups = np.array(texts)
    training = draw_training_mask(len(texts), seed=seed, ratio=3, groups=groups)
    if len(set(texts)) > 1:
        assert not set(groups[training]) & set(groups[~training])
    assert np.count_nonzero(~training) <= round(len(texts) / 4)
