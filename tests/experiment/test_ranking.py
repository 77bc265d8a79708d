"""Measures of rankings and of frequent and rare labels: asked for by a setting, in results, tables and `compare`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.evaluation.test_ranking import KINDS
from tests.experiment.place import Place
from textcat.cli.main import group
from textcat.experiment.context import RunContext
from textcat.experiment.run.results_file import read_results
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.vectorize import read_vectors
from textcat.store.arrays import read_array

ASKED = "evaluation: {ranking: [1, 2], frequency_groups: true}\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("ranking"))
    place.experiment.write_text(place.experiment.read_text() + ASKED)
    place.textcat("run", str(place.experiment))
    return place


def test_results_and_tables_hold_them(place: Place) -> None:
    found = read_results(place.report)["runs"]["svm"]["measures"]
    assert {f"{kind}@{k}" for kind in KINDS for k in (1, 2)} <= set(found)
    plan, _ = run_experiment(load_experiment(place.experiment), RunContext(place.data))
    (chain,) = [chain for chain in plan.chains if chain.run == "svm"]
    scores = read_array(chain.evaluated.build_folder(RunContext(place.data)), "scores")
    labels = read_vectors(chain.vectorized.build_folder(RunContext(place.data))).test_labels.toarray()
    some = labels.any(axis=1)
    best = labels[np.arange(len(labels)), scores.argmax(axis=1)][some]
    assert found["precision@1"] == pytest.approx(100 * best.mean())
    assert found["ranking.skipped"] == np.count_nonzero(~some) > 0
    assert found["labels.frequent"] + found["labels.few"] + found["labels.unseen"] == 3
    table = (place.report / "table.md").read_text()
    assert "P@1" in table and "P@2" in table and "nDCG@2" in table and "PSP@2" in table
    assert f"{found['precision@1']:.1f}" in table


def test_compare_shows_them(place: Place) -> None:
    overall = json.loads(place.textcat("compare", f"{place.experiment}:svm", "bayes", "--json"))["overall"]
    runs = read_results(place.report)["runs"]
    for name in ("precision@1", "ndcg@2", "macro.f1.frequent"):
        assert overall[name]["left"] == pytest.approx(runs["svm"]["measures"][name])
        assert overall[name]["right"] == pytest.approx(runs["bayes"]["measures"][name])
    assert "precision@1" in place.textcat("compare", f"{place.experiment}:svm", "bayes")


@pytest.mark.parametrize(("labels", "asked"), [(60, True), (40, False)])
def test_init_asks_for_them_where_labels_are_many(tmp_path: Path, labels: int, asked: bool) -> None:
    path = tmp_path / "documents.jsonl"
    rows = [{"text": f"word{k % labels} a b c", "labels": [f"l{k % labels}", "all"]} for k in range(200)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    written = tmp_path / "documents.yaml"
    CliRunner().invoke(group, ["init", str(path), "--to", str(written)], catch_exceptions=False)
    assert (load_experiment(written).evaluation.ranking == [1, 3, 5]) is asked
