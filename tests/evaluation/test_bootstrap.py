"""Bootstrap intervals against resampling by hand."""

from __future__ import annotations

import numpy as np
import pytest

from textcat.errors import UsageError
from textcat.evaluation import measures
from textcat.evaluation.comparison import paired_bootstrap
from textcat.evaluation.measures import count_contingency


def decisions(seed: int, share_flipped: float, labels):
    return labels ^ (np.random.default_rng(seed).random(labels.shape) < share_flipped)


LABELS = np.random.default_rng(0).random((300, 4)) < 0.3


def test_same_seed_same_interval_and_another_seed_another():
    left, right = decisions(1, 0.1, LABELS), decisions(2, 0.2, LABELS)
    first = paired_bootstrap(left, right, LABELS, seed=7, samples=150)
    assert first == paired_bootstrap(left, right, LABELS, seed=7, samples=150)
    assert first != paired_bootstrap(left, right, LABELS, seed=8, samples=150)


@pytest.mark.parametrize("zero_division", [1, 0, "skip"])
def test_the_difference_of_the_measures_lies_inside(zero_division):
    left, right = decisions(1, 0.05, LABELS), decisions(2, 0.3, LABELS)
    result = paired_bootstrap(left, right, LABELS, seed=1, samples=300, zero_division=zero_division)
    for name, measure in (("micro.f1", measures.micro_f1), ("macro.f1", measures.macro_f1)):
        low, high = result[name]
        ours, theirs = (measure(count_contingency(side, LABELS), zero_division) for side in (left, right))
        assert 0 < low < ours - theirs < high


def test_identical_methods_have_no_difference():
    same = decisions(1, 0.1, LABELS)
    assert paired_bootstrap(same, same, LABELS, seed=1, samples=50)["macro.f1"] == (0, 0)


@pytest.mark.parametrize("samples", [1, 99, 100, 101, 230])
def test_intervals_are_percentiles_over_documents_drawn_again(samples):
    """Repeating each document as often as it is drawn and counting anew gives the same percentiles."""
    labels = LABELS[:40]
    left, right = decisions(1, 0.1, labels), decisions(2, 0.3, labels)
    found = paired_bootstrap(left, right, labels, seed=3, samples=samples)
    generator = np.random.default_rng(3)
    drawn = []
    for start in range(0, samples, 100):
        for times in generator.multinomial(40, np.full(40, 1 / 40), size=min(100, samples - start)):
            rows = np.repeat(np.arange(40), times)
            tables = [count_contingency(side[rows], labels[rows]) for side in (left, right)]
            drawn.append([[measures.micro_f1(table), measures.macro_f1(table)] for table in tables])
    values = np.array(drawn)
    for k, name in enumerate(("micro.f1", "macro.f1")):
        expected = np.percentile(values[:, 0, k] - values[:, 1, k], [2.5, 97.5])
        assert found[name] == pytest.approx(tuple(expected))


def test_exchanging_the_sides_turns_the_difference_around():
    left, right = decisions(1, 0.1, LABELS), decisions(2, 0.3, LABELS)
    there = paired_bootstrap(left, right, LABELS, seed=5, samples=120)
    back = paired_bootstrap(right, left, LABELS, seed=5, samples=120)
    for name, (low, high) in there.items():
        assert (low, high) == pytest.approx((-back[name][1], -back[name][0]))


@pytest.mark.parametrize("wrong", [0, 1])
def test_both_sides_must_have_the_documents_of_the_labels(wrong):
    sides = [LABELS, LABELS]
    sides[wrong] = LABELS[:-1]
    with pytest.raises(UsageError, match="over the same documents"):
        paired_bootstrap(*sides, LABELS, seed=1)


def test_resamples_without_any_positive_document_are_left_out_where_they_are_undefined():
    """With `skip`, a resample without a positive document has no F1; the interval is over the others."""
    labels = np.zeros((6, 1), dtype=bool)
    labels[0] = True
    found = paired_bootstrap(labels, ~labels, labels, seed=2, samples=60, zero_division="skip")
    assert found["macro.f1"] == (100.0, 100.0)
