"""One label per document, from the settings to results, page and model."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.browser import dom
from tests.experiment.own_table import carried_out
from textcat.errors import UsageError
from textcat.evaluation.one_label import compute_calibration_error, find_columns
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.results_file import encode_results, read_results
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps import decide
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectors
from textcat.report.category_tables import make_class_tables, sort_worst_first
from textcat.report.diagnostics import diagnose_runs
from textcat.report.writer import write_report
from textcat.serving.categorizer import read_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.export import export_models
from textcat.store.arrays import read_array, read_mask
from textcat.thresholds.calibration import Platt, rank_by_both
from textcat.thresholds.rejection import Rejection

LOGISTIC = {"learner": "linear", "parameters": {"loss": "logistic", "cost": 10}}
HINGE = {"learner": "linear", "parameters": {"loss": "squared_hinge", "cost": 1}}
RUNS = {
    "raw": LOGISTIC,
    "warm": LOGISTIC | {"calibration": {"method": "temperature"}},
    "platt": HINGE | {"calibration": {"method": "platt"}},
}

CLICK = "document.querySelector('#classes th').click(); document.querySelector('#classes th').click();"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("one")
    plan, context, _ = carried_out(folder, {"runs": RUNS, "corpus": {"single_label": True}}, single=True)
    return plan, context, collect_results(plan, context), folder


def test_results_hold_confusions_and_calibration_errors(outcome: Any) -> None:
    plan, context, results, _ = outcome
    names = list(results["corpus"]["train_counts"])
    for chain in plan.chains:
        run = results["runs"][chain.run]
        scores = read_array(chain.evaluated.build_folder(context), "scores")
        errors = dict.fromkeys(names, 0)
        for label, given, documents in run["confusions"]:
            errors[names[label]] += documents
            errors[names[given]] += documents
        measures = run["measures"]
        assert errors == {name: measures[f"category.{name}.errors"] for name in names}
        assert sum(n for _, _, n in run["reliability"]) == len(scores)
        assert 0 <= measures["probability.calibration_error"] < 0.5


def test_models_give_probabilities_that_sum_to_one_and_agree_with_the_results(outcome: Any) -> None:
    plan, context, results, folder = outcome
    for model in export_models(plan, context, folder / "models"):
        categorizer = read_categorizer(Path(model))
        documents = [NewDocument(str(k), {"text": text}) for k, text in enumerate(["bala bele", "zzz", ""])]
        probabilities = categorizer.probabilities(categorizer.scores(documents))
        assert probabilities is not None
        assert probabilities.sum(axis=1) == pytest.approx(1.0)
    measured = results["runs"]["warm"]
    mean_error = compute_calibration_error([tuple(entry) for entry in measured["reliability"]])
    assert mean_error == pytest.approx(measured["measures"]["probability.calibration_error"], abs=1e-4)


def test_the_label_is_the_most_probable_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uneven = Platt(np.array([0.2, 1.0, 5.0]), np.array([0.5, 0.0, -1.0]))
    monkeypatch.setattr(decide, "fit_calibration", lambda *_: uneven)
    settings = {"runs": {"platt": RUNS["platt"]}, "corpus": {"single_label": True}}
    plan, context, _ = carried_out(tmp_path, settings, single=True)
    chain = plan.chains[0]
    vectors = read_vectors(chain.vectorized.build_folder(context))
    scores = load_model(chain.trained.build_folder(context)).scores(vectors.test)
    given = find_columns(read_mask(chain.evaluated.build_folder(context), "decisions"))
    expected = uneven.probabilities(scores).argmax(axis=1)
    assert (expected != scores.argmax(axis=1)).any()
    np.testing.assert_array_equal(given, expected)
    right = 100 * np.mean(given == find_columns(vectors.test_labels))
    assert collect_results(plan, context)["runs"]["platt"]["measures"]["accuracy"] == pytest.approx(right)


@pytest.mark.parametrize("column", [-1, 0])
def test_of_equally_probable_labels_the_one_of_the_highest_score_is_given(column: int) -> None:
    scores = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 6.0], [1.0, 1.0, 1.0]])
    probabilities = np.array([[0.2, 0.4, 0.4], [0.1, 0.1, 0.1], [0.3, 0.3, 0.3]])
    ranked = rank_by_both(probabilities, scores)
    np.testing.assert_array_equal(ranked, [[1, 2, 3], [1, 2, 3], [3, 2, 1]])
    best, columns = Rejection(0.0, column).find_best(probabilities, ranked)
    assert best.tolist() == [0.4, 0.1, 0.3]
    assert columns.tolist() == [2, 2, 0 if column else 1]


def test_results_survive_their_file(outcome: Any, tmp_path: Path) -> None:
    results = outcome[2]
    (tmp_path / "results.json").write_text(encode_results(results))
    again = read_results(tmp_path)
    assert again["runs"]["warm"]["confusions"] == results["runs"]["warm"]["confusions"]
    assert make_class_tables(again) is not None
    json.loads((tmp_path / "results.json").read_text())


def test_experiments_of_papers_keep_their_results(tmp_path: Path) -> None:
    settings = {"runs": {"raw": LOGISTIC}, "corpus": {"single_label": True}, "paper": "zhang_oles_2001"}
    plan, context, _ = carried_out(tmp_path, settings, single=True)
    run = collect_results(plan, context)["runs"]["raw"]
    assert not {"confusions", "reliability"} & run.keys()
    assert not [name for name in run["measures"] if name.startswith(("accuracy.top", "probability."))]


def test_classes_are_sorted_by_f1_and_those_without_documents_come_last(outcome: Any) -> None:
    tables = make_class_tables(outcome[2])
    assert tables is not None
    shown = [row.f1 for row in tables.rows]
    assert shown == sorted(shown)
    assert [row.test for row in tables.rows] == [10, 10, 10]
    empty = [type(row)(row.name, row.train, 0, None, None, None, "") for row in tables.rows[:1]]
    assert sort_worst_first([*empty, *tables.rows])[-1].test == 0
    assert "expected" in tables.calibration.lower()


def test_a_wrong_label_is_reported(tmp_path: Path) -> None:
    from tests.experiment.own_table import table

    path = table(tmp_path, documents=240, single=True)
    lines = path.read_text().splitlines()
    # d9 has the words of red (9 % 3 == 0) and is in the training part.
    assert lines[10].startswith("d9,")
    lines[10] = lines[10].replace(",red,", ",blue,")
    path.write_text("\n".join(lines) + "\n")
    settings = {"runs": {"warm": RUNS["warm"]}, "corpus": {"single_label": True}}
    plan, context, _ = carried_out(tmp_path, settings, single=True)
    results = collect_results(plan, context)
    diagnostics = diagnose_runs(plan, context, results["runs"])
    found = {error.document: error for error in diagnostics.label_errors}
    assert found["d9"].label == "blue"
    assert found["d9"].suggested == "red"
    assert found["d9"].suggested_probability > found["d9"].label_probability
    assert found["d9"].excerpt
    write_report(tmp_path / "report", results, [], {}, diagnostics)
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Probable label errors" in page
    assert "given instead" in (tmp_path / "report" / "table.md").read_text()


def test_a_click_sorts_the_table_under_the_policy_of_the_page(outcome: Any, tmp_path: Path) -> None:
    plan, context, results, _ = outcome
    write_report(tmp_path / "report", results, [], {}, diagnose_runs(plan, context, results["runs"]))
    page = tmp_path / "report" / "report.html"
    text = page.read_text()
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    assert "; script-src 'sha256-" in text
    shown = dom(page, tmp_path, "--virtual-time-budget=3000")
    # The script has run under the policy: headings can be reached by the keyboard.
    assert 'tabindex="0"' in shown
    assert "tabindex" not in text.replace(scripts[0], "")
    # A click sorts by the first column.
    clicked = text.replace(scripts[0], scripts[0] + CLICK)
    policy = re.search(r"; script-src '[^']+'", clicked)
    assert policy
    (tmp_path / "clicked.html").write_text(clicked.replace(policy[0], "; script-src 'unsafe-inline'"))
    shown = dom(tmp_path / "clicked.html", tmp_path, "--virtual-time-budget=3000")
    names = re.findall(r"<tr><th>(\w+)</th>", shown[shown.index('id="classes"') :])
    assert names[:3] == ["red", "green", "blue"]
    # A second script, whose hash the policy does not know, does not run.
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("</body>", "<script>document.title='ran'</script></body>"))
    assert "<title>ran" not in dom(broken, tmp_path, "--virtual-time-budget=3000")


def test_temperature_needs_one_label_per_document(tmp_path: Path) -> None:
    settings = {
        "title": "t",
        "corpus": {"name": "csv", "path": "x.csv"},
        "runs": {"a": RUNS["warm"]},
    }
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(settings))
    with pytest.raises(UsageError, match="single_label"):
        load_experiment(tmp_path / "x.yaml")
