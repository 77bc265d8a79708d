"""Pages and results of thousands of categories: short, and every category is found."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

from tests.loops import for_each
from textcat.evaluation.measures import ZeroDivision
from textcat.evaluation.run_measures import EvaluationSettings, measure_all
from textcat.experiment.run.results_file import encode_results, read_results
from textcat.experiment.spec.experiment import RunSettings
from textcat.report.category_tables import SHOWN, list_category_tables, make_anchor
from textcat.report.experiment_page import render_experiment_page

SETTINGS = {"corpus": {"single_label": False}, "evaluation": {"zero_division": 0}}


def make_results(categories: int, runs: int, zero_division: ZeroDivision = 0) -> dict[str, Any]:
    random = np.random.default_rng(3)
    names = [f"{chr(97 + k % 26)}griculture & policy of region {k}" for k in range(categories)]
    counts = random.integers(0, 200, categories)
    labels = random.random((30, categories)) < 0.1
    settings = EvaluationSettings(zero_division=zero_division, largest=[], frequency_groups=True)
    measures = [
        measure_all(None, labels ^ (random.random(labels.shape) < 0.1), labels, names, counts, settings)
        for _ in range(runs)
    ]
    run = RunSettings(learner="CLS", evaluation={"zero_division": zero_division})
    certificate = {"gap": 0.25, "passes": 3, "reason": "optimality", "violation": None}
    return {
        "format": 2, "version": "1", "experiment": "many", "title": "Many", "paper": None,
        "tables": [], "figures": [], "settings": SETTINGS, "beside": {},
        "corpus": {
            "name": "jsonl", "split": None, "fingerprint": "f", "train_documents": 9, "test_documents": 30,
            "terms": 2, "categories": categories, "train_counts": dict(zip(names, counts.tolist(), strict=True)),
        },
        "runs": {
            f"run{k}": {
                "title": f"Run {k}", "signature": "s", "certificates": [certificate] * categories,
                "settings": run.model_dump(mode="json"),
                "measures": {name: value if np.isfinite(value) else None for name, value in one.items()},
            }
            for k, one in enumerate(measures)
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def many() -> dict[str, Any]:
    return make_results(5000, 3)


def test_a_page_of_5000_categories_is_below_2_mb_and_finds_each(many: dict[str, Any]) -> None:
    page = render_experiment_page(many, [], [], {})
    assert len(page.encode()) < 2_000_000
    entries = dict(re.findall(r'<li id="([^"]+)">([^<]+) <small>', page))
    found = {unescape(name): anchor for anchor, name in entries.items()}
    assert set(found) == set(many["corpus"]["train_counts"])
    assert all(anchor == f"category-{make_anchor(name)}" for name, anchor in found.items())
    assert "All categories by name" in page and "frequent, micro F1" in page


def test_the_largest_and_the_worst_are_shown(many: dict[str, Any]) -> None:
    section = list_category_tables(many)
    largest, worst = section.tables
    counts, measures = many["corpus"]["train_counts"], many["runs"]["run0"]["measures"]
    assert [row.documents for row in largest.rows] == sorted(counts.values(), reverse=True)[:SHOWN]
    errors = sorted((measures[f"category.{name}.errors"] for name in counts), reverse=True)
    assert [measures[f"category.{row.name}.errors"] for row in worst.rows] == errors[:SHOWN]
    frequent = section.groups[0]
    assert frequent.documents == sum(number > 50 for number in counts.values())
    assert frequent.numbers[0] == f"{measures['micro.f1.frequent']:.1f}"


def test_categories_of_more_runs_than_a_page_holds_are_counted() -> None:
    section = list_category_tables(make_results(5001, 5))
    assert not section.index and section.omitted == 5001


@for_each("zero_division", [0, 1, "skip"])
def test_shortened_results_read_back_as_they_were(zero_division: ZeroDivision, tmp_path: Any) -> None:
    results = make_results(1200, 2, zero_division)
    text = encode_results(results)
    packed = json.loads(text)["runs"]["run0"]
    assert "f1" not in packed["by_category"] and packed["certificates"] == {}
    assert packed["certificate_summary"] == {
        "gap": {"max": 0.25, "mean": 0.25}, "passes": {"max": 3, "mean": 3}, "reason": {"optimality": 1200},
    }  # fmt: skip
    (tmp_path / "results.json").write_text(text)
    again = read_results(tmp_path)
    assert encode_results(again) == text
    for name, run in results["runs"].items():
        for measure, value in run["measures"].items():
            back = again["runs"][name]["measures"][measure]
            assert back == (None if value is None else pytest.approx(value, rel=1e-9)), measure


def test_results_of_few_categories_keep_every_column() -> None:
    packed = json.loads(encode_results(make_results(30, 1)))["runs"]["run0"]
    assert {"f1", "tn", "errors"} <= set(packed["by_category"]) and len(packed["certificates"]["gap"]) == 30
