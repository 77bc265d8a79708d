"""Measures for one label per document against direct counting and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import confusion_matrix, top_k_accuracy_score

from textcat.evaluation.one_label import (
    compute_calibration_error,
    count_confusions,
    find_columns,
    measure_reliability,
    measure_top_accuracy,
    rank_label_errors,
)


def draw(seed: int, documents: int = 300, classes: int = 6):
    generator = np.random.default_rng(seed)
    labels = generator.integers(classes, size=documents)
    scores = generator.normal(size=(documents, classes))
    scores[np.arange(documents), labels] += 1.0
    return scores, labels


@given(st.integers(0, 2**32 - 1))
def test_confusions_are_the_cells_beside_the_diagonal(seed: int) -> None:
    scores, labels = draw(seed)
    given_columns = scores.argmax(axis=1)
    matrix = confusion_matrix(labels, given_columns, labels=range(6))
    found = count_confusions(labels, given_columns)
    assert {(a, b): n for a, b, n in found} == {
        (a, b): matrix[a, b] for a in range(6) for b in range(6) if a != b and matrix[a, b]
    }
    counts = [n for _, _, n in found]
    assert counts == sorted(counts, reverse=True)
    assert count_confusions(labels, given_columns, 3) == found[:3]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_top_accuracy_is_that_of_scikit_learn(k: int) -> None:
    scores, labels = draw(k)
    expected = 100 * top_k_accuracy_score(labels, scores, k=k, labels=range(6))
    assert measure_top_accuracy(scores, labels, [k])[f"accuracy.top{k}"] == pytest.approx(expected)


def test_equal_scores_count_in_the_order_of_categories_and_k_of_all_is_left_out() -> None:
    scores, labels = np.zeros((4, 4)), np.arange(4)
    assert measure_top_accuracy(scores, labels, [1, 2, 3, 4]) == {
        "accuracy.top1": 25.0,
        "accuracy.top2": 50.0,
        "accuracy.top3": 75.0,
    }


def test_documents_without_a_label_or_category_are_left_out() -> None:
    chosen = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1]], dtype=bool)
    assert find_columns(chosen).tolist() == [-1, 1, 0]
    assert find_columns(csr_array(chosen)).tolist() == [-1, 1, 0]
    assert count_confusions(np.array([-1, 1, 2]), np.array([0, -1, 0])) == [(2, 0, 1)]
    assert measure_top_accuracy(np.eye(3), np.array([-1, 1, 0]), [1]) == {"accuracy.top1": 50.0}


def test_the_calibration_error_is_the_mean_distance_over_documents() -> None:
    probabilities = np.array([[0.9, 0.1]] * 10 + [[0.35, 0.65]] * 30)
    labels = np.array([0] * 6 + [1] * 4 + [1] * 30)
    bins = measure_reliability(probabilities, labels)
    assert bins == [
        (pytest.approx(0.65), pytest.approx(1.0), 30),
        (pytest.approx(0.9), pytest.approx(0.6), 10),
    ]
    assert compute_calibration_error(bins) == pytest.approx((0.35 * 30 + 0.3 * 10) / 40)
    assert np.isnan(compute_calibration_error([]))


def test_a_probability_of_one_is_in_the_last_bin() -> None:
    assert measure_reliability(np.array([[1.0, 0.0]]), np.array([0])) == [(1.0, 1.0, 1)]


def test_labels_that_were_changed_come_first() -> None:
    generator = np.random.default_rng(2)
    scores, labels = draw(2, documents=2000)
    scores[np.arange(2000), labels] += 3.0
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    changed = generator.choice(2000, 60, replace=False)
    noisy = labels.copy()
    noisy[changed] = (labels[changed] + generator.integers(1, 6, size=60)) % 6
    found = rank_label_errors(chances, noisy, 60)
    assert len(set(found.tolist()) & set(changed.tolist())) > 40
    margins = chances.max(axis=1) - chances[np.arange(2000), noisy]
    assert (np.diff(margins[found]) <= 0).all()
    assert (chances.argmax(axis=1) != noisy)[found].all()


def test_of_equal_probabilities_the_answer_is_the_one_that_was_given() -> None:
    """Steps of isotonic regression are equal for several labels; the higher score decides."""
    probabilities, scores = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[1.0, 2.0], [2.0, 1.0]])
    assert measure_reliability(probabilities, np.array([1, 0]), scores) == [(0.5, 1.0, 2)]
    assert measure_reliability(probabilities, np.array([0, 1]), scores) == [(0.5, 0.0, 2)]
