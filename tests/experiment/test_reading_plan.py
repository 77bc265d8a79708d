"""Readings become experiments: patches are valid settings, and the experiment files hold the reconstructed reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiment.small import write_small_collection
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.experiment.run.reading_plan import (
    ReadableExperiment,
    apply_patch,
    check_patch_path,
    load_under_reading,
    project_reading,
)
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.experiment.spec.loading import load_experiment
from textcat.published.printed_tables import PAPERS
from textcat.published.readings import find_reading, load_readings, read_readings

OWN = """
questions:
  words:
    question: What is a word?
    where: section 1
    says: Nothing.
    options:
      letters: {patch: {text.tokenizer: alphabetic}, support: none, simplest: true, because: plain}
      digits: {patch: {text.tokenizer: alphanumeric}, support: none, because: plain}
      inner: {patch: {text.tokenizer: words}, support: none, because: plain}
  rare:
    question: Are rare words dropped?
    where: section 1
    says: Nothing.
    options:
      dropped: {patch: {vector.minimum_documents: 2}, support: paper, because: said}
      kept: {patch: {vector.minimum_documents: 1}, support: none, because: plain}
  ties:
    question: Which threshold?
    where: section 2
    says: Nothing.
    options:
      lowest: {patch: {threshold.point: lowest}, support: none, because: plain}
      midpoint: {patch: {threshold.point: midpoint}, support: none, simplest: true, because: plain}
  nothing:
    question: Does this matter here?
    where: section 3
    says: Nothing.
    options:
      once: {patch: {"runs.learner:mfom.parameters.depth": 1}, support: none, because: plain}
      twice: {patch: {"runs.learner:mfom.parameters.depth": 2}, support: none, because: plain}
"""


def load_small(folder: Path) -> ReadableExperiment:
    file = write_small_collection(folder)
    own = folder / "own.yaml"
    own.write_text(OWN)
    return ReadableExperiment.load(str(file), read_readings(own))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_option_of_a_paper_is_a_valid_experiment_and_every_question_matters_somewhere(
    paper: str,
) -> None:
    readings = load_readings(paper)
    mattering: set[str] = set()
    for name in find_experiment_files():
        if load_experiment(name).paper != paper:
            continue
        effective = ReadableExperiment.load(name, readings).find_effective_options()
        for question, same in effective.items():
            assert readings.questions[question].literal in same.values()
        mattering |= effective.keys()
    several = {name for name, question in readings.questions.items() if len(question.tried) > 1}
    assert mattering == several


@for_each(
    ("path", "message"),
    [
        ("text.stemming", "stemming"),
        ("text.stem.letters", "has no parts"),
        ("runs.svm", "runs.WHICH.KEY"),
        ("runs.*.parameters", "one by one"),
        ("runs.*.parameters.lambda", "lambda"),
        ("runs.learner:SVM.parameters.lam", "no such learner"),
        ("runs.learner:CLG.parameters.options.ordering", "Did you mean order"),
        ("runs.*.selections.scope", "selections"),
    ],
)
def test_a_path_that_no_experiment_has_is_refused(path: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_patch_path(path)


def test_a_patch_selects_runs_by_learner_and_leaves_absent_sections_out() -> None:
    data = {"runs": {"a": {"learner": "CLS"}, "b": {"learner": "smo", "parameters": {"lam": 1.0}}}}
    patch = {"runs.learner:smo.parameters.lam": 2.0, "projection.length": 1.0, "runs.*.parameters.passes": 3}
    patched = apply_patch(data, patch)
    assert patched == {
        "runs": {
            "a": {"learner": "CLS", "parameters": {"passes": 3}},
            "b": {"learner": "smo", "parameters": {"lam": 2.0}},
        }
    }
    assert data["runs"]["b"]["parameters"]["lam"] == 1.0


def test_a_patch_selects_runs_by_pattern() -> None:
    data = {
        "runs": {"f1_100": {"learner": "mfom"}, "mce_100": {"learner": "mfom"}, "last": {"learner": "mfom"}}
    }
    patched = apply_patch(data, {"runs.f1_*|last.parameters.depth": 2})
    assert [run.get("parameters") for run in patched["runs"].values()] == [{"depth": 2}, None, {"depth": 2}]


SHARED = """
questions:
  scope:
    question: Whose features?
    where: section 1
    says: Nothing.
    options:
      own: {patch: {selection.scope: category}, support: paper, because: said}
      common: {patch: {selection.scope: common}, support: none, because: plain}
  bayes:
    question: Which features does naive Bayes see?
    where: section 2
    says: Nothing.
    options:
      as_others: {patch: {}, support: paper, because: said}
      own: {patch: {"runs.first.selection.scope": category}, support: none, because: plain}
