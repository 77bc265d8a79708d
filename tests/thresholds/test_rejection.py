"""Rejected documents: the threshold keeps its share, and the label of rejected documents is no class in scope."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textcat.errors import UsageError
from textcat.evaluation.one_label import compute_risk_area, measure_rejection, trace_risk_coverage
from textcat.thresholds.rejection import Rejection, RejectSettings, fit_rejection

NAMES = ["a", "b", "c", "oos"]


def draw(seed: int, documents: int = 200):
    generator = np.random.default_rng(seed)
    probabilities = generator.dirichlet([0.6] * 4, size=documents)
    labels = np.eye(4, dtype=bool)[generator.integers(4, size=documents)]
    return probabilities, labels


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.9, 0.95, 0.975, 1.0]))
def test_the_share_of_coverage_stays_above_the_threshold(seed: int, coverage: float) -> None:
    probabilities, labels = draw(seed)
    found = fit_rejection(RejectSettings(coverage=coverage), probabilities, labels, NAMES)
    kept = found.decide(probabilities).any(axis=1).mean()
    assert coverage <= kept < coverage + 1 / len(labels) + 1e-9
    assert found.column == -1


def test_documents_out_of_scope_do_not_move_the_threshold() -> None:
    probabilities, labels = draw(1)
    settings = RejectSettings(coverage=0.9, label="oos")
    found = fit_rejection(settings, probabilities, labels, NAMES)
    changed = probabilities.copy()
    changed[labels[:, 3]] = [1.0, 0.0, 0.0, 0.0]
    assert fit_rejection(settings, changed, labels, NAMES) == found
    inside = ~labels[:, 3]
    assert (probabilities[inside, :3].max(axis=1) >= found.threshold).mean() >= 0.9


def test_rejected_documents_get_the_label_or_nothing() -> None:
    probabilities = np.array([[0.7, 0.1, 0.1, 0.1], [0.3, 0.3, 0.2, 0.2], [0.4, 0.05, 0.0, 0.55]])
    named, unnamed = Rejection(0.35, 3).decide(probabilities), Rejection(0.35, -1).decide(probabilities)
    assert named.tolist() == [[True, False, False, False], [False] * 3 + [True], [False] * 3 + [True]]
    # Without such a label, the fourth is a class as any other.
    assert unnamed.tolist() == [[True, False, False, False], [False] * 4, [False] * 3 + [True]]


def test_a_label_that_no_document_has_is_refused_with_the_labels() -> None:
    with pytest.raises(UsageError, match="which no document has") as refused:
        fit_rejection(RejectSettings(label="out"), *draw(2), NAMES)
    assert "a, b, c, oos" in refused.value.hint


def test_arrays_rebuild_it_and_wrong_ones_are_refused() -> None:
    assert Rejection.from_array(Rejection(0.4, 2).to_array(), 4) == Rejection(0.4, 2)
    for wrong in ([0.4, 4], [0.4, -2], [0.4, 0.5], [1.4, 0], [np.nan, 0], [0.4]):
        with pytest.raises(ValueError, match="rejection"):
            Rejection.from_array(np.array(wrong, dtype=np.float64), 4)


def test_measures_of_rejection_are_shares_of_documents() -> None:
    labels = np.array([0, 0, 1, 1, 3, 3, 3, 3])
    given_columns = np.array([0, 3, 1, 0, 3, 3, -1, 2])
    assert measure_rejection(labels, given_columns, 3) == {
        "reject.in_scope_accuracy": 50.0,
        "reject.out_of_scope_recall": 75.0,
        "reject.out_of_scope_precision": 75.0,
        "reject.answered": 50.0,
        "reject.right_of_answered": 50.0,
    }
    without = measure_rejection(labels, given_columns, -1)
    assert np.isnan(without["reject.out_of_scope_recall"])


@given(st.integers(0, 2**32 - 1))
def test_risk_and_coverage_are_those_of_each_threshold(seed: int) -> None:
    generator = np.random.default_rng(seed)
    best = generator.integers(1, 9, size=60) / 10
    right = generator.random(60) < best
    curve = trace_risk_coverage(best, right)
    expected = []
    for threshold in sorted(set(best.tolist()), reverse=True):
        answered = best >= threshold
        expected.append((answered.mean(), (~right[answered]).mean()))
    assert curve == [pytest.approx(point) for point in expected]


def test_a_long_curve_has_a_hundred_points_and_ends_with_all_documents() -> None:
    generator = np.random.default_rng(3)
    best = generator.random(5000)
    curve = trace_risk_coverage(best, generator.random(5000) < best)
    assert len(curve) <= 100
    assert curve[-1][0] == 1.0
    assert trace_risk_coverage(np.zeros(0), np.zeros(0, dtype=bool)) == []


def test_the_area_is_least_where_the_wrong_documents_have_the_lowest_probabilities() -> None:
    best = np.linspace(1, 0, 10)
    right = np.arange(10) < 7
    assert compute_risk_area(best, right) == pytest.approx(np.mean([0] * 7 + [1 / 8, 2 / 9, 3 / 10]))
    assert compute_risk_area(best, right) < compute_risk_area(best[::-1], right)
