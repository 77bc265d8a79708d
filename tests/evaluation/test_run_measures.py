"""All measures of a run, by name and over parts of the categories."""

from __future__ import annotations

import math

import numpy as np
import pytest

from textcat.errors import UsageError
from textcat.evaluation.run_measures import MeasureSettings, average_repetitions, measure_all

GENERATOR = np.random.default_rng(4)
LABELS = GENERATOR.random((80, 12)) < np.linspace(0.5, 0.02, 12)
SCORES = LABELS + GENERATOR.normal(size=LABELS.shape)
NAMES = [f"topic{number}" for number in range(12)]
COUNTS = np.arange(12, 0, -1)


def all_of_it(**changes):
    given = {
        "scores": SCORES,
        "decisions": SCORES >= 0.5,
        "labels": LABELS,
        "categories": NAMES,
        "train_counts": COUNTS,
    }
    return measure_all(**{**given, **changes})


def test_counts_of_categories_give_back_the_micro_measures():
    result = all_of_it()
    tp, fp, fn = (sum(result[f"category.{name}.{part}"] for name in NAMES) for part in ("tp", "fp", "fn"))
    assert result["micro.precision"] == pytest.approx(100 * tp / (tp + fp))
    assert result["micro.recall"] == pytest.approx(100 * tp / (tp + fn))
    assert result["micro.f1"] == pytest.approx(200 * tp / (2 * tp + fp + fn))
    assert result["micro.errors"] == fp + fn
    assert result["category.topic0.errors"] == result["category.topic0.fp"] + result["category.topic0.fn"]


def test_macro_measures_are_means_of_the_categories():
    result = all_of_it()
    f1 = [result[f"category.{name}.f1"] for name in NAMES]
    assert result["macro.f1"] == pytest.approx(np.mean(f1))
    assert result["macro.f1.top5"] == pytest.approx(np.mean(f1[:5]))
    assert result["macro.f1.top10"] == pytest.approx(np.mean(f1[:10]))
    assert result["macro.f1.rest"] == pytest.approx(np.mean(f1[10:]))
    assert result["macro.bep"] == pytest.approx(np.nanmean([result[f"category.{n}.bep"] for n in NAMES]))


def test_size_goes_by_training_documents():
    reversed_counts = all_of_it(train_counts=COUNTS[::-1])
    assert reversed_counts["macro.f1.top5"] == pytest.approx(
        np.mean([reversed_counts[f"category.{name}.f1"] for name in NAMES[-5:]])
    )


def test_more_categories_than_there_are_is_undefined():
    result = all_of_it()
    for name in ("macro.f1.top20", "micro.f1.top20", "micro.bep.top20", "macro.f1_of_means.top20"):
        assert math.isnan(result[name])


def test_without_scores_what_needs_them_is_undefined():
    result = all_of_it(scores=None)
    assert math.isnan(result["micro.bep"])
    assert math.isnan(result["category.topic0.bep"])
    assert math.isnan(result["accuracy"])
    assert result["micro.f1"] == all_of_it()["micro.f1"]


def test_accuracy_only_for_documents_of_one_category():
    assert math.isnan(all_of_it()["accuracy"])
    single = np.eye(12, dtype=bool)
    result = all_of_it(scores=single.astype(float), decisions=single, labels=single)
    assert result["accuracy"] == 100


def test_settings_reach_the_measures():
    empty = LABELS & False
    nothing = {"scores": SCORES, "decisions": empty, "labels": empty}
    for rule, expected in ((1, 100.0), (0, 0.0), ("skip", math.nan)):
        result = all_of_it(**nothing, settings=MeasureSettings(zero_division=rule, largest=(3,)))
        assert result["macro.f1"] == pytest.approx(expected, nan_ok=True)
        assert "macro.f1.top3" in result
        assert "macro.f1.top5" not in result


def test_names_must_fit_the_labels():
    with pytest.raises(UsageError):
        all_of_it(categories=NAMES[:-1])


def test_mean_and_spread_over_repetitions():
    result = average_repetitions(
        [{"accuracy": 88.0, "only.here": 1.0}, {"accuracy": 90.0}, {"accuracy": 92.0}]
    )
    assert result == {"accuracy.mean": 90.0, "accuracy.sd": 2.0}
    assert math.isnan(average_repetitions([{"accuracy": 88.0}])["accuracy.sd"])
    assert average_repetitions([]) == {}
