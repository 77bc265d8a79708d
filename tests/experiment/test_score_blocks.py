"""Runs with many categories are scored, decided, measured and reported in blocks; nothing differs from all at once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experiment.place import Place
from textcat.experiment.context import RunContext
from textcat.experiment.run.results_file import get_run_intervals, read_results
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps import models
from textcat.experiment.steps.block_outcome import (
    holds_all_scores,
    read_decisions,
    read_scores,
    select_scores,
)
from textcat.experiment.steps.vectorize import read_vectors
from textcat.report.diagnostics import collect_mistakes
from textcat.store.arrays import read_array

RUNS = """runs:
  default: {learner: CLS, threshold: {rule: default}}
  tuned: {learner: CLS, threshold: {rule: tuned}}
  scut: {learner: linear, parameters: {loss: squared_hinge, cost: 1, algorithm: fast, prune: 0.05},
         threshold: {rule: scut, cross_validated: true, folds: 3}}
  apart: {learner: CLG, threshold: {rule: break-even, cross_validated: true, folds: 2}}
  fallback: {learner: CLG, threshold: {rule: scut-fbr}}
  counted: {learner: CLS, threshold: {rule: rcut, per_document: 2}}
  expected: {learner: CLG, threshold: {rule: expected-f1}}
  platt: {learner: CLS, calibration: {method: platt, folds: 3}, threshold: {rule: expected-f1}}
  steps: {learner: CLS, calibration: {method: isotonic, folds: 3}}
  proportional: {learner: CLS, threshold: {rule: pcut}}
  shrunk: {learner: CLS, threshold: {rule: scut, shrinkage: 5, cross_validated: true, folds: 2}}
  nearest: {learner: CLS, threshold: {rule: tuned, at_least_one: true}}
  bayes: {learner: naive_bayes, threshold: {rule: tuned}}
  tree: {learner: label_tree, parameters: {leaf_labels: 2, branches: 2, most_labels: 2}, threshold: {rule: tuned}}
  forest: {learner: perceptron_tree, threshold: {rule: tuned, cross_validated: true, folds: 2}}
"""


def make_place(folder: Path) -> Place:
    place = Place(folder)
    head = place.experiment.read_text().partition("runs:")[0].replace("threshold: {rule: tuned}\n", "")
    place.experiment.write_text(head + "evaluation: {ranking: [1, 2], frequency_groups: true}\n" + RUNS)
    return place


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = make_place(tmp_path_factory.mktemp("whole"))
    place.textcat("run", str(place.experiment))
    return place


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = make_place(tmp_path_factory.mktemp("parts"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "MAX_DENSE_SCORES", 0)
        patch.setattr(models, "MAX_BLOCK_CATEGORIES", 2)
        place.textcat("run", str(place.experiment))
    return place


def chains(place: Place) -> dict[str, Any]:
    plan, _ = run_experiment(load_experiment(place.experiment), RunContext(place.data))
    return {chain.run: chain for chain in plan.chains}


def test_all_results_are_the_same(whole: Place, parts: Place) -> None:
    expected, found = (read_results(place.report)["runs"] for place in (whole, parts))
    for run, one in expected.items():
        for name, value in one["measures"].items():
            if "seconds" in name:
                continue
            near = pytest.approx(value, rel=1e-12) if name.startswith("probability.") else value
            assert found[run]["measures"][name] == near, (run, name)


def test_thresholds_are_the_same(whole: Place, parts: Place) -> None:
    expected, found = chains(whole), chains(parts)
    for run, chain in expected.items():
        values = [
            read_array(each.decided.build_folder(RunContext(place.data)), "thresholds")
            for each, place in ((chain, whole), (found[run], parts))
        ]
        # Models that are trained in blocks differ by rounding.
        np.testing.assert_allclose(*values, rtol=1e-9 if run == "apart" else 0, err_msg=run)


def test_decisions_and_the_scores_that_are_kept_are_the_same(whole: Place, parts: Place) -> None:
    expected, found = chains(whole), chains(parts)
    for run, chain in expected.items():
        all_scores = chain.evaluated.build_folder(RunContext(whole.data))
        kept = found[run].evaluated.build_folder(RunContext(parts.data))
        assert (read_decisions(all_scores) != read_decisions(kept)).nnz == 0, run
        assert holds_all_scores(all_scores)
        # PCut ranks all documents at once; the nearest category is that of all of them.
        assert holds_all_scores(kept) is (run in ("proportional", "nearest"))
        if run == "proportional":
            continue
        sparse = read_scores(kept)
        rows, columns = sparse.nonzero()
        assert np.array_equal(select_scores(sparse, rows, columns), read_scores(all_scores)[rows, columns])
        labels = read_vectors(chain.vectorized.build_folder(RunContext(whole.data))).test_labels
        shown = (labels + read_decisions(kept)).nonzero()
        assert set(zip(*shown, strict=True)) <= set(zip(rows, columns, strict=True))


def test_reports_and_comparisons_are_the_same(whole: Place, parts: Place) -> None:
    pages = [
        (place.report / "report.html").read_text().partition("How to reproduce")[0]
        for place in (whole, parts)
    ]
    assert "<svg" in pages[0]
    # Not all scores of blocks are kept, so that their break-even points have no interval.
    whole_page, parts_page = (re.sub(r" \u00b1[\d.]+", "", page) for page in pages)
    assert whole_page == parts_page
    found = [get_run_intervals(read_results(place.report)) for place in (whole, parts)]
    for run, intervals in found[0].items():
        lost = intervals.keys() - found[1][run].keys()
        assert lost == (set() if run in ("proportional", "nearest") else {"micro.bep"})
        assert all(intervals[name] == ends for name, ends in found[1][run].items())
    answers = [
        json.loads(place.textcat("compare", f"{place.experiment}:scut", "counted", "--json"))
        for place in (whole, parts)
    ]
    assert answers[0] == answers[1]


def test_mistakes_are_the_same(whole: Place, parts: Place) -> None:
    found = []
    for place in (whole, parts):
        context = RunContext(place.data)
        plan, _ = run_experiment(load_experiment(place.experiment), context)
        chains = list(plan.chains)
        found.append([collect_mistakes(chain, chains, plan, context) for chain in chains])
    assert {kind for one in found[0] for kind in one.kinds} == {"False positives", "False negatives"}
    assert found[0] == found[1]
