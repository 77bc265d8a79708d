"""Every rule by its settings, from held-out scores to decisions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.evaluation.measures import count_contingency, micro_f1
from textcat.thresholds.rules import (
    THRESHOLD_RULES,
    ThresholdSettings,
    accept_highest,
    accept_top_documents,
    apply_threshold_rule,
    find_proportional_thresholds,
    find_shared_threshold,
    rcut,
    scut_fbr,
    set_categories_per_document,
    set_thresholds,
    tune_pcut,
    tune_rcut,
)
from textcat.thresholds.tuning import (
    TuningRule,
    apply_thresholds,
    cross_validate_thresholds,
    find_break_even_thresholds,
    tune_thresholds,
)

GENERATOR = np.random.default_rng(5)
LABELS = GENERATOR.random((300, 4)) < [0.5, 0.2, 0.05, 0.01]
SCORES = LABELS * 1.0 + GENERATOR.normal(size=LABELS.shape)
PRIORS = LABELS.mean(axis=0)
HELD_OUT = {"cross_validated": True}


def decided(rule: dict, probabilities=None):
    settings = ThresholdSettings(**rule)
    thresholds = set_thresholds(settings, SCORES, LABELS, None, probabilities)
    per_document = set_categories_per_document(settings, SCORES, LABELS)
    return apply_threshold_rule(
        settings, SCORES, thresholds, PRIORS, per_document=per_document, probabilities=probabilities
    )


def test_scut_uses_f1_unless_another_criterion_is_set():
    by_f1 = apply_thresholds(SCORES, tune_thresholds(SCORES, LABELS, TuningRule(criterion="f1")))
    by_errors = apply_thresholds(SCORES, tune_thresholds(SCORES, LABELS, TuningRule()))
    assert not np.array_equal(by_f1, by_errors)
    assert np.array_equal(decided({"rule": "scut"}), by_f1)
    assert np.array_equal(decided({"rule": "tuned", "criterion": "f1"}), by_f1)
    assert np.array_equal(decided({"rule": "scut", "criterion": "errors"}), by_errors)
    assert np.array_equal(decided({"rule": "tuned"}), by_errors)
    assert ThresholdSettings(rule="scut-fbr").criterion == "f1"


@for_each("fallback", [0, 1])
def test_scut_fbr_uses_its_fallback_setting(fallback):
    settings = {"rule": "scut-fbr", "fallback": fallback, "least_f1": 60.0}
    expected = scut_fbr(SCORES, LABELS, 60.0, fallback, ThresholdSettings(**settings).tuning)
    assert np.array_equal(decided(settings), apply_thresholds(SCORES, expected))


@for_each(
    ("per_document", "categories"), [(1.0, 1), (1.49, 1), (1.5, 2), (0.1, 1), (99.0, 4), ("training", 1)]
)
def test_rcut_gives_whole_numbers_of_categories(per_document, categories):
    assert np.array_equal(decided({"rule": "rcut", "per_document": per_document}), rcut(SCORES, categories))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_the_highest_score_is_rcut_with_one_category(seed, categories):
    scores = np.random.default_rng(seed).integers(0, 3, size=(20, categories)) * 0.5
    found = accept_highest(scores)
    assert np.array_equal(found, rcut(scores, 1))
    assert (scores[found] == scores.max(axis=1)).all()


def test_pcut_on_a_set_takes_its_shares():
    found = decided({"rule": "pcut", "per_document": "training"})
    assert found.sum(axis=0).tolist() == LABELS.sum(axis=0).tolist()
    assert np.array_equal(found, accept_top_documents(SCORES, LABELS.sum(axis=0).astype(float)))


def test_on_a_set_and_fixed_expected_f1_agree_on_the_documents_they_were_set_on():
    probabilities = 1 / (1 + np.exp(-SCORES))
    on_set = decided({"rule": "expected-f1"}, probabilities)
    fixed = decided({"rule": "expected-f1", **HELD_OUT}, probabilities)
    assert np.array_equal(on_set, fixed)


def test_expected_f1_without_probabilities_says_what_to_do():
    with pytest.raises(UsageError, match="none of its own") as caught:
        decided({"rule": "expected-f1"})
    assert "calibration" in caught.value.hint


@for_each("per_document", [0, -1.0, "some"])
def test_a_number_of_categories_is_above_zero(per_document):
    with pytest.raises(ValidationError):
        ThresholdSettings(rule="rcut", per_document=per_document)


@for_each("rule", ["default", "rcut", "pcut", "expected-f1"])
@for_each("value", [0.0, -0.75])
def test_rules_without_thresholds_have_the_learners_own(rule, value):
    settings = ThresholdSettings(rule=rule, value=value)
    assert set_thresholds(settings, SCORES, LABELS).tolist() == [value] * 4


TUNING_KEYS = {
    "criterion": ["errors", "f1"],
    "point": ["lowest", "midpoint", "highest", 0.25],
    "among_equal": ["lowest", "highest", "widest"],
    "accept_nothing": [1.0, 0.0, None],
    "accept_everything": [None, 0.0, 2.0],
}


@for_each(("key", "value"), [(key, value) for key in TUNING_KEYS for value in TUNING_KEYS[key]])
@for_each("rule", ["tuned", "scut", "break-even", "scut-fbr", "pcut"])
def test_every_key_of_tuning_reaches_the_thresholds(rule, key, value):
    """The thresholds are those of the function called with the same tuning rule."""
    settings = ThresholdSettings(rule=rule, **{key: value}, cross_validated=rule == "pcut")
    given = getattr(settings.tuning, key)
    assert given == (math.inf if key == "accept_everything" and value is None else value)
    expected = {
        "tuned": lambda: tune_thresholds(SCORES, LABELS, settings.tuning),
        "scut": lambda: tune_thresholds(SCORES, LABELS, settings.tuning),
        "break-even": lambda: find_break_even_thresholds(SCORES, LABELS, settings.tuning),
        "scut-fbr": lambda: scut_fbr(SCORES, LABELS, 30.0, 1, settings.tuning),
        "pcut": lambda: find_proportional_thresholds(SCORES, LABELS, 1.0, settings.tuning),
    }[rule]()
    assert np.array_equal(set_thresholds(settings, SCORES, LABELS), expected)


@for_each("combination", ["pooled", "mean_of_folds", "median_of_folds"])
def test_folds_and_their_combination_reach_the_tuning(combination):
    folds = np.arange(len(LABELS)) % 3
    settings = ThresholdSettings(rule="tuned", combination=combination, **HELD_OUT)
    expected = cross_validate_thresholds(SCORES, LABELS, folds, settings.tuning, combination)
    assert np.array_equal(set_thresholds(settings, SCORES, LABELS, folds), expected)
    one_fold = cross_validate_thresholds(SCORES, LABELS, folds * 0, settings.tuning, combination)
    assert np.array_equal(set_thresholds(settings, SCORES, LABELS), one_fold)


@for_each("rule", THRESHOLD_RULES)
@for_each("cross_validated", [False, True])
def test_rules_that_need_all_documents_say_so(rule, cross_validated):
    """If a rule does not, each document has the decision that it has among others."""
    settings = ThresholdSettings(rule=rule, cross_validated=cross_validated, per_document="training")
    probabilities = 1 / (1 + np.exp(-SCORES))
    thresholds = set_thresholds(settings, SCORES, LABELS, None, probabilities)
    per_document = set_categories_per_document(settings, SCORES, LABELS)

    def decide(rows):
        return apply_threshold_rule(
            settings,
            SCORES[rows],
            thresholds,
            PRIORS,
            per_document=per_document,
            probabilities=probabilities[rows],
        )

    whole = decide(slice(None))
    independent = np.array_equal(np.vstack([decide([row]) for row in range(len(SCORES))]), whole)
    assert independent == (not settings.needs_all_documents)
    assert settings.needs_all_documents == (rule in ("pcut", "expected-f1") and not cross_validated)


@for_each("rule", ["rcut", "pcut"])
def test_the_number_of_categories_per_document_is_given_counted_or_tuned(rule):
    tune = {"rcut": tune_rcut, "pcut": tune_pcut}[rule]
    expected = {2.5: 2.5, "training": np.count_nonzero(LABELS) / 300, "tuned": tune(SCORES, LABELS)}
    for per_document, number in expected.items():
        settings = ThresholdSettings(rule=rule, per_document=per_document)
        assert set_categories_per_document(settings, SCORES, LABELS) == pytest.approx(number)


@for_each(
    "wrong",
    [
        {"rule": "tunned"},
        {"folds": 1},
        {"accept_nothing": -0.5},
        {"accept_everything": -0.5},
        {"fallback": 2},
        {"combination": "best"},
        {"treshold": 1},
        {"rule": "rcut", "at_least_one": True},
        {"rule": "pcut", "at_least_one": True},
        {"rule": "expected-f1", "at_least_one": True},
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        ThresholdSettings(**wrong)


def test_shrunk_thresholds_lie_between_the_shared_one_and_a_category_s_own() -> None:
    draw = np.random.default_rng(4)
    labels = draw.random((200, 4)) < np.array([0.5, 0.2, 0.02, 0.0])
    scores = labels + draw.normal(size=labels.shape) + np.array([0.0, 0.5, 1.0, 0.0])
    own = set_thresholds(ThresholdSettings(rule="scut"), scores, labels)
    shared = find_shared_threshold(scores, labels)
    shrunk = set_thresholds(ThresholdSettings(rule="scut", shrinkage=20), scores, labels)
    positives = labels.sum(axis=0)[:3]
    assert shrunk[:3] == pytest.approx(shared + (own[:3] - shared) * positives / (positives + 20))
    assert shrunk[3] == own[3]
    far = set_thresholds(ThresholdSettings(rule="scut", shrinkage=1e12), scores, labels)
    assert far[:3] == pytest.approx(shared)


def test_a_shared_threshold_may_accept_scores_of_any_size() -> None:
    scores = np.array([[3.0, -1e300], [-1e300, 2.0]])
    threshold = find_shared_threshold(scores, np.ones((2, 2), dtype=bool))
    assert (scores >= threshold).all()
    assert find_shared_threshold(np.array([[1.0], [0.0]]), np.ones((2, 1), dtype=bool)) == -0.5


def test_shrunk_thresholds_of_pcut_lie_between_the_shared_one_and_its_own() -> None:
    rule = {"rule": "pcut", "per_document": "tuned", **HELD_OUT}
    own, shrunk = (
        set_thresholds(ThresholdSettings(**rule, shrinkage=s), SCORES, LABELS) for s in (0.0, 20.0)
    )
    shared, positives = find_shared_threshold(SCORES, LABELS), LABELS.sum(axis=0)
    assert shrunk == pytest.approx(shared + (own - shared) * positives / (positives + 20))
    assert not np.allclose(own, shrunk)


@for_each("rule", ["default", "tuned", "scut", "scut-fbr", "break-even", "pcut"])
def test_at_least_one_adds_the_nearest_category_and_nothing_else(rule: str) -> None:
    settings = {"rule": rule, "value": 1.5, "fallback": 0, "cross_validated": True}
    without, with_one = (decided({**settings, "at_least_one": each}) for each in (False, True))
    empty = ~without.any(axis=1)
    assert 10 < empty.sum() < len(empty)
    assert np.array_equal(with_one[~empty], without[~empty])
    thresholds = set_thresholds(ThresholdSettings(**settings), SCORES, LABELS)
    assert np.array_equal(with_one[empty], accept_highest(SCORES - thresholds)[empty])


def test_a_category_that_accepts_nothing_is_not_the_nearest() -> None:
    one = ThresholdSettings(at_least_one=True)
    scores = np.array([[5.0, -2.0, -3.0], [5.0, 1.0, -3.0]])
    decisions = apply_threshold_rule(one, scores, np.array([np.inf, 0.0, 0.0]), np.zeros(3))
    assert decisions.tolist() == [[False, True, False], [False, True, False]]
    assert not apply_threshold_rule(one, scores, np.full(3, np.inf), np.zeros(3)).any()


@given(st.integers(0, 10_000))
def test_no_shared_threshold_is_better_where_each_document_gets_a_category(seed: int) -> None:
    draw = np.random.default_rng(seed)
    labels = draw.random((12, 3)) < 0.4
    labels[0, 0] = True
    scores = labels + draw.normal(size=labels.shape)

    def measure(threshold: float) -> float:
        settings = ThresholdSettings(value=threshold, at_least_one=True)
        decisions = apply_threshold_rule(settings, scores, np.full(3, threshold), np.zeros(3))
        return micro_f1(count_contingency(decisions, labels), 0)

    best = max(map(measure, [*scores.ravel(), scores.max() + 1.0]))
    assert measure(find_shared_threshold(scores, labels, at_least_one=True)) == pytest.approx(best)
