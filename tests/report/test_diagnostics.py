"""Diagnostics of a run: the worst mistakes come first, and their words explain the score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experiment.own_table import carried_out
from textcat.experiment.run.results import collect_results
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectors
from textcat.report.comparison_tables import compare_tables
from textcat.report.diagnostics import (
    Diagnostics,
    MistakeLocation,
    ScoredDecisions,
    diagnose_runs,
    find_worst_confusions,
    find_worst_decisions,
)
from textcat.report.writer import write_report
from textcat.store.arrays import read_array, read_mask

RUNS = {
    "logistic": {"learner": "CLG", "parameters": {"lam": 0.3}, "title": "Logistic"},
    "bayes": {"learner": "naive_bayes"},
}


def diagnose_experiment(folder: Path, settings: dict[str, Any], single: bool = False, **options: Any) -> Any:
    plan, context, _ = carried_out(folder, settings, single)
    results = collect_results(plan, context)
    diagnostics = diagnose_runs(plan, context, results["runs"], **options)
    return plan, context, results, diagnostics


def decided(scores: list[list[float]], labels: list[list[int]]) -> ScoredDecisions:
    values = np.asarray(scores)
    return ScoredDecisions(
        scores=values,
        decisions=values >= 0,
        thresholds=np.zeros(values.shape[1]),
        labels=np.asarray(labels, dtype=bool),
        documents=[f"d{k}" for k in range(len(values))],
        categories=[f"c{k}" for k in range(values.shape[1])],
    )


def test_the_worst_decisions_come_first_and_each_document_once() -> None:
    given = decided([[3.0, 5.0], [1.0, -1.0], [2.0, 2.0], [9.0, 0.0]], [[0, 0], [0, 0], [0, 0], [1, 1]])
    wrong = given.decisions & ~given.labels
    assert find_worst_decisions(given, wrong, 10) == [
        MistakeLocation(0, 1, 5.0),
        MistakeLocation(2, 0, 2.0),
        MistakeLocation(1, 0, 1.0),
    ]
    assert find_worst_decisions(given, wrong, 1) == [MistakeLocation(0, 1, 5.0)]


def test_the_margin_of_a_confusion_is_the_score_difference() -> None:
    given = decided([[3.0, -1.0], [0.5, 0.2], [4.0, 1.0]], [[0, 1], [0, 1], [1, 0]])
    given.decisions[:, 1] = False
    assert find_worst_confusions(given, 5) == [
        MistakeLocation(0, 0, 4.0, 1),
        MistakeLocation(1, 0, pytest.approx(0.3), 1),
    ]


def test_words_and_margin_add_up_to_the_score(tmp_path: Path) -> None:
    plan, context, _, diagnostics = diagnose_experiment(tmp_path, {"runs": {"logistic": RUNS["logistic"]}})
    chain = plan.chains[0]
    model: Any = load_model(chain.trained.build_folder(context))
    vectors = read_vectors(chain.vectorized.build_folder(context))
    thresholds = read_array(chain.decided.build_folder(context), "thresholds")
    found = [each for kind in diagnostics.mistakes.kinds.values() for each in kind]
    assert len(found) > 3
    for each in found:
        column = list(vectors.categories).index(each.category)
        score = sum(word.weight for word in each.words) + model.intercept[column]
        row = list(vectors.test_ids).index(each.document)
        assert vectors.test[[row]].nnz <= 8
        assert each.margin == pytest.approx(score - thresholds[column], abs=1e-6)
        assert (each.category in each.labels) == (each.margin < 0)


def test_own_documents_are_quoted_by_default(tmp_path: Path) -> None:
    *_, diagnostics = diagnose_experiment(tmp_path, {"runs": RUNS})
    lines = dict(line.split(",")[:2] for line in (tmp_path / "documents.csv").read_text().splitlines()[1:])
    quoted = [each for kind in diagnostics.mistakes.kinds.values() for each in kind]
    assert diagnostics.quoted
    assert all(each.excerpt == lines[each.document] for each in quoted)
    *_, silent = diagnose_experiment(tmp_path, {"runs": RUNS}, quote=False)
    assert not any(each.excerpt for kind in silent.mistakes.kinds.values() for each in kind)


def test_other_runs_with_the_same_mistake_are_counted(tmp_path: Path) -> None:
    logistic = {"learner": "CLG", "parameters": {"lam": 0.001}, "title": "Logistic"}
    twice = {"one": logistic, "same": logistic, "bayes": RUNS["bayes"]}
    plan, context, _, diagnostics = diagnose_experiment(tmp_path, {"runs": twice})
    assert diagnostics.mistakes.runs == 2
    evaluated = plan.chains[2].evaluated.build_folder(context)
    vectors = read_vectors(plan.chains[2].vectorized.build_folder(context))
    accepted = read_mask(evaluated, "decisions")
    assert diagnostics.mistakes.run == "Logistic"
    for each in (each for kind in diagnostics.mistakes.kinds.values() for each in kind):
        row, column = (
            list(vectors.test_ids).index(each.document),
            list(vectors.categories).index(each.category),
        )
        bayes_too = bool(accepted[row, column]) == (each.margin > 0)
        assert each.others == 1 + bayes_too


def test_a_model_without_word_weights_says_so(tmp_path: Path) -> None:
    runs = {"tree": {"learner": "perceptron_tree", "projection": {"dimensions": 3}}}
    _, _, results, diagnostics = diagnose_experiment(tmp_path, {"runs": runs})
    assert all(each.words is None for kind in diagnostics.mistakes.kinds.values() for each in kind)
    write_report(tmp_path / "report", results, compare_tables(results), {}, diagnostics)
    assert "no word weights" in (tmp_path / "report" / "report.html").read_text()


def test_a_page_loads_nothing(tmp_path: Path) -> None:
    _, _, results, diagnostics = diagnose_experiment(tmp_path, {"runs": RUNS})
    write_report(tmp_path / "report", results, compare_tables(results), {}, diagnostics)
    page = (tmp_path / "report" / "report.html").read_text()
    assert "<script" not in page
    assert "@import" not in page
    assert "url(" not in page
    assert 'src="http' not in page
    assert isinstance(diagnostics, Diagnostics)
