"""A pruned run, from the setting to the model directory that predicts and explains."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.experiment.place import Place
from textcat.experiment.run.results_file import read_results
from textcat.experiment.spec.learner_table import validate_parameters
from textcat.experiment.steps import decide, train
from textcat.serving.categorizer import read_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.explain import compute_contributions, find_strongest_terms
from textcat.serving.predict import predict_lines
from textcat.store.arrays import read_array

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


def test_the_learners_own_threshold_is_set_without_scoring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    place.experiment.write_text(place.experiment.read_text().replace("{rule: tuned}", "{value: 0.25}"))
    monkeypatch.setattr(decide, "load_model", None)
    place.textcat("train", str(place.experiment))
    thresholds = read_array(place.data / "models" / "trial" / "svm", "thresholds")
    assert thresholds.tolist() == [0.25, 0.25, 0.25]
