"""Metrics, thresholds that are set without the documents they decide on, the small fold, and planted label errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.experiment.tune.tuning import STEMS, read_own, tune, write_questions
from textcat.errors import UsageError
from textcat.evaluation.measures import count_contingency, micro_f1
from textcat.experiment.context import RunContext
from textcat.experiment.steps.tokenize import make_tokenize_step
from textcat.experiment.tune.documents import TrainingDocuments
from textcat.experiment.tune.evaluation import (
    AT_LEAST_ONE,
    BETWEEN_RULE,
    CATEGORY_RULE,
    DEFAULT_RULE,
    PROPORTIONAL_RULE,
    SHARED_RULE,
    Evaluator,
    PathResult,
    choose_metric,
    decide_held_out,
    measure_decisions,
)
from textcat.experiment.tune.findings import list_label_errors, measure_calibration_of_folds
from textcat.experiment.tune.space import Space
from textcat.thresholds.rules import find_shared_threshold


def random_problem(seed: int, documents: int = 40, categories: int = 4) -> tuple[Any, Any]:
    draw = np.random.default_rng(seed)
    labels = draw.random((documents, categories)) < 0.3
    return np.where(labels, 0.4, -0.6) + draw.normal(size=labels.shape).round(1), labels


@given(st.integers(0, 10_000))
def test_no_shared_threshold_has_a_better_micro_f1(seed: int) -> None:
    scores, labels = random_problem(seed)
    labels[0, 0] = True
    found = find_shared_threshold(scores, labels)
    reached = micro_f1(count_contingency(scores >= found, labels), 0)
    others = [micro_f1(count_contingency(scores >= each, labels), 0) for each in np.unique(scores)]
    assert reached == pytest.approx(max(others))
    distinct = scores + np.arange(scores.size).reshape(scores.shape) * 1e-6
    exact = find_shared_threshold(distinct, labels)
    best = max(micro_f1(count_contingency(distinct >= each, labels), 0) for each in distinct.ravel())
    assert micro_f1(count_contingency(distinct >= exact, labels), 0) == pytest.approx(best)


SMOOTHED = [SHARED_RULE, BETWEEN_RULE, PROPORTIONAL_RULE]


@pytest.mark.parametrize("rule", [CATEGORY_RULE, *SMOOTHED, *(f"{rule}{AT_LEAST_ONE}" for rule in SMOOTHED)])
def test_labels_of_a_part_do_not_change_its_own_decisions(rule: str) -> None:
    scores, labels = random_problem(3)
    parts = np.arange(len(scores)) % 4
    before = decide_held_out(rule, scores, labels, parts)
    changed = labels.copy()
    changed[parts == 2] = ~changed[parts == 2]
    after = decide_held_out(rule, scores, changed, parts)
    assert np.array_equal(before[parts == 2], after[parts == 2])
    assert not np.array_equal(before[parts != 2], after[parts != 2])
    assert np.array_equal(decide_held_out(DEFAULT_RULE, scores, labels, parts), scores >= 0)
    assert before.any(axis=1).all() or not rule.endswith(AT_LEAST_ONE)


def test_metrics_are_those_of_their_definition() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])
    labels = np.array([[True, False, True], [False, False, True]])
    decisions = np.array([[True, True, False], [False, True, True]])
    counts = labels.sum(axis=0)
    assert measure_decisions("p@1", scores, decisions, labels, counts) == 50.0
    assert measure_decisions("p@3", scores, decisions, labels, counts) == pytest.approx(50.0)
    # More places than categories count as misses.
    assert measure_decisions("p@5", scores, decisions, labels, counts) == pytest.approx(30.0)
    assert measure_decisions("micro.f1", scores, decisions, labels, counts) == pytest.approx(400 / 7)
    # The second category has no document and is left out: (100 + 66.7) / 2.
    assert measure_decisions("macro.f1", scores, decisions, labels, counts) == pytest.approx(
        (100 + 200 / 3) / 2
    )
    one = np.array([[True, False, False], [False, False, True]])
    assert measure_decisions("accuracy", scores, decisions, one, counts) == 50.0


def test_the_metric_by_default_depends_on_the_labels() -> None:
    assert choose_metric(None, single_label=True) == "accuracy"
    assert choose_metric(None, single_label=False) == "micro.f1"
    assert choose_metric("macro.f1", single_label=True) == "macro.f1"
    with pytest.raises(UsageError):
        choose_metric("accuracy", single_label=False)


def make_evaluator(folder: Path, words: int) -> Evaluator:
    documents = TrainingDocuments.read(
        read_own(write_questions(folder / "questions.csv")), RunContext(folder / "data")
    )
    space = Space.read()
    limited = Space(
        space.choices, space.costs, space.first, words, space.round, space.neighbours, space.reduction
    )
    return Evaluator(documents, limited, "accuracy", documents.make_folds(3, 1), 1)


def test_the_small_fold_has_about_as_many_words_as_wanted(tmp_path: Path) -> None:
    evaluator = make_evaluator(tmp_path, 200)
    kept, held = evaluator.small
    words = evaluator.documents.count_words()[kept]
    assert 200 <= words.sum() <= 200 + words.max()
    assert set(kept) < set(evaluator.folds[0][0])
    assert np.array_equal(held, evaluator.folds[0][1])
    assert evaluator.has_small_fold
    whole = make_evaluator(tmp_path, 10**6)
    assert not whole.has_small_fold
    assert np.array_equal(whole.small[0], whole.folds[0][0])


def test_a_path_ends_where_more_c_makes_it_worse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = make_evaluator(tmp_path, 10**6)
    values = iter([80.0, 85.0, 84.0, 90.0, 90.0])
    monkeypatch.setattr(Evaluator, "measure", lambda *_: {"default": next(values)})
    result = evaluator.evaluate(evaluator.space.first[0], 0, [0.1, 0.3, 1.0, 3.0, 10.0])
    assert list(result.values) == [0.1, 0.3, 1.0]


def test_counts_of_groups_are_joined_as_if_counted_together(tmp_path: Path) -> None:
    experiment = read_own(write_questions(tmp_path / "questions.csv"))
    groups = Space.read().list_groups(Space.read().first[2])
    assert len(groups) == 3
    files = []
    for name in ("joined", "together"):
        documents = TrainingDocuments.read(experiment, RunContext(tmp_path / name))
        if name == "joined":
            documents.store_counts(groups)
        text = experiment.text.model_copy(update={"groups": groups})
        step = make_tokenize_step(
            documents.experiment, text, documents.folder, documents.fingerprint, keeps_texts=True
        )
        assert (documents.context.store.find(step.recipe) is not None) == (name == "joined")
        folder = step.build_folder(documents.context)
        files.append(
            {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}
        )
    assert files[0] == files[1]
    assert {"terms.json", "group_ends.json"} < set(files[0])


def test_each_document_is_held_out_once_with_its_category_in_every_fold(tmp_path: Path) -> None:
    evaluator = make_evaluator(tmp_path, 10**6)
    held = np.concatenate([fold[1] for fold in evaluator.folds])
    assert sorted(held) == list(range(evaluator.documents.number))
    counts = np.array([evaluator.documents.labels[fold[1]].sum(axis=0) for fold in evaluator.folds])
    assert (np.ptp(counts, axis=0) <= 1).all()


@pytest.mark.parametrize("several", [False, True])
def test_planted_label_errors_are_first(tmp_path: Path, several: bool) -> None:
    table = write_questions(tmp_path / "questions.csv", documents=600, several=several)
    lines = table.read_text().splitlines()
    planted = []
    for place in (20, 41, 62):
        number = lines[place].split(",")[0]
        lines[place] = f"{number},{' '.join(STEMS['green'])},blue,train"
        planted.append(number)
    table.write_text("\n".join(lines) + "\n")
    report = tune(tmp_path, read_own(table), configurations=1).report
    first = [each["document"] for each in report["label_errors"][:8]]
    assert set(planted) <= set(first)
    for each in report["label_errors"]:
        if each["document"] in planted:
            assert each["labels"] == ["blue"]
            assert "green" in (each["likely"], each["suspect"])


def test_a_missing_label_is_a_label_error_too() -> None:
    probabilities = np.array([[0.9, 0.97], [0.9, 0.1], [0.2, 0.1]])
    labels = np.array([[True, False], [True, False], [True, False]])
    found = list_label_errors(probabilities, labels, ["a", "b", "c"], ["x", "y"], single_label=False)
    assert [(each["document"], each["kind"], each["suspect"]) for each in found] == [
        ("a", "missing", "y"),
        ("c", "wrong", "x"),
    ]


def test_calibration_of_several_labels_counts_every_likely_decision() -> None:
    probabilities = np.array([[0.9, 0.005], [0.9, 0.3], [0.1, 0.9]])
    labels = np.array([[True, False], [True, False], [False, False]])
    found = measure_calibration_of_folds(probabilities, labels, single_label=False)
    assert sum(number for _, _, number in found["bins"]) == 5
    share = {round(mean, 2): right for mean, right, _ in found["bins"]}
    assert share[0.9] == pytest.approx(2 / 3, abs=1e-4)
    expected = (3 * abs(0.9 - 2 / 3) + 0.1 + 0.3) / 5
    assert found["error"] == pytest.approx(100 * expected, abs=1e-3)


def test_counting_is_timed_apart_and_done_once(tmp_path: Path) -> None:
    evaluator = make_evaluator(tmp_path, 10**6)
    first, again = (evaluator.evaluate(evaluator.space.first[0], 0, [1.0]) for _ in range(2))
    assert 0.0 < first.preparing <= first.seconds
    assert again.processor_preparing < first.processor_preparing
    assert first.join(again).preparing == pytest.approx(first.preparing + again.preparing)
    assert PathResult.from_dict(first.as_dict()) == first
