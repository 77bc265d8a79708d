"""What a tuning session leaves: the same answer from the same settings, and nothing learned from test documents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.experiment.tune.tuning import read_own, tune, write_questions
from textcat.errors import BadDataError, UsageError
from textcat.evaluation.measures import count_contingency, macro_f1
from textcat.experiment.context import RunContext
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps.block_outcome import read_decisions
from textcat.experiment.steps.vectorize import read_vectors
from textcat.experiment.tune import documents as tune_documents
from textcat.experiment.tune import session
from textcat.experiment.tune.documents import TrainingDocuments
from textcat.experiment.tune.evaluation import Evaluator
from textcat.experiment.tune.findings import measure_calibration_of_folds, measure_learning_curve
from textcat.experiment.tune.search import Journal
from textcat.experiment.tune.space import Configuration, Space
from textcat.linear.training import ALGORITHMS
from textcat.serving.categorizer import Categorizer
from textcat.thresholds.calibration import fit_calibration


@pytest.mark.parametrize("several", [False, True])
def test_the_tuned_experiment_gives_the_reported_results_elsewhere(tmp_path: Path, several: bool) -> None:
    result = tune(tmp_path, read_own(write_questions(tmp_path / "questions.csv", several=several)))
    context = RunContext(tmp_path / "another")
    plan, _ = run_experiment(load_experiment(tmp_path / "out" / "tuned.yaml"), context)
    again = collect_results(plan, context)["runs"]["tuned"]["measures"]
    assert again == result.report["test"]["measures"]
    assert result.report["metric"] == ("micro.f1" if several else "accuracy")


@pytest.mark.parametrize("several", [False, True])
def test_held_out_scores_are_those_of_models_of_the_other_documents(
    tmp_path: Path, several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune_documents, "FEW_DOCUMENTS", 3)
    table = write_questions(tmp_path / "questions.csv", several=several)
    experiment = read_own(table)
    result = tune(tmp_path, experiment)
    evaluator, held_out = result.search.evaluator, result.held_out
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    known = {number: (text, labels) for number, text, labels, _ in rows}
    own = [known[number] for number in evaluator.documents.ids[: evaluator.documents.number]]
    right = 0
    for fold, (kept, held) in enumerate(evaluator.folds):
        texts, labels = zip(*(own[row] for row in kept), strict=True)
        categorizer = Categorizer.fit(
            texts,
            [each.split("|") for each in labels] if several else labels,
            tmp_path / "out" / "tuned.yaml",
        )
        documents = categorizer.make_documents([own[row][0] for row in held])
        assert list(categorizer.categories) == evaluator.documents.categories
        np.testing.assert_array_equal(held_out.folds[held], fold)
        np.testing.assert_allclose(held_out.scores[held], categorizer.scores(documents), atol=1e-9)
        right += np.count_nonzero(categorizer.scores(documents).argmax(axis=1) == [
            evaluator.documents.categories.index(own[row][1].split("|")[0]) for row in held
        ])  # fmt: skip
    if not several:
        assert result.report["best"]["value"] == pytest.approx(100 * right / len(own))


def test_the_seed_of_the_search_is_that_of_the_tuned_experiment(tmp_path: Path) -> None:
    experiment = read_own(write_questions(tmp_path / "questions.csv"))
    result = tune(tmp_path, experiment, configurations=1, seed=4)
    assert result.experiment.seed == 4
    problem = result.plan.chains[0].assemble_problem(RunContext(tmp_path / "data"))
    for own, of_search in zip(problem.make_folds(3, 4), result.search.evaluator.folds, strict=True):
        np.testing.assert_array_equal(own[1], of_search[1])


def test_a_search_without_time_has_a_learning_curve_of_whole_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Space, "first_rung_words", 150, raising=False)
    monkeypatch.setattr(Evaluator, "has_small_fold", True)
    experiment = read_own(write_questions(tmp_path / "questions.csv", documents=600))
    result = tune(tmp_path, experiment, seconds=0.0)
    assert result.report["learning_curve"] is None and result.report["left_out"] == "time"
    evaluator, best = result.search.evaluator, result.search.best
    assert best is not None and result.report["best"]["measured_folds"] == 0
    curve = measure_learning_curve(evaluator, best, result.held_out).as_dict()
    assert curve["documents"] == [33, 66, 134, 266]
    whole = [
        evaluator.measure(result.held_out.scores[part[1]], part)["default"] for part in evaluator.folds[:2]
    ]
    assert curve["values"][-1] == pytest.approx(np.mean(whole), abs=1e-3)
    assert curve["value"] == pytest.approx(result.report["best"]["value"], abs=1e-3)


@pytest.mark.parametrize("several", [False, True])
def test_the_probabilities_of_the_page_are_those_of_the_model(tmp_path: Path, several: bool) -> None:
    result = tune(tmp_path, read_own(write_questions(tmp_path / "questions.csv", several=several)))
    calibration = result.plan.chains[0].settings.calibration
    assert calibration is not None
    assert calibration.method == ("platt" if several else "temperature")
    held_out, documents = result.held_out, result.search.evaluator.documents
    probabilities = np.empty(held_out.scores.shape)
    labels = documents.labels[: documents.number]
    for fold in range(3):
        own = held_out.folds == fold
        fitted = fit_calibration(calibration, held_out.scores[~own], labels[~own])
        probabilities[own] = fitted.probabilities(held_out.scores[own])
    expected = measure_calibration_of_folds(probabilities, labels, single_label=not several)
    assert result.report["calibration"] == expected


def test_macro_f1_has_one_definition(tmp_path: Path) -> None:
    table = write_questions(tmp_path / "questions.csv", several=True)
    lines = table.read_text().splitlines()
    # No test document has the label `odd`, whose word some of them have.
    table.write_text("\n".join(line.replace("|odd,test", ",test") for line in lines) + "\n")
    experiment = read_own(table)
    result = tune(tmp_path, experiment, metric="macro.f1")
    plain = {"zero_division": "skip"}
    assert result.experiment.evaluation.model_dump(include={"zero_division"}) == plain
    chain, context = result.plan.chains[0], RunContext(tmp_path / "data")
    decided = read_decisions(chain.evaluated.build_folder(context)).toarray()
    labels = read_vectors(chain.vectorized.build_folder(context)).test_labels.toarray()
    assert decided.any(axis=0).all() and np.count_nonzero(labels.any(axis=0)) == 3
    by_hand = [
        200 * (decided & labels)[:, k].sum() / (decided[:, k].sum() + labels[:, k].sum())
        for k in np.flatnonzero(labels.any(axis=0))
    ]
    measures = result.report["test"]["measures"]
    assert result.report["test"]["metric"] == measures["macro.f1"] == pytest.approx(np.mean(by_hand))
    assert measures["macro.left_out"] == 1
    own, right = result.held_out.decisions, result.search.evaluator.documents.labels
    found = macro_f1(count_contingency(own, right[: len(own)]), "skip")
    assert result.report["best"]["value"] == pytest.approx(found)
    data = yaml.safe_load((tmp_path / "questions.yaml").read_text())
    del data["evaluation"]
    data["runs"] = {"only": {"learner": "naive_bayes"}}
    (tmp_path / "other.yaml").write_text(yaml.safe_dump(data))
    plan, _ = run_experiment(load_experiment(tmp_path / "other.yaml"), context)
    assert collect_results(plan, context)["runs"]["only"]["measures"]["macro.left_out"] == 1


def _without_path(folder: Path) -> Any:
    data = yaml.safe_load((folder / "out" / "tuned.yaml").read_text())
    data["corpus"].pop("path")
    return data


@pytest.mark.parametrize("several", [False, True])
def test_test_documents_have_no_part_in_the_choice(tmp_path: Path, several: bool) -> None:
    reports, files = [], []
    for spoilt in (False, True):
        folder = tmp_path / str(spoilt)
        folder.mkdir()
        table = write_questions(folder / "questions.csv", several=several, spoilt=spoilt)
        experiment = read_own(write_questions(tmp_path / "questions.csv", several=several))
        moved = experiment.model_copy(
            update={"corpus": experiment.corpus.model_copy(update={"path": str(table)})}
        )
        reports.append(tune(folder, moved.set_folder(folder), configurations=9).report)
        files.append(_without_path(folder))
    for part in ("candidates", "best", "effects"):
        for report in reports:
            for each in report["candidates"]:
                each.pop("processor_seconds", None)
        assert reports[0][part] == reports[1][part]
    assert files[0] == files[1]
    assert reports[0]["test"]["metric"] != reports[1]["test"]["metric"]


def test_vectors_of_a_fold_are_those_of_an_experiment_on_its_documents(tmp_path: Path) -> None:
    table = write_questions(tmp_path / "questions.csv")
    documents = TrainingDocuments.read(read_own(table), RunContext(tmp_path / "data"))
    fold = documents.make_folds(3, 1)[1]
    held = {documents.ids[row] for row in fold[1]}
    lines = [line.rsplit(",", 1) for line in table.read_text().splitlines() if not line.endswith(",test")]
    sides = ["split", *("test" if start.split(",")[0] in held else "train" for start, _ in lines[1:])]
    other = tmp_path / "fold.csv"
    other.write_text("\n".join(f"{line[0]},{side}" for line, side in zip(lines, sides, strict=True)) + "\n")
    space = Space.read()
    for configuration in space.first:
        groups = space.list_groups(configuration)
        found = documents.make_vectors(groups, fold, "fold 1")
        data = yaml.safe_load((tmp_path / "questions.yaml").read_text())
        data["corpus"]["path"] = "fold.csv"
        data["text"]["groups"] = [
            {**group.model_dump(mode="json"), "ngrams": list(group.ngrams)} for group in groups
        ]
        (tmp_path / "fold.yaml").write_text(yaml.safe_dump(data))
        context = RunContext(tmp_path / "data")
        plan, _ = run_experiment(load_experiment(tmp_path / "fold.yaml"), context, "select")
        vectors = read_vectors(plan.chains[0].vectorized.build_folder(context))
        for own, ordinary in ((found.kept, vectors.train), (found.held, vectors.test)):
            assert own.shape == ordinary.shape
            assert np.array_equal(own.toarray(), ordinary.toarray())


def test_a_search_that_was_stopped_continues_to_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = read_own(write_questions(tmp_path / "questions.csv"))
    at_once = tune(tmp_path / "a", experiment, configurations=12)
    few = tune(tmp_path / "b", experiment, configurations=4)
    measured = len(json.loads((tmp_path / "b" / "out" / "journal.json").read_text())["entries"])
    calls: list[object] = []
    evaluate = Evaluator.evaluate
    monkeypatch.setattr(Evaluator, "evaluate", lambda *args: calls.append(args) or evaluate(*args))
    continued = tune(tmp_path / "b", experiment, configurations=12)
    assert len(few.report["candidates"]) == 4 and measured > 4
    whole = len(json.loads((tmp_path / "a" / "out" / "journal.json").read_text())["entries"])
    assert 0 < len(calls) < whole
    assert continued.report["best"] == at_once.report["best"]
    assert _without_path(tmp_path / "a") == _without_path(tmp_path / "b")


def test_whatever_decides_a_value_is_in_the_key_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, words = write_questions(tmp_path / "questions.csv", several=True), tmp_path / "words.txt"
    experiment = read_own(table)
    text = experiment.text.model_copy(update={"stop_list": str(words)})
    experiment = experiment.model_copy(update={"text": text})
    words.write_text("the\n")

    class OpenedError(Exception):
        """The journal is asked for: nothing is measured."""

    def refuse(_path: Path, key: str) -> None:
        raise OpenedError(key)

    monkeypatch.setattr(Journal, "open", refuse)

    def read_key(**settings: Any) -> str:
        with pytest.raises(OpenedError) as opened:
            tune(tmp_path, experiment, **settings)
        return str(opened.value.args[0])

    read_space, keys = Space.read, [read_key()]
    # What only ends a search earlier is no part of it.
    assert read_key(configurations=9) == read_key(seconds=5.0) == keys[0]
    keys += [
        read_key(**each) for each in ({"seed": 2}, {"metric": "macro.f1"}, {"metric": "p@3"}, {"folds": 4})
    ]
    for change in (
        lambda: monkeypatch.setattr(session.textcat, "__version__", "0"),
        lambda: monkeypatch.setattr(session, "SEARCH_TOLERANCE", 0.5),
        lambda: monkeypatch.setattr(Evaluator, "rules", ("default",)),
        lambda: monkeypatch.setattr(
            Space, "read", lambda **which: replace(read_space(**which), first_rung_words=7)
        ),
        lambda: monkeypatch.setitem(ALGORITHMS, "fast", replace(ALGORITHMS["fast"], version=99)),
        lambda: words.write_text("which\n"),
        lambda: table.write_text(table.read_text().replace("machine", "engine")),
    ):
        change()
        keys.append(read_key())
    assert len(set(keys)) == len(keys)


def test_an_interrupt_keeps_the_best_so_far(tmp_path: Path) -> None:
    experiment = read_own(write_questions(tmp_path / "questions.csv"))
    seen = []

    def interrupt(search: Any, candidate: Any) -> None:
        seen.append(candidate)
        if len(seen) == 7:
            raise KeyboardInterrupt

    result = tune(tmp_path, experiment, listener=interrupt, configurations=9)
    assert result.report["stopped_by"] == "interrupt"
    # Two configurations on three folds, and one on the first of them.
    assert sorted(len(each["folds"]) for each in result.report["candidates"]) == [1, 3, 3]
    assert result.report["best"]["name"] == result.report["candidates"][0]["name"]


def test_problems_of_documents_are_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = write_questions(tmp_path / "questions.csv")
    table.write_text(table.read_text() + "empty,,red,train\n")
    tune(tmp_path, read_own(table), configurations=4)
    assert [each.message.count("a document without any text") for each in caplog.records].count(1) == 1


def test_without_time_the_first_configuration_is_the_answer(tmp_path: Path) -> None:
    experiment = read_own(write_questions(tmp_path / "questions.csv"))
    report = tune(tmp_path, experiment, configurations=None, seconds=1e-6).report
    assert report["stopped_by"] == "time"
    assert [each["number"] for each in report["candidates"]] == [0]


def test_documents_that_are_vectors_are_tuned_by_learner_only(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    lines = []
    for number in range(90):
        label = number % 2
        features = sorted({label + 1, *draw.integers(3, 9, 3).tolist()})
        lines.append(f"c{label} " + " ".join(f"{feature}:{draw.random() + 0.1:.3f}" for feature in features))
    path = tmp_path / "vectors.svm"
    path.write_text("\n".join(lines) + "\n")
    report = tune(tmp_path, read_own(path), configurations=9).report
    assert {each["name"] for each in report["candidates"]} == {
        f"loss {loss}" for loss in ("squared_hinge", "logistic", "hinge", "softmax")
    }
    assert report["test"]["metric"] > 80


def test_softmax_is_an_option_for_one_label_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "softmax" not in Space.read(single_label=False).choices["loss"]
    read = Space.read.__func__  # type: ignore[attr-defined]

    def read_softmax(cls: type[Space], **which: bool) -> Space:
        space: Space = read(cls, **which)
        losses = {**space.choices, "loss": {"softmax": "softmax"}}
        first = [Configuration(tuple({**space.first[0].chosen, "loss": "softmax"}.items()))]
        return replace(space, choices=losses, first=first)

    monkeypatch.setattr(Space, "read", classmethod(read_softmax))
    result = tune(tmp_path, read_own(write_questions(tmp_path / "questions.csv")), configurations=1)
    assert result.experiment.runs["tuned"].learner == "softmax"
    assert result.report["best"]["value"] > 60
    context = RunContext(tmp_path / "another")
    plan, _ = run_experiment(load_experiment(tmp_path / "out" / "tuned.yaml"), context)
    assert collect_results(plan, context)["runs"]["tuned"]["measures"] == result.report["test"]["measures"]


def test_what_cannot_be_tuned_is_refused_with_a_reason(tmp_path: Path) -> None:
    several = read_own(write_questions(tmp_path / "several.csv", several=True))
    with pytest.raises(UsageError, match="one label each"):
        tune(tmp_path, several, metric="accuracy")
    with pytest.raises(UsageError, match="too few for 60 folds"):
        tune(tmp_path, several, folds=60)
    data = several.model_dump(mode="json") | {"resample": {"kind": "folds", "number": 3}}
    with pytest.raises(UsageError, match="one division"):
        tune(tmp_path, type(several).model_validate(data).set_folder(tmp_path))
    (tmp_path / "out").mkdir(exist_ok=True)
    (tmp_path / "out" / "journal.json").write_text("[")
    with pytest.raises(BadDataError, match="not readable as a journal"):
        tune(tmp_path, several)
