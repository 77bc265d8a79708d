"""Break-even points and precision-recall curves against counting by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.problems import problems
from textcat.errors import BadDataError, UsageError
from textcat.evaluation.curves import (
    MicroCurve,
    area_under_curve,
    compute_micro_curve,
    find_break_even,
    rank_labels,
)


def hits_by_hand(scores, labels) -> list[int]:
    hits = []
    for category in range(labels.shape[1]):
        ranked = sorted(range(len(labels)), key=lambda document: (-scores[document, category], document))
        hits.append(sum(labels[d, category] for d in ranked[: labels[:, category].sum()]))
    return hits


@given(problems())
def test_counts_hits_within_the_first_ranks(problem):
    scores, labels = problem
    result = find_break_even(scores, labels)
    assert result.hits.tolist() == hits_by_hand(scores, labels)
    assert result.positives.tolist() == labels.sum(axis=0).tolist()


@given(problems())
def test_precision_equals_recall_at_the_break_even_point(problem):
    scores, labels = problem
    values = find_break_even(scores, labels).per_category()
    for category, value in enumerate(values):
        positives = int(labels[:, category].sum())
        assert math.isnan(value) == (positives == 0)
        if positives:
            hits = hits_by_hand(scores, labels)[category]
            assert value == pytest.approx(100 * hits / positives)


def test_micro_sums_counts_and_can_be_restricted():
    scores = np.array([[4.0, 1], [3, 2], [2, 3], [1, 4]])
    labels = np.array([[1, 1], [1, 0], [0, 0], [1, 0]], dtype=bool)
    result = find_break_even(scores, labels)
    assert result.micro() == pytest.approx(50.0)
    assert result.micro(np.array([0])) == pytest.approx(200 / 3)
    assert result.micro(np.array([1])) == 0
    assert math.isnan(result.micro(np.array([], dtype=np.int64)))


@given(problems())
def test_unchanged_by_any_increasing_change_of_scores(problem):
    scores, labels = problem
    assert (
        find_break_even(np.exp(3 * scores), labels).hits.tolist()
        == find_break_even(scores, labels).hits.tolist()
    )


def test_a_score_that_is_no_number_is_refused():
    with pytest.raises(BadDataError, match="document 1 for category 0"):
        find_break_even(np.array([[1.0], [math.nan]]), np.array([[True], [False]]))


@given(problems())
def test_curves_end_where_everything_is_found(problem):
    scores, labels = problem
    curve = compute_micro_curve(scores, labels)
    if not labels.any():
        assert len(curve.recall) == 0
        return
    assert curve.recall[-1] == pytest.approx(100.0)
    assert (np.diff(curve.recall) >= 0).all()
    assert ((curve.precision >= 0) & (curve.precision <= 100)).all()
    positive = labels.any(axis=0)
    assert curve.precision[-1] == pytest.approx(100 * labels[:, positive].mean())


@given(problems())
def test_proportional_curve_passes_through_the_micro_break_even_point(problem):
    scores, labels = problem
    if labels.any():
        curve = compute_micro_curve(scores, labels)
        break_even_point = find_break_even(scores, labels).micro()
        assert curve.recall[99] == pytest.approx(break_even_point)
        assert curve.precision[99] == pytest.approx(break_even_point)


@given(problems(), st.integers(1, 12))
def test_each_point_of_the_curve_is_counted_by_hand(problem, points):
    """At multiple m, a category accepts its ceil(m n+) best documents, at least one and at most all."""
    scores, labels = problem
    curve = compute_micro_curve(scores, labels, points)
    if not labels.any():
        return
    present = [k for k in range(labels.shape[1]) if labels[:, k].any()]
    positives = {k: int(labels[:, k].sum()) for k in present}
    beyond = np.geomspace(1.0, len(labels) / min(positives.values()), points)[1:]
    multiples = [*(Fraction(k, points) for k in range(1, points + 1)), *beyond]
    assert len(curve.recall) == len(curve.precision) == len(multiples) == 2 * points - 1
    for multiple, recall, precision in zip(multiples, curve.recall, curve.precision, strict=True):
        found = accepted = 0
        for k in present:
            wanted = multiple * positives[k]
            size = min(
                max(math.ceil(wanted if isinstance(wanted, Fraction) else round(wanted, 9)), 1), len(labels)
            )
            ranked = sorted(range(len(labels)), key=lambda d, k=k: (-scores[d, k], d))
            found += sum(labels[d, k] for d in ranked[:size])
            accepted += size
        assert recall == pytest.approx(100 * found / sum(positives.values()))
        assert precision == pytest.approx(100 * found / accepted)


def test_a_whole_number_of_documents_is_not_rounded_up() -> None:
    """28 percent of 25 positive documents are 7, although 0.28 * 25 is a little more."""
    labels = np.arange(100)[:, None] < 25
    curve = compute_micro_curve(labels.astype(float), labels)
    assert curve.recall[27] == 28.0


@given(problems())
def test_the_area_is_that_of_the_trapezoids(problem):
    scores, labels = problem
    if labels.any():
        curve = compute_micro_curve(scores, labels, 10)
        x = np.append(0.0, curve.recall)
        y = np.append(curve.precision[0], curve.precision)
        assert area_under_curve(curve) == pytest.approx(np.trapezoid(y, x) / 100.0)
        assert 0 <= area_under_curve(curve) <= 100 + 1e-9


def test_a_category_without_positive_documents_is_not_in_the_curve():
    scores = np.array([[3.0, 1], [2, 2], [1, 3]])
    labels = np.array([[1, 0], [0, 0], [1, 0]], dtype=bool)
    with_empty, alone = compute_micro_curve(scores, labels), compute_micro_curve(scores[:, :1], labels[:, :1])
    assert with_empty.recall.tolist() == alone.recall.tolist()
    assert with_empty.precision.tolist() == alone.precision.tolist()


def test_scores_must_fit_the_labels():
    with pytest.raises(UsageError, match="do not fit labels"):
        find_break_even(np.zeros((2, 2)), np.zeros((2, 3), dtype=bool))


@given(problems(), st.integers(1, 4))
def test_a_curve_of_blocks_is_that_of_all_categories(problem, width) -> None:
    scores, labels = problem
    curve = MicroCurve(len(labels), np.count_nonzero(labels, axis=0), 20)
    for first in range(0, labels.shape[1], width):
        curve.add(rank_labels(scores[:, first : first + width], labels[:, first : first + width]))
    expected, found = compute_micro_curve(scores, labels, 20), curve.points()
    assert np.array_equal(found.recall, expected.recall) and np.array_equal(
        found.precision, expected.precision
    )
