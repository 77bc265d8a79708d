"""`from textcat import Categorizer, tune`: the answers of the command line, kept in the same model directories."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import textcat
from tests.experiment.own_table import carried_out, table
from textcat import Categorizer
from textcat.errors import DataNotAvailableError, TextcatError, UsageError
from textcat.serving.export import assemble_categorizer

LOGISTIC = {"learner": "linear", "parameters": {"loss": "logistic", "cost": 10}}
RUNS: dict[str, dict[str, Any]] = {
    "temperature": LOGISTIC | {"calibration": {"method": "temperature"}, "reject": {"coverage": 0.9}},
    "softmax": {"learner": "softmax"},
    "selected": LOGISTIC | {"selection": {"features": 12}},
    "bayes": {"learner": "naive_bayes"},
    "groups": LOGISTIC
    | {
        "text": {
            "groups": [{"ngrams": [1, 2]}, {"analyzer": "char_wb", "ngrams": [2, 4], "weighting": "bm25"}]
        }
    },
}
RULES: dict[str, dict[str, Any]] = {
    "pcut": {"rule": "pcut", "per_document": "tuned", "cross_validated": True},
    "tuned": {"rule": "tuned"},
    "rcut": {"rule": "rcut", "per_document": "training"},
    "expected-f1": {"rule": "expected-f1", "cross_validated": True},
    "scut": {"rule": "scut-fbr", "cross_validated": True, "folds": 3},
}


def read_rows(folder: Path) -> list[list[str]]:
    return [line.split(",") for line in (folder / "documents.csv").read_text().splitlines()[1:]]


def compare(folder: Path, settings: dict[str, Any], single: bool) -> None:
    """A run trained by stages and the same run trained in memory give the same numbers."""
    corpus = {"single_label": single, "categories": "train"}
    plan, context, _ = carried_out(
        folder, {"runs": {"one": settings}, "corpus": corpus, "seed": 1}, single=single
    )
    trained = assemble_categorizer(plan, plan.chains[0], context)
    rows = read_rows(folder)
    train = [row for row in rows if row[3] == "train"]
    texts = [row[1] for row in rows]
    labels: Any = [row[2] if single else row[2].split() for row in train]
    # `fields` is what the small experiment of the tests sets, the tokenizer what own documents get.
    full = {"text": {"fields": ["text"]}, "vector": {"weighting": "binary", "cosine": False}, **settings}
    full["text"] = {"fields": ["text"]} | full["text"]
    full.setdefault("calibration", None)
    full.setdefault("threshold", {"rule": "default"})
    ours = Categorizer.fit([row[1] for row in train], labels, full)
    assert ours.categories == trained.categories
    theirs = trained.scores(trained.make_documents(texts))
    scores = ours.scores(ours.make_documents(texts))
    assert np.array_equal(scores, theirs)
    assert np.array_equal(ours.decisions(scores), trained.decisions(theirs))
    assert np.array_equal(ours.decision_rule.thresholds, trained.decision_rule.thresholds)
    expected, found = trained.probabilities(theirs), ours.probabilities(scores)
    assert (expected is None) == (found is None)
    if expected is not None and found is not None:
        assert np.array_equal(expected, found)


@pytest.mark.parametrize("name", RUNS)
def test_training_in_memory_is_training_by_stages_for_one_label(tmp_path: Path, name: str) -> None:
    compare(tmp_path, RUNS[name], single=True)


@pytest.mark.parametrize("rule", RULES)
def test_training_in_memory_is_training_by_stages_for_several_labels(tmp_path: Path, rule: str) -> None:
    compare(tmp_path, LOGISTIC | {"calibration": {"method": "platt"}, "threshold": RULES[rule]}, single=False)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    folder = tmp_path_factory.mktemp("rows")
    table(folder, documents=120, single=True)
    rows = read_rows(folder)
    return [row[1] for row in rows], [row[2] for row in rows]


def test_a_saved_model_gives_the_same_answers_to_python_and_to_the_command(
    documents: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts, labels = documents
    fitted = Categorizer.fit(texts, labels)
    assert np.mean([a == b for a, b in zip(fitted.predict(texts), labels, strict=True)]) > 0.8
    fitted.save(tmp_path / "new" / "model")
    fitted.save(tmp_path / "new" / "model")
    loaded = Categorizer.load(tmp_path / "new" / "model")
    assert loaded.predict(texts) == fitted.predict(texts)
    assert np.array_equal(loaded.predict_proba(texts), fitted.predict_proba(texts))
    assert loaded.predict_proba(texts).sum(axis=1) == pytest.approx(1.0)
    (tmp_path / "new.txt").write_text("\n".join(texts[:5]) + "\n")
    command = [sys.executable, "-c", "from textcat.cli.main import main; main()", "predict"]
    done = subprocess.run(
        [*command, str(tmp_path / "new" / "model"), str(tmp_path / "new.txt")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [json.loads(line)["labels"][0] for line in done.stdout.splitlines()] == fitted.predict(texts[:5])
    assert pickle.loads(pickle.dumps(fitted)).predict(texts) == fitted.predict(texts)
    with pytest.raises(DataNotAvailableError):
        Categorizer.load(tmp_path)


def test_explanations_add_up_to_the_score(documents: tuple[list[str], list[str]]) -> None:
    texts, labels = documents
    fitted = Categorizer.fit(texts, labels)
    for category in fitted.categories:
        parts = fitted.explain(texts[3], category)
        constant = float(fitted.model.intercept[list(fitted.categories).index(category)])  # type: ignore[attr-defined]
        score = fitted.scores(fitted.make_documents([texts[3]]))[0, list(fitted.categories).index(category)]
        assert sum(weight for _, weight in parts) + constant == pytest.approx(score)
        sizes = [abs(weight) for _, weight in parts]
        assert sizes == sorted(sizes, reverse=True)
    best = fitted.predict([texts[3]])[0]
    assert fitted.explain(texts[3]) == fitted.explain(texts[3], best)


def test_several_labels_are_lists_and_settings_may_be_a_file(
    documents: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts, labels = documents
    several = Categorizer.fit(texts, [[label, "all"] if k % 2 else [label] for k, label in enumerate(labels)])
    assert all(isinstance(found, list) for found in several.predict(texts))
    assert several.predict([]) == []
    experiment = {
        "corpus": {"name": "jsonl", "path": "x.jsonl", "single_label": True},
        "text": {"fields": ["text"]},
        "runs": {"nb": {"learner": "naive_bayes_multiclass"}},
    }
    (tmp_path / "x.yaml").write_text(yaml.safe_dump(experiment))
    from_file = Categorizer.fit(texts, labels, tmp_path / "x.yaml")
    assert from_file.run.learner == "naive_bayes_multiclass"
    with pytest.raises(UsageError, match="no probabilities"):
        from_file.predict_proba(texts)


WRONG: list[tuple[Any, Any, Any, str]] = [
    (["a", "b"], ["x"], None, "2 texts and 1 labels"),
    ([], [], None, "no text to learn from"),
    (["a", "b"], ["x", "x"], None, "every document has the label 'x'"),
    (["a", "b"], ["x", ["y"]], None, "the label of document 1"),
    (["a", "b"], [1, 2], None, "not text or a list of texts"),
    (["a", 3], ["x", "y"], None, "document 1 is int"),
    (["a", "b"], "xy", None, "labels are str, not a list"),
    (["a", "b"], {"a": "x", "b": "y"}, None, "labels are dict, not a list"),
    (["a", "b"], pd.DataFrame({"x": [1, 0], "y": [0, 1]}), None, "labels are DataFrame, not a list"),
    (pd.DataFrame({"a": ["c", "d"], "b": ["e", "f"]}), ["x", "y"], None, "a table of 2 dimensions"),
    ("ab", ["x", "y"], None, "one text, not a list"),
    ({"text": "a", "title": "b"}, ["x", "y"], None, "one text, not a list"),
    ([{"body": "a"}, {"body": "b"}], ["x", "y"], None, "document 0: none of the fields text"),
    ([{"text": "a"}, {"text": float("nan")}], ["x", "y"], None, "document 1: none of the fields text"),
    (["a", "b"], ["x", "y"], {"learner": "svm"}, "no learner 'svm'"),
    (["a", "b"], ["x", "y"], {"lerner": "smo"}, "lerner"),
    (["a", "b"], ["x", "y"], {"projection": {"dimensions": 2}}, "without `search` and `projection`"),
]


@pytest.mark.parametrize(("texts", "labels", "settings", "message"), WRONG)
def test_wrong_input_is_refused_with_what_is_wrong(
    texts: Any, labels: Any, settings: Any, message: str
) -> None:
    with pytest.raises(TextcatError, match=message):
        Categorizer.fit(texts, labels, settings)


def test_saving_replaces_a_model_but_no_other_files(
    documents: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts, labels = documents
    folder, file = tmp_path / "papers", tmp_path / "letter"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    file.write_text("Dear")
    (tmp_path / "empty").mkdir()
    fitted = Categorizer.fit(texts, labels)
    for path in (folder, file):
        with pytest.raises(UsageError, match="would replace other files"):
            fitted.save(path)
    assert (folder / "thesis.txt").read_text() == "years of work"
    assert file.read_text() == "Dear"
    fitted.save(tmp_path / "empty")
    other = Categorizer.fit(texts, labels, {"learner": "softmax", "calibration": None})
    other.save(tmp_path / "empty")
    assert np.array_equal(
        Categorizer.load(tmp_path / "empty").predict_proba(texts), other.predict_proba(texts)
    )


def test_labels_may_come_one_after_another(documents: tuple[list[str], list[str]]) -> None:
    texts, labels = documents
    listed = Categorizer.fit(texts, [[label] for label in labels])
    passing = Categorizer.fit(iter(texts), (iter([label]) for label in labels))
    assert passing.predict(texts) == listed.predict(texts)
    assert np.array_equal(passing.decision_rule.priors, listed.decision_rule.priors)


def test_a_column_of_a_table_is_a_list_of_texts_and_a_table_is_not(
    documents: tuple[list[str], list[str]],
) -> None:
    texts, labels = documents
    rows = pd.DataFrame({"text": texts, "label": labels})
    fitted = Categorizer.fit(rows["text"], rows["label"])
    assert fitted.predict(rows["text"]) == fitted.predict(texts)
    for wrong in (rows[["text"]], np.array(texts)[:, None]):
        with pytest.raises(UsageError, match="a table of 2 dimensions"):
            fitted.predict(wrong)


def test_documents_without_text_for_the_model_get_no_answer(documents: tuple[list[str], list[str]]) -> None:
    texts, labels = documents
    fitted = Categorizer.fit(texts, labels)
    named = [{"text": text, "title": None} for text in texts]
    assert fitted.predict(named) == fitted.predict(texts)
    for wrong in ({"body": texts[0]}, {"text": None}):
        with pytest.raises(TextcatError, match="none of the fields text"):
            fitted.predict([named[0], wrong])


def test_threads_share_a_categorizer(documents: tuple[list[str], list[str]]) -> None:
    texts, labels = documents
    fitted = Categorizer.fit(texts, labels)
    draw = np.random.default_rng(1)
    batches = [
        [f"{text} {' '.join(map(str, draw.integers(10**6, size=200)))}" for text in texts[:20]]
        for _ in range(16)
    ]

    def score(batch: list[str]) -> np.ndarray:
        return fitted.scores(fitted.make_documents(batch))

    expected = [score(batch) for batch in batches]
    fitted._reader._forget()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(score, batches))
    finally:
        sys.setswitchinterval(before)
    for ours, theirs in zip(expected, found, strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12)


def test_tune_searches_the_documents_that_it_trains_on(documents: tuple[list[str], list[str]]) -> None:
    texts, labels = documents

    def run(*given: Any) -> np.ndarray:
        return textcat.tune(*given, time=None, configurations=1, folds=3).predict_proba(texts)

    assert np.array_equal(run([{"text": text} for text in texts], np.array(labels)), run(texts, labels))
    for wrong, odd in (
        ("".join(texts), labels),
        (texts, [labels[0] + " ", *labels[1:]]),
        (texts, ["", *labels[1:]]),
    ):
        with pytest.raises(UsageError, match=r"one text|space around it"):
            run(wrong, odd)
    with pytest.raises(TextcatError, match="none of the fields text"):
        run([{"title": text} for text in texts], labels)


def test_a_single_text_is_not_a_list_of_texts(documents: tuple[list[str], list[str]]) -> None:
    fitted = Categorizer.fit(*documents)
    with pytest.raises(UsageError, match=r"Write \[text\]"):
        fitted.predict("bala bele")


def test_tune_returns_a_model_of_all_documents(
    documents: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts, labels = documents
    found = textcat.tune(texts, labels, time=None, configurations=2, folds=3)
    again = textcat.tune(texts, labels, time=None, configurations=2, folds=3)
    assert isinstance(found, Categorizer)
    assert np.array_equal(found.predict_proba(texts), again.predict_proba(texts))
    assert len(found.categories) == 3
    # Where the search chose so, the names of the three labels are documents too.
    assert found.vectorizer.documents - len(texts) in (0, 3)
    found.save(tmp_path / "tuned")
    assert Categorizer.load(tmp_path / "tuned").predict(texts) == found.predict(texts)


def test_importing_textcat_imports_no_numpy() -> None:
    check = "import sys, textcat; assert 'numpy' not in sys.modules; textcat.Categorizer; assert 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = textcat.nothing


@pytest.mark.parametrize("without", [0, 1])
def test_each_text_gets_a_label_where_each_has_one(without: int) -> None:
    texts = ["red apple", "green leaf", "red leaf", "blue sky"] * 6
    labels = [["red"], ["green"], ["red", "green"], ["blue"]] * 6
    labels[:without] = [[]] * without
    model = Categorizer.fit(texts, labels)
    assert model.run.threshold.shrinkage == (0 if without else 5)
    assert model.run.threshold.at_least_one == (not without)
    if not without:
        assert all(model.predict(["no known word", "red", "blue apple"]))
