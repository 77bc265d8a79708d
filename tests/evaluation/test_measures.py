"""Measures against their definitions, and the values of 0/0."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import brier_score_loss, f1_score, log_loss, precision_score, recall_score

from tests.evaluation.problems import problems
from textcat.errors import BadDataError, UsageError
from textcat.evaluation import measures
from textcat.evaluation.measures import (
    ContingencyTable,
    count_contingency,
    count_positives,
    make_dense_labels,
    take_columns,
)


def table(*rows: tuple[int, int, int, int]) -> ContingencyTable:
    return ContingencyTable(*np.array(rows, dtype=np.int64).T)


@given(problems())
def test_counts_agree_with_counting_one_by_one(problem):
    scores, labels = problem
    decisions = scores >= 0
    counted = count_contingency(decisions, labels)
    for category in range(labels.shape[1]):
        pairs = list(zip(decisions[:, category], labels[:, category], strict=True))
        assert counted.tp[category] == pairs.count((True, True))
        assert counted.fp[category] == pairs.count((True, False))
        assert counted.fn[category] == pairs.count((False, True))
        assert counted.tn[category] == pairs.count((False, False))
    assert (counted.documents == len(labels)).all()


@given(problems())
@pytest.mark.parametrize("zero_division", [1, 0])
def test_same_as_scikit_learn(zero_division, problem):
    scores, labels = problem
    decisions = scores >= 0
    counted = count_contingency(decisions, labels)
    for ours, theirs in (
        (measures.precision, precision_score),
        (measures.recall, recall_score),
        (measures.f1, f1_score),
    ):
        for average, value in (
            ("micro", ours(counted.sum_categories(), zero_division)[0]),
            ("macro", measures.mean(ours(counted, zero_division))),
        ):
            # One column reads as binary there, so the arrays are passed with an empty second one.
            expected = 100 * theirs(
                *_widened(labels, decisions), average=average, zero_division=zero_division
            )
            if labels.shape[1] > 1 or average == "micro":
                assert value == pytest.approx(expected)


def _widened(labels, decisions):
    if labels.shape[1] > 1:
        return labels.astype(int), decisions.astype(int)
    nothing = np.zeros((len(labels), 1), dtype=int)
    return np.hstack([labels, nothing]).astype(int), np.hstack([decisions, nothing]).astype(int)


@pytest.mark.parametrize(("rule", "expected"), [(1, 100.0), (0, 0.0), ("skip", math.nan)])
def test_empty_category_counts_as_the_rule_says(rule, expected):
    empty = table((0, 0, 0, 9))
    for measure in (measures.precision, measures.recall, measures.f1):
        assert measure(empty, rule)[0] == pytest.approx(expected, nan_ok=True)


def test_macro_f1_moves_with_the_rule():
    counts = table((1, 1, 0, 8), (0, 0, 0, 10))
    assert measures.macro_f1(counts, 1) == pytest.approx((200 / 3 + 100) / 2)
    assert measures.macro_f1(counts, 0) == pytest.approx(100 / 3)
    assert measures.macro_f1(counts, "skip") == pytest.approx(200 / 3)


def test_a_category_without_documents_is_left_out_whatever_is_accepted_for_it():
    counts = table((1, 1, 0, 8), (0, 3, 0, 7), (0, 0, 2, 8))
    assert measures.macro_f1(counts, "skip") == pytest.approx((200 / 3 + 0) / 2)
    assert measures.precision(counts, "skip") == pytest.approx([50, math.nan, 0], nan_ok=True)
    assert measures.find_empty_categories(counts).tolist() == [False, True, False]
    assert measures.micro_f1(counts, "skip") == measures.micro_f1(counts, 0)


def test_a_category_missed_altogether_has_f1_zero_under_every_rule():
    missed = table((0, 0, 5, 5))
    assert [measures.f1(missed, rule)[0] for rule in (1, 0, "skip")] == [0, 0, 0]
    assert measures.precision(missed, 1)[0] == 100


def test_f1_of_means_is_gaos_equation():
    counts = table((6, 2, 1, 91), (1, 3, 4, 92), (5, 0, 5, 90))
    p, r = measures.precision(counts), measures.recall(counts)
    expected = 2 * r.sum() * p.sum() / (len(p) * (p.sum() + r.sum()))
    assert measures.f1_of_means(counts) == pytest.approx(expected)
    assert measures.f1_of_means(counts) != pytest.approx(measures.macro_f1(counts))
    assert measures.f1_of_means(table((0, 1, 1, 8))) == 0


def test_largest_first_and_ties_in_category_order():
    assert measures.sort_by_size(np.array([3, 9, 3, 0, 9])).tolist() == [1, 4, 0, 2, 3]


def test_accuracy_takes_the_first_of_equal_scores():
    scores = np.array([[1.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
    labels = np.array([[True, False], [False, True], [False, True]])
    assert measures.argmax_accuracy(scores, labels) == pytest.approx(200 / 3)


def test_accuracy_refuses_documents_of_several_categories():
    with pytest.raises(BadDataError, match="document 1 has 2 categories"):
        measures.argmax_accuracy(np.zeros((2, 2)), np.array([[True, False], [True, True]]))


def test_shapes_must_fit():
    with pytest.raises(UsageError):
        count_contingency(np.zeros((2, 3), dtype=bool), np.zeros((3, 2), dtype=bool))


@given(problems())
def test_calibration_is_that_of_scikit_learn(problem):
    scores, labels = problem
    probabilities = 1.0 / (1.0 + np.exp(-scores))
    found = measures.measure_calibration(probabilities, labels)
    flat, wanted = probabilities.ravel(), labels.ravel().astype(int)
    assert found["probability.brier"] == pytest.approx(brier_score_loss(wanted, flat, pos_label=1))
    assert found["probability.log_loss"] == pytest.approx(log_loss(wanted, flat, labels=[0, 1]))


def test_a_certain_mistake_has_a_finite_loss():
    """Probabilities 0 and 1 that are wrong cost as much as the nearest ones allowed."""
    found = measures.measure_calibration(np.array([[1.0, 0.0]]), np.array([[False, True]]))
    assert found["probability.brier"] == 1.0
    assert found["probability.log_loss"] == pytest.approx(-math.log(measures.PROBABILITY_CLIP))
    right = measures.measure_calibration(np.array([[1.0, 0.0]]), np.array([[True, False]]))
    assert right["probability.brier"] == 0.0
    assert 0 < right["probability.log_loss"] < 2 * measures.PROBABILITY_CLIP


def test_accuracy_of_no_document_is_undefined():
    assert math.isnan(measures.argmax_accuracy(np.zeros((0, 3)), np.zeros((0, 3), dtype=bool)))


@given(problems(), st.integers(0, 12))
def test_tables_of_parts_of_the_documents_add_up(problem, cut):
    """Any division of the documents into two sets gives the same table in sum, also of an empty set."""
    scores, labels = problem
    decisions = scores >= 0
    parts = [count_contingency(decisions[part], labels[part]) for part in (slice(cut), slice(cut, None))]
    whole = count_contingency(decisions, labels)
    total = ContingencyTable(
        *(sum(getattr(part, kind) for part in parts) for kind in ("tp", "fp", "fn", "tn"))
    )
    for kind in ("tp", "fp", "fn", "tn"):
        assert getattr(total, kind).tolist() == getattr(whole, kind).tolist()


@given(problems())
def test_exchanging_decisions_and_labels_exchanges_precision_and_recall(problem):
    scores, labels = problem
    there, back = count_contingency(scores >= 0, labels), count_contingency(labels, scores >= 0)
    for rule in (1, 0):
        np.testing.assert_array_equal(measures.precision(there, rule), measures.recall(back, rule))
        np.testing.assert_array_equal(measures.f1(there, rule), measures.f1(back, rule))
    np.testing.assert_array_equal(measures.error_rate(there), measures.error_rate(back))


@given(problems())
def test_f1_is_between_precision_and_recall(problem):
    """F1 is the harmonic mean of both wherever both are defined."""
    scores, labels = problem
    table = count_contingency(scores >= 0, labels)
    p, r, f = (measure(table, "skip") for measure in (measures.precision, measures.recall, measures.f1))
    defined = ~np.isnan(p) & ~np.isnan(r)
    assert (f[defined] >= np.minimum(p, r)[defined] - 1e-9).all()
    assert (f[defined] <= np.maximum(p, r)[defined] + 1e-9).all()
    both = defined & (p + r > 0)
    np.testing.assert_allclose(f[both], 2 * p[both] * r[both] / (p[both] + r[both]))


def test_sparse_labels_are_the_dense_ones() -> None:
    labels = np.random.default_rng(1).random((30, 12)) < 0.2
    sparse = csr_array(labels)
    assert count_positives(sparse).tolist() == count_positives(labels).tolist() == labels.sum(axis=0).tolist()
    assert np.array_equal(make_dense_labels(sparse, 3, 7), labels[:, 3:7])
    taken = take_columns(sparse, np.array([9, 0, 5]))
    assert np.array_equal(taken.toarray(), labels[:, [9, 0, 5]])
    assert taken.has_sorted_indices
