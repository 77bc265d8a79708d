"""A categorizer as a pipeline of scikit-learn and as ONNX: the same answers, or what stands in the way."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.experiment.own_table import table
from tests.loops import for_each
from textcat import Categorizer
from textcat.errors import UsageError
from textcat.sklearn.pipeline_export import convert_to_onnx, make_pipeline_of
from textcat.thresholds.calibration import Temperature

KEPT = {"weighting": "log_tf_idf", "cosine": True, "cosine_terms": "kept"}
WORDS = {"groups": [{"ngrams": [1, 2]}]}
BOTH = {
    "groups": [
        {"ngrams": [1, 2], "weight": 2.0},
        {"analyzer": "char_wb", "ngrams": [2, 4], "weighting": "log_tf"},
    ]
}
EXPORTED: dict[str, dict[str, Any]] = {
    "words": {"vector": KEPT},
    "n-grams": {"text": BOTH},
    "characters": {"text": {"groups": [{"analyzer": "char", "ngrams": [1, 3], "norm": "l1"}]}},
    "binary": {"vector": {"weighting": "binary", "cosine": False}},
    "tf": {
        "vector": {"weighting": "tf_idf", "norm": "l1", "cosine_terms": "kept"},
        "text": {"lowercase": False},
    },
    "softmax": {"learner": "softmax", "calibration": None, "text": WORDS},
    "svm": {"calibration": None, "text": WORDS},
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str], list[str]]:
    folder = tmp_path_factory.mktemp("rows")
    table(folder, documents=120, single=True)
    found = [line.split(",") for line in (folder / "documents.csv").read_text().splitlines()[1:]]
    texts = [row[1] for row in found]
    new = [f"{text.upper()} unknown, Words! été {k}" for k, text in enumerate(texts[:30])]
    odd = [
        f" {texts[0]}\n\t{texts[1]} ",
        "\u3000",
        f"\0{texts[2]}\x1c\x85\ud800",
        "\u0130 \u039f\u0394\u039f\u03a3 e\u0301 \ufb01\r\n",
    ]
    return texts, [row[2] for row in found], [*new, *odd, "", "nothing known"]


@pytest.mark.parametrize("name", EXPORTED)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_pipeline_gives_the_same_answers(rows: Any, name: str, classes: int) -> None:
    texts, labels, new = rows
    if classes == 2:
        labels = ["red" if label == "red" else "other" for label in labels]
    model = Categorizer.fit(texts, labels, EXPORTED[name])
    pipeline = make_pipeline_of(model)
    for some in (texts, new):
        scores = model.scores(model.make_documents(some))
        theirs = pipeline.decision_function(some)
        inverse = getattr(model.decision_rule.calibration, "inverse", np.ones(1))[0]
        expected = (scores[:, 1] - scores[:, 0] if classes == 2 else scores) * inverse
        assert np.abs(theirs - expected).max() < 1e-9 * max(1.0, inverse)
        clear = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0] > 1e-9
        assert (pipeline.predict(some)[clear] == np.array(model.predict(some))[clear]).all()
        if name != "svm":
            assert np.abs(pipeline.predict_proba(some) - model.predict_proba(some)).max() < 1e-9
    assert not hasattr(pipeline, "predict_proba") or name != "svm"


def test_scores_decide_where_all_classes_are_equally_probable(rows: Any) -> None:
    """A calibration by held-out scores that are worth nothing finds the inverse temperature 0."""
    texts, labels, new = rows
    fitted = Categorizer.fit(texts, labels, EXPORTED["words"])
    rule = replace(fitted.decision_rule, calibration=Temperature(np.zeros(1)))
    model = replace(fitted, decision_rule=rule)
    pipeline = make_pipeline_of(model)
    assert pipeline.predict([*texts, *new]).tolist() == model.predict([*texts, *new])
    assert np.abs(pipeline.predict_proba(new) - model.predict_proba(new)).max() < 1e-9


def test_a_pipeline_needs_no_textcat(rows: Any, tmp_path: Path) -> None:
    texts, labels, new = rows
    model = Categorizer.fit(texts, labels, EXPORTED["n-grams"])
    (tmp_path / "pipeline.pickle").write_bytes(
        pickle.dumps((make_pipeline_of(model), new, model.predict(new)))
    )
    code = (
        "import pickle, sys\n"
        f"pipeline, texts, labels = pickle.load(open({str(tmp_path / 'pipeline.pickle')!r}, 'rb'))\n"
        "assert pipeline.predict(texts).tolist() == labels\n"
        "assert 'textcat' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "cosine_terms: all"),
    ({"text": WORDS | {"stem": "porter_original"}}, "stop list or a stemmer"),
    ({"text": WORDS | {"digits": "hash"}}, "accents or digits"),
    ({"text": {"groups": [{"ngrams": [1, 1], "weighting": "bm25"}]}}, "bm25"),
    ({"text": {"groups": [{"ngrams": [1, 1], "bits": 12}]}}, "hashed"),
    ({"text": {"groups": [{"first_words": 5}]}}, "first words"),
    ({"text": WORDS, "calibration": {"method": "platt"}}, "not by temperature"),
    ({"text": WORDS, "reject": {"coverage": 0.9}}, "rejects documents"),
    ({"text": WORDS | {"fields": ["text"], "separate_fields": ["text"]}}, "terms name their field"),
]


@for_each(("settings", "message"), REFUSED)
def test_what_stands_in_the_way_is_said(rows: Any, settings: dict[str, Any], message: str) -> None:
    texts, labels, _ = rows
    with pytest.raises(UsageError, match=message):
        make_pipeline_of(Categorizer.fit(texts, labels, settings))


def test_several_labels_cannot_be_written(rows: Any) -> None:
    texts, labels, _ = rows
    model = Categorizer.fit(
        texts, [[label] if k % 3 else [label, "x"] for k, label in enumerate(labels)], {"text": WORDS}
    )
    with pytest.raises(UsageError, match="several labels"):
        make_pipeline_of(model)


def test_onnx_gives_the_same_answers(rows: Any) -> None:
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    texts, labels, new = rows
    model = Categorizer.fit(texts, labels, {"text": WORDS})
    session = runtime.InferenceSession(convert_to_onnx(model).SerializeToString())
    names, probabilities = session.run(None, {"texts": np.array(texts + new[:-6], dtype=object)})
    assert names.tolist() == model.predict(texts + new[:-6])
    found = np.array([[row[name] for name in model.categories] for row in probabilities])
    assert np.abs(found - model.predict_proba(texts + new[:-6])).max() < 1e-4


def run_onnx(model: Categorizer, texts: list[str]) -> list[Any]:
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(convert_to_onnx(model).SerializeToString())
    found: list[Any] = session.run(None, {"texts": np.array(texts, dtype=object)})
    return found


@pytest.mark.parametrize("classes", [2, 3])
def test_onnx_gives_scores_where_there_are_no_probabilities(rows: Any, classes: int) -> None:
    texts, labels, _ = rows
    if classes == 2:
        labels = ["red" if label == "red" else "other" for label in labels]
    model = Categorizer.fit(texts, labels, EXPORTED["svm"])
    names, scores = run_onnx(model, texts)
    assert names.tolist() == model.predict(texts)
    expected = make_pipeline_of(model).decision_function(texts)
    assert np.abs((scores[:, 1] if classes == 2 else scores) - expected).max() < 1e-4


def test_onnx_counts_words_that_occur_twice(rows: Any) -> None:
    """skl2onnx writes another logarithm of counts than scikit-learn's."""
    texts, labels, _ = rows
    vector = {"weighting": "log_tf", "cosine": False}
    model = Categorizer.fit(texts, labels, {"text": WORDS, "vector": vector, "calibration": None})
    new = [f"{text} {text} {texts[0]}" for text in texts]
    _, scores = run_onnx(model, new)
    assert np.abs(scores - make_pipeline_of(model).decision_function(new)).max() < 1e-4


