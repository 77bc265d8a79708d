"""On coin-flip labels whatever is held out is at chance; so it is where each document is there twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.held_out.noise import (
    CHANCE,
    LINEAR,
    carry_out,
    make_experiment,
    measure_accuracy,
    score_held_out,
    write_noise,
)
from textcat.errors import UsageError
from textcat.experiment.context import RunContext
from textcat.experiment.run.results import collect_results
from textcat.experiment.steps.decide import read_calibration
from textcat.experiment.tune.session import TuneResult, TuneSettings, tune_experiment
from textcat.selection import SCORES
from textcat.store.arrays import read_json

SELECTION = {"score": "chi_square", "features": 300}
LEARNERS: dict[str, dict[str, Any]] = {
    "linear": LINEAR,
    "CLS": {},
    "CMLS": {},
    "CLG": {},
    "CLG-lasso": {"lam": 1e-3},
    "modified-SVM": {},
    "smo": {"cost": 1.0},
    "naive_bayes": {},
    "naive_bayes_multiclass": {},
    "perceptron": {},
    "dual_svm": {"cost": 1.0},
    "winnow": {},
    "large_margin_winnow": {"cost": 1.0},
    "softmax": {},
    "mmlr_cg": {"lam": 1e-3},
    "label_tree": {},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table and what was counted of it."""
    return tmp_path_factory.mktemp("noise")


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table in which each training document is there twice."""
    folder = tmp_path_factory.mktemp("twins")
    write_noise(folder / "noise.csv", copies=2)
    return folder


def measure(folder: Path, **settings: Any) -> float:
    """Return the held-out accuracy of a run."""
    plan, context = carry_out(folder, make_experiment(folder, **settings), "train")
    return measure_accuracy(*score_held_out(plan.chains[0], context))


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_is_at_chance_with_selected_terms(place: Path, learner: str) -> None:
    runs = {"only": {"learner": learner, "parameters": LEARNERS[learner]}}
    assert abs(measure(place, runs=runs, selection=SELECTION) - 50) < CHANCE


@pytest.mark.parametrize(
    ("score", "scope"),
    [*((score, "category") for score in SCORES), ("chi_square", "common"), ("chi_square", "max")],
)
def test_every_selection_is_at_chance(place: Path, score: str, scope: str) -> None:
    selection = {"score": score, "features": 300, "scope": scope}
    assert abs(measure(place, selection=selection) - 50) < CHANCE


@pytest.mark.parametrize(
    "settings",
    [
        {"projection": {"dimensions": 20}},
        {"options": {"label_names": True}, "selection": SELECTION},
        {"selection": {"features": 300, "candidates": "positive"}},
        {"vector": {"weighting": "entropy_share", "minimum_documents": 2}, "selection": SELECTION},
        {"text": {"fields": ["text"], "groups": [{"ngrams": [1, 1]}, {"ngrams": [2, 2]}]}, "selection": SELECTION},
        {"runs": {"only": {"learner": "linear", "parameters": LINEAR | {"prune": "auto"}}}, "selection": SELECTION},
    ],
    ids=["projection", "label names", "positive", "entropy", "groups", "pruned"],
)  # fmt: skip
def test_whatever_makes_features_is_at_chance(place: Path, settings: dict[str, Any]) -> None:
    assert abs(measure(place, **settings) - 50) < CHANCE


def test_selection_once_is_not_at_chance(place: Path) -> None:
    """The same measurement sees what is learned from all documents: it would fail for every setting above."""
    data = make_experiment(place, selection=SELECTION)
    run = data.runs["only"]
    once = run.model_copy(update={"selection": run.selection.model_copy(update={"folds": "once"})})
    plan, context = carry_out(place, data.model_copy(update={"runs": {"only": once}}), "train")
    assert measure_accuracy(*score_held_out(plan.chains[0], context)) > 50 + 4 * CHANCE


def test_own_documents_have_no_choice(place: Path) -> None:
    with pytest.raises(UsageError, match="held-out values of your own documents would be too high"):
        make_experiment(place, selection=SELECTION | {"folds": "once"})


def test_a_search_is_at_chance(place: Path) -> None:
    search = {"parameter": "cost", "grid": [0.1, 1, 10], "folds": 5, "criterion": "accuracy"}
    runs = {"only": {"learner": "linear", "parameters": LINEAR, "search": search}}
    plan, context = carry_out(place, make_experiment(place, runs=runs, selection=SELECTION), "train")
    criterion = read_json(plan.chains[0].trained.build_folder(context), "search")["criterion"]
    assert np.abs(np.mean(criterion, axis=1) - 50).max() < CHANCE


def test_a_search_for_each_category_finds_nothing_better_than_chance(place: Path) -> None:
    grid = [1e-4, 1e-2, 1.0, 100.0]
    search = {"parameter": "variance", "grid": grid, "criterion": "log-likelihood", "per_category": True}
    runs = {"only": {"learner": "CLG-ridge", "search": search}}
    plan, context = carry_out(place, make_experiment(place, runs=runs, selection=SELECTION), "train")
    found = read_json(plan.chains[0].trained.build_folder(context), "search")
    # A coin is predicted with the likelihood ln 2, and by a leak with more.
    assert np.max(found["criterion"]) / 300 < -np.log(2) + 0.01


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_probabilities_and_rejection_are_at_chance(place: Path, method: str) -> None:
    experiment = make_experiment(
        place, selection=SELECTION, calibration={"method": method}, reject={"coverage": 0.9}
    )
    plan, context = carry_out(place, experiment)
    measures = collect_results(plan, context)["runs"]["only"]["measures"]
    # Of 100 test documents.
    assert measures["probability.calibration_error"] < 0.15
    assert measures["reject.answered"] > 75
    chain = plan.chains[0]
    assert chain.calibrated is not None and chain.settings.calibration is not None
    calibration = read_calibration(chain.calibrated.build_folder(context), chain.settings.calibration, 2)
    probabilities = calibration.probabilities(score_held_out(chain, context)[0])
    best = probabilities / probabilities.sum(axis=1, keepdims=True)
    assert best.max(axis=1).mean() < 0.6


def tune(folder: Path, *, several: bool = False, **settings: Any) -> TuneResult:
    """Search a few configurations."""
    experiment = make_experiment(folder, several=several)
    chosen = TuneSettings(**{"folds": 3, "configurations": 2, **settings})
    return tune_experiment(experiment, RunContext(folder / "data"), chosen, folder / "out")


@pytest.mark.parametrize("copies", [1, 2])
def test_whatever_tune_prints_is_at_chance(tmp_path: Path, copies: int) -> None:
    write_noise(tmp_path / "noise.csv", copies=copies)
    report = tune(tmp_path).report
    assert len(report["candidates"]) == 2
    for candidate in report["candidates"]:
        for values in candidate["paths"].values():
            for rules in values.values():
                assert abs(rules["default"] - 50) < 2 * CHANCE
    assert abs(report["best"]["value"] - 50) < CHANCE
    curve = report["learning_curve"]
    assert np.abs(np.array(curve["values"]) - 50).max() < 1.5 * CHANCE
    assert curve["documents"] == sorted(curve["documents"])
    assert report["calibration"]["error"] < 10
    assert all(each["probability"] < 0.7 for each in report["label_errors"])


@pytest.mark.parametrize("copies", [1, 2])
def test_thresholds_of_tune_are_at_chance(tmp_path: Path, copies: int) -> None:
    write_noise(tmp_path / "noise.csv", several=True, copies=copies)
    report = tune(tmp_path, several=True).report
    # Accepting everything has this micro F1 for labels of which 40 percent are given.
    blind = 100 * 2 * 0.4 / 1.4
    assert all(value < blind + CHANCE / 2 for value in report["best"]["held_out"].values())
    assert report["best"]["value"] > blind - CHANCE
    assert report["calibration"]["error"] < 10
    assert np.array(report["learning_curve"]["values"]).max() < blind + CHANCE


@pytest.mark.parametrize("learner", ["linear", "naive_bayes", "softmax"])
def test_documents_that_are_there_twice_do_not_help(twins: Path, learner: str) -> None:
    runs = {"only": {"learner": learner, "parameters": LEARNERS[learner]}}
    assert abs(measure(twins, runs=runs) - 50) < CHANCE


def test_test_documents_drawn_at_random_have_no_twin(tmp_path: Path) -> None:
    write_noise(tmp_path / "noise.csv", copies=2, sides=False)
    plan, context = carry_out(tmp_path, make_experiment(tmp_path))
    results = collect_results(plan, context)
    assert results["corpus"]["test_documents"] == 150
    assert abs(results["runs"]["only"]["measures"]["accuracy"] - 50) < 1.5 * CHANCE
