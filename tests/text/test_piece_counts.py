"""Counts of equal places, from which all counts of terms are made."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from textcat.text.piece_counts import ChunkCounts, count_equal

ROWS, COLUMNS = 6, 9
PLACES = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, COLUMNS - 1)), max_size=60)


def count(places: list[tuple[int, int]]) -> ChunkCounts:
    rows, columns = np.array(places, dtype=np.int64).reshape(-1, 2).T
    return count_equal(rows, columns, (ROWS, COLUMNS))


@given(PLACES)
def test_each_place_is_counted_once_in_order(places: list[tuple[int, int]]) -> None:
    found, expected = count(places), Counter(places)
    rows = np.repeat(np.arange(ROWS), found.lengths).tolist()
    assert list(zip(rows, found.columns.tolist(), strict=True)) == sorted(expected)
    assert found.counts.tolist() == [expected[place] for place in sorted(expected)]
    assert len(found.lengths) == ROWS


@given(PLACES, st.randoms(use_true_random=False))
def test_the_order_of_the_places_does_not_matter(places: list[tuple[int, int]], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = places.copy()
    random.shuffle(shuffled)
    for one, other in zip(vars(count(places)).values(), vars(count(shuffled)).values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_no_columns_are_no_counts() -> None:
    nothing = np.empty(0, np.int64)
    found = count_equal(nothing, nothing, (2, 0))
    assert (found.lengths.tolist(), found.columns.size, found.counts.size) == ([0, 0], 0, 0)
