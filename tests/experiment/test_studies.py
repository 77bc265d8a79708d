"""Studies against plain counting and against the bounds that papers prove."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.experiment.own_table import results_of
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.evaluation.run_measures import EvaluationSettings
from textcat.experiment.spec.experiment import RunSettings
from textcat.experiment.steps.studies import (
    GAMMAS,
    STUDIES,
    StudyInput,
    study_margins,
    study_objectives,
    study_weights,
)
from textcat.experiment.steps.vectorize import Vectors

CATEGORIES = ["a", "b"]


@pytest.fixture
def subject() -> StudyInput:
    draw = np.random.default_rng(0)
    X, Y = draw.normal(size=(40, 5)), draw.random((40, 2)) < 0.4
    W = draw.normal(size=(5, 2))
    vectors = Vectors(X, X, csr_array(Y), csr_array(Y), CATEGORIES, list("vwxyz"), [""] * 40, [""] * 40)
    run = RunSettings(learner="linear", parameters={"lam": 0.01})
    return StudyInput(run, vectors, X @ W, X @ W, W, {})


def looking_at(subject: StudyInput, category: str) -> StudyInput:
    run = subject.run.model_copy(update={"evaluation": EvaluationSettings(study_category=category)})
    return replace(subject, run=run)


def test_margins_count_every_document_on_its_side(subject: StudyInput) -> None:
    found = study_margins(looking_at(subject, "a"))
    positives = int(subject.train_labels[:, 0].sum())
    assert sum(found.series["margins.counts"]) == 40
    assert sum(found.series["scores.positive"]) == positives
    assert sum(found.series["scores.negative"]) == 40 - positives
    assert 0 <= found.measures["margins.overlap"] <= 100


def test_the_upper_tail_is_beyond_three_deviations_on_the_right_side_only(subject: StudyInput) -> None:
    labels = csr_array(np.ones((1000, 2), dtype=bool))
    vectors = replace(subject.vectors, train_labels=labels, test_labels=labels)
    scores = np.ones((1000, 2))
    scores[:5], scores[5:11] = 50.0, -50.0
    found = study_margins(replace(looking_at(subject, "a"), vectors=vectors, train_scores=scores)).measures
    assert found["margins.upper_tail"] == found["margins.tail"] == pytest.approx(0.5)


def test_sides_that_are_apart_do_not_overlap_and_equal_ones_do_wholly(subject: StudyInput) -> None:
    labels = subject.train_labels
    apart = replace(subject, train_scores=np.where(labels, 1.0, -1.0))
    alike = replace(subject, train_scores=np.zeros(labels.shape))
    assert study_margins(apart).measures["margins.overlap"] == 0
    assert study_margins(alike).measures["margins.overlap"] == pytest.approx(100)


def test_the_approximation_lies_within_its_bounds_and_reaches_them_on_the_margin(subject: StudyInput) -> None:
    found = study_objectives(subject).measures
    assert found["approximation.least_excess"] >= 0
    assert found["approximation.greatest_excess_times_gamma"] <= np.log(2) + 1e-12
    signs = np.where(subject.train_labels, 1.0, -1.0)
    on_the_margin = study_objectives(replace(subject, train_scores=signs)).measures
    assert on_the_margin["approximation.greatest_excess_times_gamma"] == pytest.approx(np.log(2))
    assert on_the_margin["approximation.least_excess"] == pytest.approx(np.log(2) / GAMMAS[-1])


def test_the_svm_objective_is_its_definition(subject: StudyInput) -> None:
    found = study_objectives(subject).measures
    assert subject.weights is not None
    for column, category in enumerate(CATEGORIES):
        losses = [
            max(0.0, 1 - (1 if label else -1) * score)
            for score, label in zip(
                subject.train_scores[:, column], subject.train_labels[:, column], strict=True
            )
        ]
        expected = sum(losses) / 40 + 0.01 * sum(float(w) ** 2 for w in subject.weights[:, column])
        assert found[f"category.{category}.svm_objective"] == pytest.approx(expected)


def test_weights_are_named_and_fall_in_size(subject: StudyInput) -> None:
    series = study_weights(looking_at(subject, "b")).series
    sizes = np.abs(series["weights.values"])
    assert sorted(series["weights.terms"]) == list("vwxyz")
    assert (np.diff(sizes) <= 0).all()


@for_each("study", ["objectives", "weights"])
def test_what_has_no_weights_is_refused(study: Any, subject: StudyInput) -> None:
    with pytest.raises(UsageError):
        STUDIES[study](replace(subject, weights=None))


def test_a_category_that_is_not_there_is_refused(subject: StudyInput) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        study_margins(looking_at(subject, "nowhere"))


def test_the_course_of_a_descent_ends_where_its_model_is(tmp_path: Path) -> None:
    run = {"learner": "mfom", "parameters": {"iterations": 60, "trace": True}}
    settings = {
        "corpus": {"learn": ["red"]},
        "projection": {"dimensions": 10},
        "evaluation": {"studies": ["iterations"], "study_category": "red"},
        "runs": {"run": run},
    }
    found = results_of(tmp_path, settings)["runs"]["run"]
    course = found["series"]["iterations.train_f1"]
    assert len(course) == 60
    assert found["measures"]["category.red.train_f1_at_0"] == pytest.approx(course[0])
    assert found["measures"]["category.red.train_f1"] == pytest.approx(
        found["measures"]["train.micro.f1"], abs=5
    )