def test_onnx_divides_text_at_any_white_space(rows: Any) -> None:
    texts, labels, _ = rows
    model = Categorizer.fit(texts, labels, {"text": WORDS | {"tokenizer": "whitespace"}})
    first, second = (texts[labels.index(name)].split() for name in ("red", "blue"))
    new = [
        space.join([*first, *second[:3], *first])
        for space in " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u2003\u2028\u3000"
    ]
    _, probabilities = run_onnx(model, new)
    found = np.array([[row[name] for name in model.categories] for row in probabilities])
    assert np.abs(found - model.predict_proba(new)).max() < 1e-4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (EXPORTED["n-grams"], "does not support n-grams of characters"),
        (EXPORTED["characters"], "does not support n-grams of characters"),
        ({"text": WORDS | {"tokenizer": "words"}}, "cannot express the tokenizer words"),
    ],
)
def test_what_cannot_be_written_as_onnx_is_said(
    rows: Any, settings: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, labels, _ = rows
    types = SimpleNamespace(StringTensorType=list)
    monkeypatch.setitem(sys.modules, "skl2onnx", SimpleNamespace(to_onnx=None))
    monkeypatch.setitem(sys.modules, "skl2onnx.common", SimpleNamespace(data_types=types))
    monkeypatch.setitem(sys.modules, "skl2onnx.common.data_types", types)
    with pytest.raises(UsageError, match=message):
        convert_to_onnx(Categorizer.fit(texts, labels, settings))
