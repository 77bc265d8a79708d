"""Hyperparameters found by cross-validation: for all categories together, and for each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experiment.own_table import carried_out, results_of
from textcat.errors import UsageError
from textcat.experiment.steps.models import load_model
from textcat.linear import fit
from textcat.linear.regularization import lam_from_laplace_rate, lam_from_variance

LINEAR: dict[str, Any] = {"learner": "linear", "parameters": {"loss": "logistic"}}


@pytest.mark.parametrize("criterion", ["micro.f1", "micro.bep", "accuracy", "log-likelihood", "errors"])
def test_the_value_with_the_best_sum_over_folds_is_chosen(criterion: str, tmp_path: Path) -> None:
    grid = [10.0, 1e-1, 1e-3]
    search = {"parameter": "lam", "grid": grid, "folds": 3, "criterion": criterion}
    single = criterion == "accuracy"
    settings = {"runs": {"run": {**LINEAR, "search": search}}, "corpus": {"single_label": single}}
    results = results_of(tmp_path, settings, single)
    found = results["runs"]["run"]["search"]
    sums = np.asarray(found["criterion"]).sum(axis=1)
    assert found["chosen"] == [grid[int(np.argmax(sums))]]
    assert results["runs"]["run"]["measures"]["chosen.lambda"] == found["chosen"][0]
    assert results["runs"]["run"]["settings"]["search"]["criterion"] == criterion


@pytest.mark.parametrize(
    ("prior", "parameter", "bare"),
    [("laplace", "rate", False), ("gaussian", "variance", False), ("gaussian", "variance", True)],
)
def test_each_category_is_trained_with_the_value_of_its_own(
    prior: str, parameter: str, bare: bool, tmp_path: Path
) -> None:
    grid = [0.1, 1.0, 10.0]
    search = {
        "parameter": parameter, "grid": grid, "folds": 4, "use": 2,
        "criterion": "log-likelihood", "per_category": True,
    }  # fmt: skip
    parameters = {"loss": "logistic", "prior": prior, "bare_variance": bare}
    run = {"learner": "linear", "parameters": parameters, "search": search}
    plan, context, _ = carried_out(tmp_path, {"runs": {"run": run}})
    chain = plan.chains[0]
    from textcat.store.arrays import read_json

    folder = chain.trained.build_folder(context)
    model, found = load_model(folder), read_json(folder, "search")
    problem = chain.assemble_problem(context)
    documents = problem.X.shape[0]
    likelihood = np.asarray(found["criterion"])
    for column, value in enumerate(found["chosen"]):
        assert value == found["grid"][int(np.argmax(likelihood[:, column]))]
        if parameter == "rate":
            lam = lam_from_laplace_rate(value, documents)
        else:
            lam = lam_from_variance(value, documents, "gaussian", bare)
        alone = fit(problem.X, problem.labels[:, [column]], "logistic", prior, lam, seed=1)
        np.testing.assert_allclose(
            model.scores(problem.X)[:, column], alone.scores(problem.X)[:, 0], rtol=0.02, atol=0.02
        )


def test_each_category_by_anything_but_likelihood_is_refused(tmp_path: Path) -> None:
    search = {"parameter": "rate", "grid": [1.0], "per_category": True, "criterion": "micro.f1"}
    with pytest.raises(UsageError, match="log-likelihood"):
        carried_out(tmp_path, {"runs": {"run": {**LINEAR, "search": search}}})


def test_a_learner_without_a_search_of_its_own_says_so(tmp_path: Path) -> None:
    search = {"parameter": "lam", "grid": [1.0], "per_category": True, "criterion": "log-likelihood"}
    with pytest.raises(UsageError, match="cannot search for each category"):
        carried_out(tmp_path, {"runs": {"run": {"learner": "naive_bayes", "search": search}}})


def test_learning_some_categories_leaves_their_models_as_they_are_among_all(tmp_path: Path) -> None:
    run = {"learner": "linear", "parameters": {"loss": "logistic", "lam": 1e-2}}
    every = results_of(tmp_path, {"runs": {"run": run}})["runs"]["run"]["measures"]
    some = results_of(tmp_path, {"runs": {"run": run}, "corpus": {"learn": ["blue", "red"]}})
    assert list(some["corpus"]["train_counts"]) == ["blue", "red"]
    for category in ("blue", "red"):
        name = f"category.{category}.f1"
        assert some["runs"]["run"]["measures"][name] == pytest.approx(every[name])
