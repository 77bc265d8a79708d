"""`textcat predict` decides about real test documents as `textcat evaluate` did, whatever the rule."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.serving.evaluated import Evaluated, evaluate_and_export
from textcat.cli.main import group
from textcat.corpora import open_corpus
from textcat.experiment.context import RunContext
from textcat.serving.categorizer import read_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.predict import predict_lines

pytestmark = pytest.mark.slow

TOPICS = ["earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "rye"]
EXPERIMENT = f"""title: Every rule on real stories
corpus: {{name: reuters21578, split: modapte, categories: [{", ".join(TOPICS)}]}}
text: {{tokenizer: trec, stem: porter_lemur, stop_list: smart, fields: [title, body], separate_fields: [title]}}
vector: {{weighting: log_tf_idf, cosine: true, minimum_documents: 3}}
threshold: {{cross_validated: true, folds: 2}}
runs:
"""
FAST = "algorithm: fast, stop: optimality, tolerance: 1.0e-3"
LOGISTIC = f"learner: linear, parameters: {{loss: logistic, cost: 1, {FAST}}}"
BAYES = "learner: naive_bayes"
LATENT = f"learner: linear, parameters: {{loss: hinge, cost: 1, {FAST}}}, projection: {{dimensions: 20}}"
# The eigenvectors of a matrix as large as the number of terms are computed.
LATENT += ", vector: {minimum_documents: 150}"
RUNS = {
    "words": (LOGISTIC + ", text: {tokenizer: words, stem: none, separate_fields: []}", "{rule: scut}"),
    "bodies": (LOGISTIC + ", text: {fields: [body], separate_fields: [], stop_list: none}", "{rule: tuned}"),
    "counts": (LOGISTIC + ", vector: {weighting: log_tf, cosine_terms: kept}", "{rule: break-even}"),
    "scut": (LOGISTIC, "{rule: scut}"),
    "scut_fbr": (LOGISTIC, "{rule: scut-fbr, fallback: 1}"),
    "pcut": (LOGISTIC, "{rule: pcut, per_document: tuned}"),
    "at_least_one": (LOGISTIC, "{rule: pcut, per_document: tuned, shrinkage: 20, at_least_one: true}"),
    "pcut_on_set": (LOGISTIC, "{rule: pcut, per_document: training, cross_validated: false}"),
    "expected_on_set": (LOGISTIC, "{rule: expected-f1, cross_validated: false}"),
    "rcut": (BAYES + ", calibration: {folds: 2}", "{rule: rcut, per_document: tuned}"),
    "expected": (
        BAYES + ", selection: {features: 300}, calibration: {method: isotonic, folds: 2}",
        "{rule: expected-f1}",
    ),
    "latent": (LATENT + ", calibration: {method: platt, folds: 2}", "{rule: tuned}"),
}
EXPERIMENT += "".join(
    f"  {name}: {{{learner}, threshold: {rule}}}\n" for name, (learner, rule) in RUNS.items()
)


@dataclass(frozen=True)
class Real:
    models: Path
    runs: dict[str, Evaluated]
    stories: list[NewDocument]


@pytest.fixture(scope="module")
def real(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Real:
    folder = tmp_path_factory.mktemp("real")
    experiment = folder / "rules.yaml"
    experiment.write_text(EXPERIMENT)
    context = RunContext(folder / "data", mirror)
    runs = evaluate_and_export(experiment, context, folder / "models")
    corpus = open_corpus("reuters21578", folder / "data" / "reuters21578", split="modapte")
    stories = [NewDocument(d.id, d.fields) for d in corpus.documents() if d.split == "test"]
    return Real(folder / "models", runs, stories)


@pytest.mark.parametrize("run", list(RUNS))
def test_labels_are_the_decisions_of_evaluate(real: Real, run: str) -> None:
    evaluated = real.runs[run]
    categorizer = read_categorizer(real.models / run)
    answers = [
        json.loads(line)
        for line in predict_lines(categorizer, real.stories, at_a_time=701, every_category=True)
    ]
    assert [answer["id"] for answer in answers] == evaluated.ids
    assert len(answers) == 3299
    assert [answer["labels"] for answer in answers] == evaluated.labels
    assert evaluated.decisions.sum() > 1000
    for name, expected in (("scores", evaluated.scores), ("probabilities", evaluated.probabilities)):
        ours = np.array([[answer[name][topic] for topic in evaluated.categories] for answer in answers])
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
@pytest.mark.parametrize("run", ["scut", "expected_on_set"])
def test_the_command_gives_the_same_from_files(real: Real, tmp_path: Path, run: str, form: str) -> None:
    rows = [{"id": story.id, **story.fields} for story in real.stories]
    path = tmp_path / f"stories.{form}"
    with path.open("w", encoding="utf-8", newline="") as stream:
        if form == "csv":
            writer = csv.DictWriter(stream, ["id", "title", "body"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        else:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
    given = CliRunner().invoke(group, ["predict", str(real.models / run), str(path), "--at-a-time", "500"])
    assert given.exit_code == 0, given.output
    evaluated = real.runs[run]
    answers = [json.loads(line) for line in given.stdout.splitlines()]
    assert [answer["labels"] for answer in answers] == evaluated.labels
    for answer in answers:
        assert list(answer["scores"]) == list(answer["probabilities"]) == answer["labels"]


def test_calibrated_probabilities_agree_with_frequencies(real: Real) -> None:
    """Of decisions given a probability near p, a share near p is right."""
    labels = _labels(real)
    for run in ("rcut", "expected", "latent"):
        probabilities = real.runs[run].probabilities
        for low, high in ((0.0, 0.05), (0.3, 0.7), (0.9, 1.0)):
            inside = (probabilities >= low) & (probabilities <= high)
            assert inside.sum() > 30
            assert abs(labels[inside].mean() - probabilities[inside].mean()) < 0.12


def _labels(real: Real) -> np.ndarray:
    """From the files once more: what the stories are labelled with."""
    corpus = open_corpus("reuters21578", real.models.parent / "data" / "reuters21578", split="modapte")
    tests = [d for d in corpus.documents() if d.split == "test"]
    return np.array([[topic in d.labels for topic in TOPICS] for d in tests])
