"""The ranking under all threshold rules, where scores are equal too."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from textcat.thresholds.cuts import make_cuts

shapes = st.tuples(st.integers(1, 40), st.integers(1, 5))


@given(st.data(), shapes)
def test_documents_are_ranked_as_by_a_sort_that_keeps_the_order_of_equals(
    data: st.DataObject, shape: tuple[int, int]
) -> None:
    few = st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 1e-300, 2.0, 3.0, np.inf])
    scores = data.draw(arrays(np.float64, shape, elements=few | st.floats(allow_nan=False)))
    labels = data.draw(arrays(np.bool_, shape))
    order = np.argsort(-scores, axis=0, kind="stable")
    found = make_cuts(scores, labels)
    np.testing.assert_array_equal(found.ranked[1:-1], np.take_along_axis(scores, order, axis=0))
    np.testing.assert_array_equal(found.hits[1:], np.take_along_axis(labels, order, axis=0).cumsum(axis=0))
