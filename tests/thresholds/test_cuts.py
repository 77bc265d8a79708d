"""The ranking under all threshold rules, where scores are equal too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.evaluation.problems import problems
from textcat.errors import BadDataError, UsageError
from textcat.thresholds.tuning import apply_thresholds, compute_cut_losses, make_cuts

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


@given(problems(), st.sampled_from(["errors", "f1"]))
def test_the_loss_of_a_cut_is_that_of_accepting_its_documents(problem, criterion: str) -> None:
    """Each possible cut accepts exactly its first k documents; a cut through equal scores is impossible."""
    scores, labels = problem
    cuts = make_cuts(scores, labels)
    losses = compute_cut_losses(cuts, criterion)
    for category in range(scores.shape[1]):
        column, wanted = scores[:, category], labels[:, category]
        ranked = sorted(column, reverse=True)
        for k in range(len(column) + 1):
            possible = k in (0, len(column)) or ranked[k - 1] > ranked[k]
            assert cuts.possible[k, category] == possible
            if not possible:
                assert losses[k, category] == np.inf
                continue
            accepted = column >= ranked[k - 1] if k else np.zeros(len(column), dtype=bool)
            if criterion == "errors":
                expected = float((accepted != wanted).sum())
            else:
                size = accepted.sum() + wanted.sum()
                expected = -2.0 * (accepted & wanted).sum() / size if size else 0.0
            assert losses[k, category] == pytest.approx(expected)


@given(problems(), st.data())
def test_a_cut_lies_between_the_score_it_accepts_last_and_the_next(problem, data) -> None:
    scores, labels = problem
    cuts = make_cuts(scores, labels)
    documents, categories = scores.shape
    chosen = np.array(
        data.draw(st.lists(st.integers(0, documents), min_size=categories, max_size=categories))
    )
    for category, k in enumerate(chosen):
        ranked = [np.inf, *sorted(scores[:, category], reverse=True), -np.inf]
        assert cuts.get_lowest_accepted(chosen)[category] == ranked[k]
        assert cuts.get_highest_refused(chosen)[category] == ranked[k + 1]
    assert cuts.positives.tolist() == labels.sum(axis=0).tolist()


def test_unfit_and_undefined_scores_are_refused() -> None:
    with pytest.raises(UsageError, match="do not fit labels"):
        make_cuts(np.zeros((2, 1)), np.zeros((2, 2), dtype=bool))
    with pytest.raises(UsageError, match="do not fit labels"):
        make_cuts(np.zeros(2), np.zeros(2, dtype=bool))
    with pytest.raises(BadDataError, match="document 1 for category 12"):
        make_cuts(np.array([[0.0, 1], [1, np.nan]]), np.zeros((2, 2), dtype=bool), first=11)
    with pytest.raises(UsageError, match="do not fit scores"):
        apply_thresholds(np.zeros(2), np.zeros(2))
