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
def test_values_are_the_measures_and_lie_inside(zero_division):
    left, right = decisions(1, 0.05, LABELS), decisions(2, 0.3, LABELS)
    result = paired_bootstrap(left, right, LABELS, seed=1, samples=300, zero_division=zero_division)
    for name, measure in (("micro.f1", measures.micro_f1), ("macro.f1", measures.macro_f1)):
        found = result[name]
        assert found.left.value == pytest.approx(measure(count_contingency(left, LABELS), zero_division))
        assert found.right.value == pytest.approx(measure(count_contingency(right, LABELS), zero_division))
        assert found.difference.value == pytest.approx(found.left.value - found.right.value)
        for interval in (found.left, found.right, found.difference):
            assert interval.low < interval.value < interval.high
        assert found.difference.low > 0


def test_identical_methods_have_no_difference():
    same = decisions(1, 0.1, LABELS)
    result = paired_bootstrap(same, same, LABELS, seed=1, samples=50)
    assert result["macro.f1"].difference.low == result["macro.f1"].difference.high == 0


def test_width_falls_with_the_number_of_documents():
    few = paired_bootstrap(decisions(1, 0.1, LABELS), LABELS, LABELS, seed=1, samples=300)
    many_labels = np.tile(LABELS, (16, 1))
    many = paired_bootstrap(decisions(1, 0.1, many_labels), many_labels, many_labels, seed=1, samples=300)

    def width(result) -> float:
        return result["micro.f1"].left.high - result["micro.f1"].left.low

    assert width(few) / width(many) == pytest.approx(4, rel=0.35)


def test_needs_documents():
    nothing = np.zeros((0, 2), dtype=bool)
    with pytest.raises(UsageError):
        paired_bootstrap(nothing, nothing, nothing, seed=1)


@pytest.mark.parametrize(("samples", "level"), [(1, 95.0), (99, 90.0), (100, 50.0), (101, 95.0), (230, 80.0)])
def test_intervals_are_percentiles_over_documents_drawn_again(samples, level):
    """Repeating each document as often as it is drawn and counting anew gives the same percentiles."""
    labels = LABELS[:40]
    left, right = decisions(1, 0.1, labels), decisions(2, 0.3, labels)
    found = paired_bootstrap(left, right, labels, seed=3, samples=samples, level=level)
    generator = np.random.default_rng(3)
    drawn = []
    for start in range(0, samples, 100):
        for times in generator.multinomial(40, np.full(40, 1 / 40), size=min(100, samples - start)):
            rows = np.repeat(np.arange(40), times)
            tables = [count_contingency(side[rows], labels[rows]) for side in (left, right)]
            drawn.append([[measures.micro_f1(table), measures.macro_f1(table)] for table in tables])
    values = np.array(drawn)
    tail = (100 - level) / 2
    for k, name in enumerate(("micro.f1", "macro.f1")):
        sides = (values[:, 0, k], values[:, 1, k], values[:, 0, k] - values[:, 1, k])
        for interval, side in zip(
            (found[name].left, found[name].right, found[name].difference), sides, strict=True
        ):
            assert (interval.low, interval.high) == pytest.approx(
                tuple(np.percentile(side, [tail, 100 - tail]))
            )


def test_exchanging_the_sides_turns_the_difference_around():
    left, right = decisions(1, 0.1, LABELS), decisions(2, 0.3, LABELS)
    there = paired_bootstrap(left, right, LABELS, seed=5, samples=120)
    back = paired_bootstrap(right, left, LABELS, seed=5, samples=120)
    for name, intervals in there.items():
        assert intervals.left == back[name].right
        assert intervals.difference.low == pytest.approx(-back[name].difference.high)
        assert intervals.difference.value == pytest.approx(-back[name].difference.value)


def test_a_higher_level_has_the_wider_interval():
    left, right = decisions(1, 0.1, LABELS), decisions(2, 0.3, LABELS)
    widths = []
    for level in (50.0, 80.0, 95.0, 100.0):
        interval = paired_bootstrap(left, right, LABELS, seed=5, samples=200, level=level)["micro.f1"].left
        widths.append(interval.high - interval.low)
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


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
    found = paired_bootstrap(labels, labels, labels, seed=2, samples=60, zero_division="skip")[
        "macro.f1"
    ].left
    assert (found.value, found.low, found.high) == (100.0, 100.0, 100.0)
