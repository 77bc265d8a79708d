"""A pruned run, from the setting to the model directory that predicts and explains."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.experiment.place import Place
from textcat.evaluation.measures import count_contingency, micro_f1
from textcat.experiment.run.results_file import read_results
from textcat.experiment.steps import train
from textcat.experiment.steps.learner import LearningProblem, find_learner
from textcat.experiment.steps.linear_learner import FOLDS, MAX_LOSS
from textcat.learners.parameters import validate_parameters
from textcat.serving.categorizer import read_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.explain import compute_contributions, find_strongest_terms
from textcat.serving.predict import predict_lines
from textcat.splits import assign_folds
from textcat.store.arrays import read_json

RUNS = """
  pruned: {learner: linear, parameters: {loss: squared_hinge, cost: 1, algorithm: fast, prune: 0.05}}
  whole: {learner: linear, parameters: {loss: squared_hinge, cost: 1, algorithm: fast}}
"""


def test_a_parameter_that_is_not_used_is_not_in_recipes() -> None:
    assert "prune" not in validate_parameters("linear", {}).model_dump(mode="json")
    assert validate_parameters("linear", {"prune": 0.02}).model_dump(mode="json")["prune"] == 0.02


@pytest.mark.parametrize("at_once", [512, 2])
def test_a_pruned_run_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(train, "PRUNED_AT_ONCE", at_once)
    place = Place(tmp_path)
    head = (
        place.experiment.read_text()
        .partition("runs:")[0]
        .replace("rule: tuned", "rule: tuned, cross_validated: true")
    )
    place.experiment.write_text(head + "runs:" + RUNS)
    place.textcat("run", str(place.experiment))
    runs = read_results(place.report)["runs"]
    shares = [entry["pruned_share"] for entry in runs["pruned"]["certificates"]]
    assert len(shares) == 3 and max(shares) > 0
    assert "pruned_share" not in runs["whole"]["certificates"][0]
    assert runs["pruned"]["measures"]["features.mean"] < runs["whole"]["measures"]["features.mean"]
    place.textcat("train", str(place.experiment))
    categorizer, whole = (
        read_categorizer(place.data / "models" / "trial" / name) for name in ("pruned", "whole")
    )
    assert sp.issparse(categorizer.model.coef) and categorizer.model.coef.dtype == np.float32
    document = NewDocument("1", {"title": "wheat", "body": "wheat corn harvest"})
    (line,) = predict_lines(categorizer, [document])
    assert json.loads(line)["labels"] == ["grain"]
    names = [part.term for part in find_strongest_terms(categorizer, "grain", 5)[0]]
    assert names == [part.term for part in find_strongest_terms(whole, "grain", 5)[0]]
    parts = compute_contributions(categorizer, "grain", document)
    column = list(categorizer.categories).index("grain")
    total = sum(part.weight for part in parts) + categorizer.model.intercept[column]
    assert total == pytest.approx(categorizer.scores([document])[0, column])


def make_problem(categories: int = 30) -> LearningProblem:
    """Documents with a word of their category each, one strong and many weak words."""
    random = np.random.default_rng(5)
    labels = random.random((400, categories)) < np.linspace(0.3, 0.02, categories)
    noise = sp.random_array((400, 60), density=0.2, rng=random, format="csr")
    own = sp.csr_array((labels & (random.random(labels.shape) < 0.9)).astype(np.float64))
    return LearningProblem(sp.csr_array(sp.hstack([own, 0.3 * noise])), labels, None, 1)


def test_auto_takes_the_largest_threshold_before_one_that_costs() -> None:
    problem = make_problem()
    parameters = validate_parameters(
        "linear", {"loss": "squared_hinge", "cost": 1, "algorithm": "fast", "prune": "auto"}
    )
    learner = find_learner("linear")
    choice = learner.choose_parameters(problem, parameters, 1)["prune"]
    whole, *grid = choice.grid
    assert whole["threshold"] == 0.0 and choice.value > 0
    names = [name for name in whole if name not in ("threshold", "dropped")]
    assert len(names) == 4
    cost = [max(whole[name] - entry[name] for name in names) for entry in grid]
    free = [entry["threshold"] for entry, lost in zip(grid, cost, strict=True) if lost <= MAX_LOSS]
    first = next((k for k, lost in enumerate(cost) if lost > MAX_LOSS), len(grid))
    assert 0 < first < len(grid) and choice.value == grid[first - 1]["threshold"] == free[first - 1]
    model = learner.fit(problem, parameters, 1)
    assert model.settings["prune"] == choice.value and sp.issparse(model.coef)
    assert np.abs(model.coef.data).min() >= np.float32(choice.value)


def test_the_measures_of_the_grid_are_those_of_pruned_models() -> None:
    problem = make_problem(8)
    given = {"loss": "squared_hinge", "cost": 1, "algorithm": "fast"}
    learner = find_learner("linear")
    auto = validate_parameters("linear", {**given, "prune": "auto"})
    entry = learner.choose_parameters(problem, auto, 1)["prune"].grid[3]
    numbers = assign_folds(len(problem.labels), FOLDS, seed=problem.seed)
    kept, held = (problem.rows(np.flatnonzero(part)) for part in (numbers != 0, numbers == 0))
    model = learner.fit(kept, validate_parameters("linear", {**given, "prune": entry["threshold"]}), 1)
    scores = model.scores(held.X)
    assert entry["micro.f1"] == pytest.approx(micro_f1(count_contingency(scores >= 0, held.labels)))
    best = held.labels[np.arange(len(scores)), scores.argmax(axis=1)][held.labels.any(axis=1)]
    assert entry["precision@1"] == pytest.approx(100 * best.mean())


def test_an_auto_pruned_run_has_one_threshold_for_all_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "PRUNED_AT_ONCE", 2)
    place = Place(tmp_path)
    head = place.experiment.read_text().partition("runs:")[0]
    place.experiment.write_text(head + "runs:" + RUNS.replace("prune: 0.05", "prune: auto"))
    place.textcat("run", str(place.experiment))
    run = read_results(place.report)["runs"]["pruned"]
    (folder,) = (path.parent for path in (place.data / "cache" / "train").glob("*/prune.json"))
    assert run["measures"]["chosen.prune"] == read_json(folder, "prune")["value"]
    assert read_json(folder, "part0")["settings"].get("prune", 0.0) == run["measures"]["chosen.prune"]
    assert read_json(folder, "part1")["settings"].get("prune", 0.0) == run["measures"]["chosen.prune"]
