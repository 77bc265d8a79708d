"""Rules and calibrations on held-out scores of Reuters stories, against trying every threshold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from sklearn.preprocessing import normalize

from tests.learners.reuters_words import binary_words
from tests.loops import for_each
from textcat.evaluation.measures import count_contingency, measure_calibration, micro_f1
from textcat.linear import fit
from textcat.thresholds.calibration import CalibrationSettings, fit_calibration
from textcat.thresholds.rules import (
    ThresholdSettings,
    apply_threshold_rule,
    set_categories_per_document,
    set_thresholds,
)
from textcat.thresholds.tuning import apply_thresholds

TOPICS = ["earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship"]
FOLDS = 3


def machine(documents, labels):
    return fit(documents, labels, loss="hinge", prior="gaussian", lam=5e-4, algorithm="fast", tol=1e-4)


@pytest.fixture(scope="module")
def stories(mirror: Path):
    """Held-out scores and labels of 1,000 stories, test scores and labels of 500 more."""
    matrix, labels = binary_words(mirror, TOPICS)
    matrix = normalize(matrix)
    train, test = np.arange(1000), np.arange(1000, 1500)
    fold = train % FOLDS
    held_out = np.empty((len(train), len(TOPICS)))
    for k in range(FOLDS):
        model = machine(matrix[train[fold != k]], labels[train[fold != k]])
        held_out[fold == k] = model.scores(matrix[train[fold == k]])
    whole = machine(matrix[train], labels[train])
    return held_out, labels[train], whole.scores(matrix[test]), labels[test]


def decided(rule: dict, stories) -> np.ndarray:
    held_out, labels, scores, _ = stories
    settings = ThresholdSettings(cross_validated=True, **rule)
    calibration = fit_calibration(CalibrationSettings(), held_out, labels)
    thresholds = set_thresholds(settings, held_out, labels, None, calibration.probabilities(held_out))
    per_document = set_categories_per_document(settings, held_out, labels)
    return apply_threshold_rule(settings, scores, thresholds, labels.mean(axis=0), per_document=per_document)


def test_scut_is_the_best_of_all_thresholds(stories) -> None:
    held_out, labels, _, _ = stories
    thresholds = set_thresholds(ThresholdSettings(rule="scut", cross_validated=True), held_out, labels)
    accepted = apply_thresholds(held_out, thresholds)
    for k in range(len(TOPICS)):
        tried = [
            micro_f1(count_contingency(held_out[:, [k]] >= threshold, labels[:, [k]]), 0)
            for threshold in held_out[:, k]
        ]
        ours = micro_f1(count_contingency(accepted[:, [k]], labels[:, [k]]), 0)
        assert ours == pytest.approx(max(tried))


@for_each(
    "rule",
    [
        {"rule": "scut"},
        {"rule": "scut-fbr", "fallback": 0},
        {"rule": "scut-fbr", "fallback": 1},
        {"rule": "pcut", "per_document": "tuned"},
        {"rule": "pcut", "per_document": "training"},
        {"rule": "break-even"},
        {"rule": "expected-f1"},
    ],
)
def test_rules_fitted_on_held_out_scores_beat_the_learners_own_threshold(rule, stories) -> None:
    _, _, scores, labels = stories
    plain = micro_f1(count_contingency(scores >= 0.0, labels))
    assert micro_f1(count_contingency(decided(rule, stories), labels)) > plain


def test_rcut_gives_every_new_story_the_same_number(stories) -> None:
    found = decided({"rule": "rcut", "per_document": "tuned"}, stories)
    assert set(found.sum(axis=1)) == {1}


def test_pcut_keeps_the_shares_of_the_training_documents(stories) -> None:
    held_out, labels, _, _ = stories
    settings = ThresholdSettings(rule="pcut", per_document="training", cross_validated=True)
    accepted = apply_thresholds(held_out, set_thresholds(settings, held_out, labels))
    assert np.abs(accepted.sum(axis=0) - labels.sum(axis=0)).max() <= 1


@for_each("method", ["platt", "isotonic"])
def test_calibrated_probabilities_are_nearer_to_the_truth(method, stories) -> None:
    held_out, labels, scores, truth = stories
    calibration = fit_calibration(CalibrationSettings(method=method), held_out, labels)
    ours = measure_calibration(calibration.probabilities(scores), truth)
    raw = measure_calibration(expit(scores), truth)
    share = measure_calibration(np.broadcast_to(labels.mean(axis=0), truth.shape), truth)
    for measure in ("probability.brier", "probability.log_loss"):
        assert ours[measure] < min(raw[measure], share[measure])