"""


def test_a_setting_that_only_other_options_name_is_left_out(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(SHARED)
    experiment = ReadableExperiment.load(str(write_small_collection(tmp_path)), read_readings(own))
    run = next(iter(experiment.source.data["runs"]))
    own.write_text(SHARED.replace("runs.first", f"runs.{run}"))
    experiment = replace(experiment, readings=read_readings(own))

    def scopes(**reading: str) -> list[str]:
        return [each.selection.scope for each in experiment.apply(reading).runs.values()]

    others = len(experiment.committed.runs) - 1
    assert scopes(scope="common", bayes="own") == ["category"] + ["common"] * others
    # The file may hold another answer: then a run's own setting is removed.
    experiment.source.data["runs"][run]["selection"] = {"scope": "max"}
    assert scopes(scope="common", bayes="as_others") == ["common"] * (others + 1)
    # Both answers on naive Bayes are the same by default, and differ where all share one threshold.
    assert set(experiment.find_effective_options()["bayes"].values()) == {"as_others", "own"}


def test_the_committed_file_is_one_of_the_readings(tmp_path: Path) -> None:
    experiment = load_small(tmp_path)
    committed = experiment.find_committed_options()
    assert committed == {"words": None, "rare": "dropped", "ties": "midpoint", "nothing": "once"}
    assert project_reading({"words": "digits", "nothing": "twice"}, {"words": {"digits": "digits"}}) == {
        "words": "digits"
    }
    patched = experiment.apply({"words": "inner"})
    assert patched.text.tokenizer == "words"
    assert {run.vector.minimum_documents for run in patched.runs.values()} == {2}


OTHERWISE = {
    # The constants were found with the literal answer.
    "zhang_2000/cost": {"scope"},
    # What other answers do, beside table 5.
    "zhang_oles_2001/headers_dropped_20newsgroups": {"headers"},
    "zhang_oles_2001/headers_without_groups_20newsgroups": {"headers"},
}
"""Experiments that are not the reconstructed reading, with the questions they answer otherwise."""


@pytest.mark.parametrize("paper", PAPERS)
def test_the_experiments_of_a_paper_are_its_reconstructed_reading(paper: str) -> None:
    readings = load_readings(paper)
    reconstructed = find_reading("reconstructed", readings)
    different = {}
    for name in find_experiment_files():
        if load_experiment(name).paper != paper:
            continue
        experiment = ReadableExperiment.load(name, readings)
        departures = set(experiment.find_departures(reconstructed))
        same = experiment.identify(experiment.apply(reconstructed)) == experiment.identify(
            experiment.committed
        )
        assert same == (not departures)
        if departures:
            different[name] = departures
    assert different == {name: OTHERWISE[name] for name in OTHERWISE if load_experiment(name).paper == paper}


def test_a_reading_that_is_asked_for_changes_the_settings_of_a_papers_experiment() -> None:
    name = "zhang_jin_2003/table2_reuters"
    literal = load_under_reading(name, "literal")
    assert (literal.reading, literal.name, literal.text.stem) == ("literal", name, "porter_martin")
    other = load_under_reading(name, "stemming=none,scope=each_category")
    assert (other.text.stem, other.selection.scope) == ("none", "category")
    assert other.reading == "stemming=none,scope=each_category"


@for_each(
    ("name", "reading", "message"),
    [
        ("zhang_jin_2003/table2_reuters", "stemming=some", "not a reading: stemming=some"),
        ("zhang_jin_2003/table2_reuters", "nearest", "Write literal, reconstructed, held-out"),
        (
            "zhang_jin_2003/figure2",
            "held-out",
            "there is no held-out reading of an experiment without a table",
        ),
        ("practice/clinc150", "literal", "there are no readings for this experiment"),
    ],
)
def test_a_reading_that_nobody_knows_is_refused(name: str, reading: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        load_under_reading(name, reading)
    assert message in f"{error.value}"
