"""The one door: every rule by its settings, from held-out scores to decisions."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from textcat.errors import UsageError
from textcat.thresholds.cuts import apply_thresholds
from textcat.thresholds.proportional import accept_top_documents, rcut, scut_fbr
from textcat.thresholds.rules import (
    ThresholdSettings,
    apply_threshold_rule,
    set_categories_per_document,
    set_thresholds,
)
from textcat.thresholds.tuning import TuningRule, tune_thresholds

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


def test_scut_goes_by_f1_unless_told_otherwise():
    by_f1 = apply_thresholds(SCORES, tune_thresholds(SCORES, LABELS, TuningRule(criterion="f1")))
    by_errors = apply_thresholds(SCORES, tune_thresholds(SCORES, LABELS, TuningRule()))
    assert not np.array_equal(by_f1, by_errors)
    assert np.array_equal(decided({"rule": "scut"}), by_f1)
    assert np.array_equal(decided({"rule": "tuned", "criterion": "f1"}), by_f1)
    assert np.array_equal(decided({"rule": "scut", "criterion": "errors"}), by_errors)
    assert np.array_equal(decided({"rule": "tuned"}), by_errors)
    assert ThresholdSettings(rule="scut-fbr").criterion == "f1"


@pytest.mark.parametrize("fallback", [0, 1])
def test_scut_fbr_falls_back_as_it_is_told(fallback):
    settings = {"rule": "scut-fbr", "fallback": fallback, "least_f1": 60.0}
    expected = scut_fbr(SCORES, LABELS, 60.0, fallback, ThresholdSettings(**settings).tuning)
    assert np.array_equal(decided(settings), apply_thresholds(SCORES, expected))


@pytest.mark.parametrize(
    ("per_document", "categories"), [(1.0, 1), (1.49, 1), (1.5, 2), (0.1, 1), (99.0, 4), ("training", 1)]
)
def test_rcut_gives_whole_numbers_of_categories(per_document, categories):
    assert np.array_equal(decided({"rule": "rcut", "per_document": per_document}), rcut(SCORES, categories))


def test_pcut_on_a_set_takes_its_shares():
    found = decided({"rule": "pcut", "per_document": "training"})
    assert found.sum(axis=0).tolist() == LABELS.sum(axis=0).tolist()
    assert np.array_equal(found, accept_top_documents(SCORES, LABELS.sum(axis=0).astype(float)))


@pytest.mark.parametrize("rule", ["pcut", "expected-f1"])
def test_cross_validated_rules_decide_each_document_for_itself(rule):
    settings = ThresholdSettings(rule=rule, per_document="tuned", **HELD_OUT)
    assert not settings.needs_all_documents
    probabilities = 1 / (1 + np.exp(-SCORES))
    thresholds = set_thresholds(settings, SCORES, LABELS, None, probabilities)
    whole = apply_threshold_rule(settings, SCORES, thresholds, PRIORS, probabilities=probabilities)
    alone = [
        apply_threshold_rule(settings, SCORES[[i]], thresholds, PRIORS, probabilities=probabilities[[i]])
        for i in range(len(SCORES))
    ]
    assert np.array_equal(np.vstack(alone), whole)
    assert whole.any()


def test_on_a_set_and_fixed_expected_f1_agree_on_the_documents_they_were_set_on():
    probabilities = 1 / (1 + np.exp(-SCORES))
    on_set = decided({"rule": "expected-f1"}, probabilities)
    fixed = decided({"rule": "expected-f1", **HELD_OUT}, probabilities)
    assert np.array_equal(on_set, fixed)


def test_expected_f1_without_probabilities_says_what_to_do():
    with pytest.raises(UsageError, match="none of its own") as caught:
        decided({"rule": "expected-f1"})
    assert "calibration" in caught.value.hint


@pytest.mark.parametrize("per_document", [0, -1.0, "some"])
def test_a_number_of_categories_is_above_zero(per_document):
    with pytest.raises(ValidationError):
        ThresholdSettings(rule="rcut", per_document=per_document)
