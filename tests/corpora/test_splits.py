"""Random splits and label counts: sizes, disjointness, seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcat.corpora import Document, count_categories, draw_split_masks
from textcat.errors import UsageError


@given(n=st.integers(2, 500), folds=st.integers(2, 10), seed=st.integers(0, 5))
def test_folds_test_every_document_once(n: int, folds: int, seed: int) -> None:
    if folds > n:
        with pytest.raises(UsageError):
            draw_split_masks(n, folds=folds, seed=seed)
        return
    masks = draw_split_masks(n, folds=folds, seed=seed)
    tests = np.array([~mask for mask in masks])
    assert (tests.sum(axis=0) == 1).all()
    sizes = tests.sum(axis=1)
    assert sizes.max() - sizes.min() <= 1


@given(n=st.integers(5, 500), seed=st.integers(0, 5))
def test_four_to_one_splits(n: int, seed: int) -> None:
    masks = draw_split_masks(n, ratio=4, repeats=5, seed=seed)
    assert [int((~mask).sum()) for mask in masks] == [round(n / 5)] * 5
    again = draw_split_masks(n, ratio=4, repeats=5, seed=seed)
    assert all((one == other).all() for one, other in zip(masks, again, strict=True))


def test_repeats_and_seeds_differ() -> None:
    one, other = draw_split_masks(100, ratio=4, repeats=2, seed=1)
    (third,) = draw_split_masks(100, ratio=4, seed=2)
    assert (one != other).any()
    assert (one != third).any()


@pytest.mark.parametrize("wrong", [{}, {"ratio": 4, "folds": 5}, {"ratio": 0}, {"folds": 1}])
def test_impossible_splits_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        draw_split_masks(10, seed=1, **wrong)


def test_labels_are_counted_by_side() -> None:
    documents = [
        Document("1", {}, ("b", "a"), "train"),
        Document("2", {}, ("b",), "train"),
        Document("3", {}, ("c", "a"), "test"),
        Document("4", {}, ("d",), "unused"),
        Document("5", {}, ("a",), "train"),
    ]
    counts = count_categories(documents)
    assert counts.in_train() == ("a", "b")
    assert counts.in_test() == ("a", "c")
    assert counts.in_both() == ("a",)
    assert counts.in_train_or_test() == ("a", "b", "c")
    assert counts.with_at_least(2) == ("a", "b")
    assert counts.with_at_least(3) == ()
