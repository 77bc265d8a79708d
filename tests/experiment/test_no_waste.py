"""Work is done once: documents are read, counted and weighted once however many runs share them, a grid is a path."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experiment.own_table import carried_out
from tests.experiment.small import write_small_collection
from textcat.corpora import open_corpus
from textcat.experiment.context import RunContext
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.learner import LearningProblem
from textcat.experiment.steps.learners import find_learner
from textcat.learners.parameters import validate_parameters
from textcat.linear import training
from textcat.store import arrays
from textcat.text.vectorizer import Vectorizer


class Watched:
    """Calls of functions, counted by name while they do what they always do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: Counter[str] = Counter()
        self._monkeypatch = monkeypatch

    def watch(self, owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def counted(*args: Any, **settings: Any) -> Any:
            self.calls[name] += 1
            return original(*args, **settings)

        self._monkeypatch.setattr(owner, name, counted)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


def test_no_stage_reads_counts_or_weighs_twice(tmp_path: Path, watched: Watched) -> None:
    from textcat.experiment.steps import tokenize

    path = write_small_collection(tmp_path)
    search = "search: {parameter: lam, grid: [0.1, 0.01], folds: 3}"
    linear = "{learner: linear, parameters: {loss: logistic}, " + search + "}"
    path.write_text(path.read_text() + f"  searched: {linear}\n  held_out:\n    learner: CLG\n")
    path.write_text(path.read_text() + "    threshold: {rule: tuned, cross_validated: true, folds: 3}\n")
    context = RunContext(tmp_path / "data")
    watched.watch(tokenize, "open_corpus")
    watched.watch(tokenize, "count_terms")
    watched.watch(Vectorizer, "transform")
    plan, _ = run_experiment(load_experiment(path), context)
    assert len(plan.chains) == 6
    assert watched.calls == {"open_corpus": 1, "count_terms": 1, "transform": 2}
    run_experiment(load_experiment(path), RunContext(tmp_path / "data"))
    assert watched.calls == {"open_corpus": 1, "count_terms": 1, "transform": 2}
    assert sum(1 for _ in open_corpus("jsonl", tmp_path / "documents.jsonl", **dict(
        plan.experiment.corpus.options)).documents()) == 240  # fmt: skip


def problem_of(tmp_path: Path) -> LearningProblem:
    tmp_path.mkdir(exist_ok=True)

    run = {"learner": "linear", "parameters": {"loss": "logistic", "lam": 0.01}}
    plan, context, _ = carried_out(tmp_path, {"runs": {"run": run}})
    chain = plan.chains[0]
    return chain.assemble_problem(context)


def fit_grid(
    name: str, parameters: dict[str, Any], searched: str, values: list[Any], problem: LearningProblem
) -> list[Any]:
    grid = [validate_parameters(name, {**parameters, searched: value}) for value in values]
    return find_learner(name).fit_grid(problem, grid, searched, 1)


GRID = [1e-4, 1e-1, 1e-3, 1e-2]


@pytest.mark.parametrize("algorithm", ["fast", "column", "row"])
def test_a_grid_is_a_path_over_one_matrix(
    algorithm: str, tmp_path: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(tmp_path)
    starts: list[tuple[float, bool]] = []
    train = training.train

    def noted(X: Any, Y: Any, settings: Any) -> Any:
        starts.append((float(np.asarray(settings.lam)), settings.init is not None))
        return train(X, Y, settings)

    monkeypatch.setattr(sys.modules["textcat.linear.fit"], "train", noted)
    watched.watch(training, "make_matrix_with_bias")
    parameters = {"loss": "logistic", "algorithm": algorithm}
    models = fit_grid("linear", parameters, "lam", GRID, problem)
    assert starts == [(0.1, False), (0.01, True), (0.001, True), (0.0001, True)]
    assert watched.calls["make_matrix_with_bias"] == 1
    for lam, model in zip(GRID, models, strict=True):
        (alone,) = fit_grid("linear", parameters, "lam", [lam], problem)
        objectives = [[each["objective"] for each in one.describe()["certificate"]] for one in (model, alone)]
        assert objectives[0] == pytest.approx(objectives[1], rel=2e-6)


def test_a_start_changes_nothing_where_passes_are_counted(tmp_path: Path) -> None:
    problem = problem_of(tmp_path)
    parameters = {"passes": 3}
    for lam, model in zip(GRID, fit_grid("CLG", parameters, "lam", GRID, problem), strict=True):
        (alone,) = fit_grid("CLG", parameters, "lam", [lam], problem)
        assert np.array_equal(model.to_arrays()["coef"], alone.to_arrays()["coef"])


def test_what_is_no_strength_of_the_prior_is_no_path(tmp_path: Path) -> None:
    problem = problem_of(tmp_path)
    few, many = fit_grid("linear", {"loss": "logistic", "lam": 0.01}, "passes", [1, 50], problem)
    assert few.describe()["certificate"][0]["passes"] == 1
    assert many.describe()["certificate"][0]["passes"] > 1


def test_large_vectors_are_mapped_and_score_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = problem_of(tmp_path / "read")
    monkeypatch.setattr(arrays, "LARGE_MATRIX_BYTES", 10)
    mapped = problem_of(tmp_path / "mapped")
    assert isinstance(mapped.X.data, np.memmap)
    assert not isinstance(read.X.data, np.memmap)
    assert (read.X != mapped.X).nnz == 0
