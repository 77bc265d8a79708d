"""All measures of a run, by name and over parts of the categories."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from tests.evaluation.problems import problems
from textcat.errors import UsageError
from textcat.evaluation.run_measures import (
    LARGEST_LEFT_OUT,
    EvaluationSettings,
    average_repetitions,
    list_builtin_measures,
    measure_all,
)

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


def test_more_categories_than_there_are_is_undefined():
    result = all_of_it()
    for name in ("macro.f1.top20", "micro.f1.top20", "micro.bep.top20", "macro.f1_of_means.top20"):
        assert math.isnan(result[name])


def test_accuracy_only_for_documents_of_one_category():
    assert math.isnan(all_of_it()["accuracy"])
    single = np.eye(12, dtype=bool)
    result = all_of_it(scores=single.astype(float), decisions=single, labels=single)
    assert result["accuracy"] == 100


def test_settings_reach_the_measures():
    empty = LABELS & False
    nothing = {"scores": SCORES, "decisions": empty, "labels": empty}
    for rule, expected in ((1, 100.0), (0, 0.0), ("skip", math.nan)):
        result = all_of_it(**nothing, settings=EvaluationSettings(zero_division=rule, largest=[3]))
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


@pytest.mark.parametrize("rule", [1, 0, "skip"])
def test_parts_of_the_categories_are_measured_as_if_they_were_all(rule):
    """`topN` and `rest` are the measures of a run over these categories alone."""
    counts = GENERATOR.permutation(12)
    order = np.argsort(-counts)
    chosen = EvaluationSettings(zero_division=rule, largest=[1, 4, 12])
    # One of the largest and one of the rest have neither documents nor decisions.
    scores, labels = SCORES.copy(), LABELS.copy()
    scores[:, order[[2, 11]]], labels[:, order[[2, 11]]] = 0.0, False
    whole = all_of_it(
        scores=scores, decisions=scores >= 0.5, labels=labels, train_counts=counts, settings=chosen
    )
    for name, part in (("top1", order[:1]), ("top4", order[:4]), ("top12", order), ("rest", order[10:])):
        alone = all_of_it(
            scores=scores[:, part],
            decisions=scores[:, part] >= 0.5,
            labels=labels[:, part],
            categories=[NAMES[k] for k in part],
            train_counts=counts[part],
            settings=chosen,
        )
        for measure in ("micro.f1", "micro.bep", "macro.f1", "macro.f1_of_means"):
            assert whole[f"{measure}.{name}"] == pytest.approx(alone[measure], nan_ok=True)


def test_f1_over_frequent_few_and_unseen_labels():
    """Frequent means more than 50 training documents, few 1 to 50, unseen none."""
    counts = np.array([0, 1, 50, 51, 900, 0, 7, 50, 51, 1, 0, 60])
    found = all_of_it(train_counts=counts, settings=EvaluationSettings(frequency_groups=True))
    members = {"frequent": [3, 4, 8, 11], "few": [1, 2, 6, 7, 9], "unseen": [0, 5, 10]}
    for name, part in members.items():
        assert found[f"labels.{name}"] == len(part)
        f1 = [found[f"category.{NAMES[k]}.f1"] for k in part]
        assert found[f"macro.f1.{name}"] == pytest.approx(np.mean(f1))
        tp, fp, fn = (sum(found[f"category.{NAMES[k]}.{kind}"] for k in part) for kind in ("tp", "fp", "fn"))
        assert found[f"micro.f1.{name}"] == pytest.approx(200 * tp / (2 * tp + fp + fn))
    none = all_of_it(train_counts=COUNTS + 50, settings=EvaluationSettings(frequency_groups=True))
    assert none["labels.unseen"] == none["labels.few"] == 0
    assert math.isnan(none["micro.f1.unseen"])
    assert math.isnan(none["macro.f1.unseen"])
    assert "labels.few" not in all_of_it()


def test_ranking_measures_need_scores_and_are_asked_for():
    chosen = EvaluationSettings(ranking=[1, 3])
    with_scores = set(all_of_it(settings=chosen, train_documents=100)) - set(all_of_it())
    assert {"precision@1", "precision@3", "psp@1"} <= {name.rpartition(".")[2] for name in with_scores}
    assert set(all_of_it(settings=chosen, scores=None)) == set(all_of_it())


@given(problems())
def test_every_category_has_its_row_and_undefined_values_are_nan(problem):
    scores, labels = problem
    names = [f"c{k}" for k in range(labels.shape[1])]
    found = measure_all(scores, scores >= 0, labels, names, np.zeros(len(names), dtype=np.int64))
    decisions = scores >= 0
    for k, name in enumerate(names):
        row = {part.removeprefix(f"category.{name}."): value for part, value in found.items() if name in part}
        accepted, wanted = decisions[:, k], labels[:, k]
        assert (row["tp"], row["tn"]) == ((accepted & wanted).sum(), (~accepted & ~wanted).sum())
        assert row["fp"] + row["fn"] == row["errors"] == (accepted != wanted).sum()
        assert row["error_rate"] == pytest.approx(100 * np.mean(accepted != wanted))
        assert math.isnan(row["bep"]) == (not wanted.any())
    assert found["micro.error_rate"] == pytest.approx(100 * np.mean(decisions != labels))
    single = bool((labels.sum(axis=1) == 1).all())
    assert math.isnan(found["accuracy"]) == (not single)
    if single:
        assert found["accuracy"] == pytest.approx(
            100 * labels[np.arange(len(labels)), scores.argmax(1)].mean()
        )


def test_training_counts_must_fit_the_labels():
    with pytest.raises(UsageError, match="11 training counts"):
        all_of_it(train_counts=COUNTS[:-1])


def test_repetitions_with_an_undefined_value_have_an_undefined_mean():
    found = average_repetitions([{"a": 1.0, "b": 2.0}, {"a": math.nan, "b": 4.0}])
    assert math.isnan(found["a.mean"])
    assert found["b.sd"] == pytest.approx(math.sqrt(2))


def test_the_numbers_of_largest_categories_are_those_of_the_papers():
    """zhang_oles_2001's table 4 has 5 to 100 categories."""
    names = list_builtin_measures()
    for number in (5, 10, 20, 40, 60, 80, 100):
        assert f"macro.f1.top{number}" in names
    assert sum(name.startswith("macro.f1.top") for name in names) == 7
    assert LARGEST_LEFT_OUT == 10
    assert EvaluationSettings().zero_division == 1
