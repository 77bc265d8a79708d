"""Names of labels as training documents: read after all others, learned from, and never measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.sparse import csr_matrix

from tests.experiment.tune.tuning import read_own, tune
from textcat.corpora import open_corpus
from textcat.corpora.own.documents import LABEL_NAME, split_name
from textcat.evaluation.one_label import find_columns
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import Plan
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.experiment import RunSettings, SearchSettings
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.steps import decide, held_out
from textcat.experiment.steps.decide import fit_thresholds
from textcat.experiment.steps.held_out import load_held_out_scores, search_parameter
from textcat.experiment.steps.learner import LearningProblem, find_learner
from textcat.experiment.steps.models import load_model
from textcat.experiment.steps.vectorize import read_vectors
from textcat.experiment.tune import documents as tune_documents
from textcat.experiment.tune.documents import TrainingDocuments
from textcat.experiment.tune.evaluation import Evaluator
from textcat.experiment.tune.space import NAMES, Configuration, Space
from textcat.learners.parameters import validate_parameters
from textcat.linear import fit
from textcat.linear.regularization import lam_from_variance
from textcat.serving.categorizer import Categorizer
from textcat.serving.export import assemble_categorizer
from textcat.store.arrays import read_array
from textcat.thresholds.calibration import fit_platt
from textcat.thresholds.rules import set_thresholds

NAMES_OF_LABELS = (
    "card_arrival_post_late_missing_tracking_letter_courier",
    "cashWithdrawalMachineNotesPinAbroadFeeLimit",
    "top-up.failed.bank.transfer.pending.reverted.cheque.apple",
)


def write_few(path: Path, *, several: bool = False) -> Path:
    """Write questions whose words are often those of their label, of which a label has few."""
    draw = np.random.default_rng(4)
    lines = ["id,text,label,split"]
    for number in range(60):
        name = NAMES_OF_LABELS[number % 3]
        words = [*draw.choice(split_name(name).lower().split(), 1), *draw.choice(list("abcdefgh"), 3)]
        labels = f'"{name},urgent"' if several and number % 4 == 0 else name
        split = ("train", "test", "test", "unused")[number % 4]
        lines.append(f"d{number},{' '.join(words)},{labels},{split}")
    lines.append("last,never seen in training,only tested,test")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("sides", [{"side": "split"}, *({"seed": seed} for seed in range(8))])
def test_names_of_training_labels_are_the_last_training_documents(
    sides: dict[str, Any], tmp_path: Path
) -> None:
    table = write_few(tmp_path / "few.csv")
    plain = list(open_corpus("csv", table, **sides).documents())
    named = list(open_corpus("csv", table, **sides, label_names=True).documents())
    assert named[: len(plain)] == plain
    added = named[len(plain) :]
    labels = [each.labels[0] for each in added]
    assert labels == sorted({label for each in plain if each.split == "train" for label in each.labels})
    if "side" in sides:
        assert labels == sorted(NAMES_OF_LABELS)
    assert [each.fields["text"] for each in added] == [split_name(label) for label in labels]
    assert {each.split for each in added} == {"train"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("card_arrival", "card arrival"),
        ("rec.sport-hockey", "rec sport hockey"),
        ("topUp", "top Up"),
        ("NASA", "NASA"),
        ("café", "café"),
        ("_", ""),
    ],
)
def test_a_name_is_split_into_words(name: str, words: str) -> None:
    assert split_name(name) == words


def test_no_fold_holds_a_name_out_and_only_who_learns_it_sees_it(tmp_path: Path) -> None:
    experiment = read_own(write_few(tmp_path / "few.csv"))
    documents = TrainingDocuments.read(experiment, RunContext(tmp_path / "data"))
    assert len(documents.names) == 3 and documents.number == len(documents.rows) - 3 == 15
    folds = documents.make_folds(3, 1)
    assert sorted(np.concatenate([held for _, held in folds])) == list(range(15))
    space = Space.read(label_names=True)
    evaluator = Evaluator(documents, space, "accuracy", folds, 1)
    seen: list[int] = []
    make = documents.make_vectors
    documents.make_vectors = lambda groups, rows, name: (  # type: ignore[method-assign]
        seen.append(len(rows[0])) or make(groups, rows, name)  # type: ignore[func-returns-value]
    )
    values = {}
    for option in ("none", "learned"):
        chosen = Configuration(tuple({**space.first[0].chosen, NAMES: option}.items()))
        values[option] = np.mean(
            [evaluator.evaluate(chosen, k, [1.0]).values[1.0]["default"] for k in range(3)]
        )
    assert seen == [10, 10, 10, 13, 13, 13]
    assert values["learned"] > values["none"] + 10


@pytest.mark.parametrize("option", ["none", "learned"])
@pytest.mark.parametrize("several", [False, True])
def test_the_tuned_experiment_learns_names_where_that_was_best(
    several: bool, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Space.read.__func__  # type: ignore[attr-defined]

    def read_one(cls: type[Space], **which: bool) -> Space:
        space: Space = read(cls, **which)
        first = [Configuration(tuple({**each.chosen, NAMES: option}.items())) for each in space.first]
        return replace(space, first=first)

    monkeypatch.setattr(Space, "read", classmethod(read_one))
    experiment = read_own(write_few(tmp_path / "few.csv", several=several))
    report = tune(tmp_path, experiment, configurations=1).report
    assert report["documents"]["train"] == 15
    assert not any("name of label" in each["document"] for each in report["label_errors"])
    data: Any = yaml.safe_load((tmp_path / "out" / "tuned.yaml").read_text())
    assert data["corpus"]["options"].get("label_names", False) == (option == "learned")
    context = RunContext(tmp_path / "another")
    plan, _ = run_experiment(load_experiment(tmp_path / "out" / "tuned.yaml"), context)
    results = collect_results(plan, context)
    assert results["runs"]["tuned"]["measures"] == report["test"]["measures"]


def run_with_names(folder: Path, several: bool, **more: Any) -> tuple[Plan, RunContext]:
    """Run an experiment on the questions with the names of their labels."""
    table = write_few(folder / "few.csv", several=several)
    separator = "," if several else None
    options = {"id": "id", "side": "split", "label_separator": separator, "label_names": True}
    data = {
        "corpus": {"name": "csv", "path": table.name, "single_label": not several, "options": options},
        "text": {"fields": ["text"]},
        "runs": {
            "svm": {
                "learner": "linear",
                "parameters": {"loss": "squared_hinge", "cost": 1, "algorithm": "fast"},
            }
        },
    }
    (folder / "few.yaml").write_text(yaml.safe_dump(data | more))
    context = RunContext(folder / "data")
    plan, _ = run_experiment(load_experiment(folder / "few.yaml"), context)
    return plan, context


@pytest.mark.parametrize("in_blocks", [False, True])
def test_no_threshold_is_set_by_names(
    in_blocks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide, "is_too_large", lambda *shape: in_blocks)
    rule = {"rule": "scut", "cross_validated": True, "folds": 3}
    plan, context = run_with_names(
        tmp_path, True, threshold=rule, calibration={"method": "platt", "folds": 3}
    )
    chain = plan.chains[0]
    problem = chain.assemble_problem(context)
    assert (problem.documents, problem.names) == (15, 4)
    scores, numbers = load_held_out_scores(context, chain.settings, problem, chain.trained, 3)
    assert scores.shape == (15, 5) and numbers.shape == (15,)
    labels = problem.labels[:15]
    expected = set_thresholds(chain.settings.threshold, scores, labels, numbers)
    np.testing.assert_array_equal(read_array(chain.decided.build_folder(context), "thresholds"), expected)
    assert chain.calibrated is not None
    slope = read_array(chain.calibrated.build_folder(context), "calibration.slope")
    np.testing.assert_array_equal(slope, fit_platt(scores, labels).slope)


@pytest.mark.parametrize("rule", ["tuned", "pcut", "break-even"])
def test_no_threshold_of_training_scores_is_set_by_names(rule: str, tmp_path: Path) -> None:
    settings = {"rule": rule, "per_document": "tuned"} if rule == "pcut" else {"rule": rule}
    plan, context = run_with_names(tmp_path, True, threshold=settings)
    chain = plan.chains[0]
    problem, model = chain.assemble_problem(context), load_model(chain.trained.build_folder(context))
    X, labels = problem.X[:15], problem.labels[:15]
    own = LearningProblem(X, labels, None, 1)
    expected, per_document = fit_thresholds(chain.settings, own, lambda: model, pytest.fail, lambda: None)
    folder = chain.decided.build_folder(context)
    np.testing.assert_array_equal(read_array(folder, "thresholds"), expected)
    if per_document is not None:
        assert read_array(folder, "per_document") == per_document


def test_a_fold_learns_from_all_names(tmp_path: Path) -> None:
    plan, context = run_with_names(tmp_path, False, calibration={"method": "temperature", "folds": 3})
    problem = plan.chains[0].assemble_problem(context)
    parts = problem.make_folds(3, problem.seed)
    assert sorted(np.concatenate([held for _, held in parts])) == list(range(15))
    for kept, held in parts:
        assert list(kept[-3:]) == [15, 16, 17] and len(kept) + len(held) == 18
        inner = problem.rows(kept)
        assert (inner.documents, inner.names) == (10, 3)
        assert {row for _, each in inner.make_folds(2, 1) for row in each} == set(range(10))


def test_a_model_made_in_python_learns_the_names_that_the_file_asks_for(tmp_path: Path) -> None:
    plan, context = run_with_names(tmp_path, False, calibration={"method": "temperature", "folds": 3})
    by_command = assemble_categorizer(plan, plan.chains[0], context)
    lines = (tmp_path / "few.csv").read_text().splitlines()[1:]
    rows = [line.split(",") for line in lines if line.endswith(",train")]
    texts, labels = [row[1] for row in rows], [row[2] for row in rows]
    in_python = Categorizer.fit(texts, labels, tmp_path / "few.yaml")
    own = [list(by_command.categories).index(name) for name in in_python.categories]
    assert len(own) == 3 and len(texts) == 15
    documents = in_python.make_documents(texts)
    np.testing.assert_allclose(in_python.scores(documents), by_command.scores(documents)[:, own], rtol=1e-6)
    np.testing.assert_allclose(in_python.decision_rule.priors, by_command.decision_rule.priors[own])


def test_names_are_not_counted_as_documents(tmp_path: Path) -> None:
    plan, context = run_with_names(tmp_path, False, calibration={"method": "temperature", "folds": 3})
    results = collect_results(plan, context)
    assert results["corpus"]["train_documents"] == 15
    assert results["beside"]["collection"]["measures"]["collection.train_documents"] == 15
    assert sum(results["corpus"]["train_counts"].values()) == 15
    vectors = read_vectors(plan.chains[0].vectorized.build_folder(context))
    assert vectors.names == 3 and vectors.priors.sum() == pytest.approx(1.0)
    with_names = vectors.train_labels.shape[0]
    assert with_names == 18
    model = load_model(plan.chains[0].trained.build_folder(context))
    wrong = (model.scores(vectors.train[:15]).argmax(axis=1) != find_columns(vectors.own_labels)).sum()
    assert results["runs"]["svm"]["measures"]["train.micro.errors"] == 2 * wrong


def test_no_random_split_tests_a_name(tmp_path: Path) -> None:
    plan, context = run_with_names(tmp_path, False, resample={"kind": "folds", "number": 3})
    tested: list[str] = []
    for chain in plan.chains:
        vectors = read_vectors(chain.vectorized.build_folder(context))
        tested += vectors.test_ids
        assert vectors.names == 3
        assert [each.startswith(LABEL_NAME) for each in vectors.train_ids].count(True) == 3
    assert len(tested) == 46
    assert not any(each.startswith(LABEL_NAME) for each in tested)


def test_names_are_tried_only_where_labels_have_few_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert NAMES not in Space.read().choices and NAMES in Space.read(label_names=True).choices
    experiment = read_own(write_few(tmp_path / "few.csv"))
    monkeypatch.setattr(tune_documents, "FEW_DOCUMENTS", 3)
    documents = TrainingDocuments.read(experiment, RunContext(tmp_path / "data"))
    assert len(documents.names) == 0 and documents.number == len(documents.rows)


def test_many_words_and_labels_are_tuned_without_n_grams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = read_own(write_few(tmp_path / "few.csv"))
    documents = TrainingDocuments.read(experiment, RunContext(tmp_path / "data"))
    words = len(documents.count(tune_documents.SINGLE_WORDS).documents.terms)
    monkeypatch.setattr(tune_documents, "MOST_WEIGHTS", words * len(documents.categories))
    assert not documents.is_large
    monkeypatch.setattr(tune_documents, "MOST_WEIGHTS", words * len(documents.categories) - 1)
    report = tune(tmp_path, experiment, configurations=4).report
    assert {each["options"]["words"] for each in report["candidates"]} == {"1"}
    assert {each["options"]["characters"] for each in report["candidates"]} == {"none"}


@pytest.mark.parametrize("own_divisions", [False, True])
def test_the_search_of_each_category_holds_no_name_out(own_divisions: bool) -> None:
    draw = np.random.default_rng(5)
    X = csr_matrix(draw.random((43, 6)) * (draw.random((43, 6)) < 0.6))
    Y = np.column_stack([X.toarray()[:, 0] > 0.3, draw.random(43) < 0.5])
    search = SearchSettings(
        parameter="variance",
        grid=[10.0, 1.0],
        folds=4,
        use=4,
        criterion="log-likelihood",
        per_category=True,
        own_divisions=own_divisions,
    )
    settings: dict[str, Any] = {"loss": "logistic", "prior": "gaussian", "algorithm": "column"}
    parameters = validate_parameters("linear", {**settings, "stop": "optimality", "tolerance": 1e-9})
    problem = LearningProblem(X, Y, None, 1, names=3)
    _, choice = find_learner("linear").search_each_category(problem, parameters, search, 1, None)
    drawn = np.random.default_rng(search.seed)
    parts = [drawn.permutation(40) % 4 for _ in range(2 if own_divisions else 1)] * (
        1 if own_divisions else 2
    )
    expected = np.zeros((2, 2))
    for number, variance in enumerate([1.0, 10.0]):
        for category, part in enumerate(parts):
            for held in (np.flatnonzero(part == k) for k in range(4)):
                kept = np.setdiff1d(np.arange(43), held)
                lam = lam_from_variance(variance, 43) * (1 if own_divisions else 43 / len(kept))
                weight = np.isin(np.arange(43), kept).astype(np.float64) if own_divisions else None
                rows = np.arange(43) if own_divisions else kept
                model = fit(
                    X[rows],
                    Y[rows, category],
                    lam=lam,
                    sample_weight=weight,
                    tol=1e-9,
                    options={"stop": "optimality"},
                    **settings,
                )
                signs = np.where(Y[held, category], 1.0, -1.0)
                expected[number, category] -= np.logaddexp(0, -signs * model.scores(X[held])[:, 0]).sum()
    np.testing.assert_allclose(choice.likelihood, expected, rtol=1e-5)


def test_the_criterion_of_a_search_has_no_threshold_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(6)
    X, Y = csr_matrix(draw.random((33, 4))), draw.random((33, 2)) < 0.5
    sizes: list[int] = []
    monkeypatch.setattr(
        held_out,
        "set_thresholds",
        lambda rule, scores, labels: sizes.append(len(scores)) or set_thresholds(rule, scores, labels),
    )
    parameters = {"loss": "logistic", "algorithm": "fast", "cost": 1}
    run = RunSettings(
        learner="linear",
        parameters=parameters,
        search=SearchSettings(parameter="cost", grid=[1.0], folds=3, criterion="micro.f1"),
    )
    search_parameter(run, LearningProblem(X, Y, None, 1, names=3), RunContext(Path()))
    assert sizes == [20, 20, 20]
