"""Bootstrap intervals against resampling by hand."""

from __future__ import annotations

import numpy as np
import pytest

from textcat.errors import UsageError
from textcat.evaluation import measures
from textcat.evaluation.bootstrap import paired_bootstrap
from textcat.evaluation.contingency import count_contingency


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
