"""What decides the key of a trained model: the decision rule of a search, and the version of an algorithm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.loops import for_each
from textcat.experiment.run.plan import make_plan
from textcat.experiment.spec.experiment import Experiment
from textcat.linear.training import ALGORITHMS


def find_key(**run: Any) -> str:
    """Return the key of the model of an experiment with this run."""
    corpus = {"name": "reuters21578"}
    experiment = Experiment.model_validate(
        {"name": "small", "title": "Small", "corpus": corpus, "runs": {"one": run}}
    )
    return make_plan(experiment, Path("unread"), "fingerprint").chains[0].trained.recipe.key


LINEAR = {"loss": "logistic", "prior": "gaussian", "cost": 1.0}


@for_each(
    ("learner", "parameters", "changes"),
    [
        ("linear", LINEAR | {"algorithm": "fast"}, True),
        ("linear", LINEAR | {"algorithm": "row"}, False),
        ("linear", LINEAR | {"algorithm": None}, False),
        ("label_tree", {}, True),
        ("naive_bayes", {}, False),
        ("softmax", {}, False),
    ],
)
def test_models_of_an_algorithm_are_trained_again_when_its_version_rises(
    monkeypatch: pytest.MonkeyPatch, learner: str, parameters: dict[str, Any], changes: bool
) -> None:
    before = find_key(learner=learner, parameters=parameters)
    changed = replace(ALGORITHMS["fast"], version=1_000)
    monkeypatch.setitem(ALGORITHMS, "fast", changed)
    assert (find_key(learner=learner, parameters=parameters) != before) == changes
