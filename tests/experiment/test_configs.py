"""Experiment files: every one of ours resolves; every fault is one message at its place."""

from __future__ import annotations

import json
from pathlib import Path

import pydantic
import pytest

from tests.loops import for_each
from textcat.corpora import OWN_TEXT_FORMATS
from textcat.errors import UsageError
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.spec.schema import make_experiment_schema

PLAIN = """title: A trial
corpus: {name: reuters21578}
runs:
  one:
    learner: CLS
"""


@for_each(
    ("change", "place", "message"),
    [
        (("title", "titel"), "1:1", "Did you mean title?"),
        (("name: reuters21578", "nmae: reuters21578"), "2:10", "Did you mean name?"),
        (("learner: CLS", "learner: CLX"), "5:5", "Did you mean CLS or CLG?"),
        (("learner: CLS", "learner: CLS\n    parameters: {lamda: 1}"), "6:18", "Did you mean lam?"),
        (("learner: CLS", "learner: CLS\n    parameters: {lam: -1}"), "6:18", "greater than 0"),
        (("learner: CLS", "learner: CLS\n    selection: {features: none}"), "6:17", "features"),
        (("learner: CLS", "learner: CLS\n    thresholds: {}"), "6:5", "Did you mean threshold?"),
        (("learner: CLS", "learner: CLS\n    learner: CLG"), "6:5", "is given twice"),
        (("learner: CLS", "learner: CLS\n    threshold: {rule: expected-f1}"), "4:3", "needs probabilities"),
        (("learner: CLS", "learner: CLS\n    calibration: {method: plat}"), "6:19", "platt"),
        (("learner: CLS", "learner: CLS\n    threshold: {per_document: 0}"), "6:17", "per_document"),
        (
            ("learner: CLS", "learner: CLS\n    text: {groups: [{ngram: [1, 2]}]}"),
            "6:22",
            "Did you mean ngrams or norm?",
        ),
    ],
)
def test_faults_are_shown_at_their_place(
    tmp_path: Path, change: tuple[str, str], place: str, message: str
) -> None:
    path = tmp_path / "trial.yaml"
    path.write_text(PLAIN.replace(*change))
    with pytest.raises(UsageError, match=message.replace("?", r"\?")) as caught:
        load_experiment(path)
    assert f"trial.yaml:{place}" in str(caught.value)


@for_each(
    "run",
    [
        "learner: CLG",
        "learner: softmax",
        "learner: linear\n    parameters: {loss: logistic}",
        "learner: CLS\n    calibration: {method: isotonic}",
        "learner: CLS\n    calibration: {}\ncalibration: {folds: 3}",
    ],
)
def test_expected_f1_takes_probabilities_from_the_learner_or_a_calibration(tmp_path: Path, run: str) -> None:
    path = tmp_path / "trial.yaml"
    path.write_text(PLAIN.replace("learner: CLS", run) + "threshold: {rule: expected-f1}\n")
    assert load_experiment(path).runs["one"].threshold.rule == "expected-f1"


OWN = """title: t
corpus: {name: NAME, path: x}
runs: {a: {learner: CLG, text: {stem: porter_martin}}, b: {learner: CLG}}
"""


@for_each("name", OWN_TEXT_FORMATS)
def test_own_documents_are_tokenized_for_any_script(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN.replace("NAME", name))
    experiment = load_experiment(path)
    texts = [experiment.text, experiment.runs["a"].text, experiment.runs["b"].text]
    assert [text.tokenizer for text in texts] == ["unicode"] * 3
    assert experiment.runs["a"].text.stem == "porter_martin"
    path.write_text(OWN.replace("NAME", name) + "text: {tokenizer: words}\n")
    assert load_experiment(path).runs["a"].text.tokenizer == "words"


@for_each("name", ["reuters21578", "rcv1-like"])
def test_other_documents_keep_their_tokenizer(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(OWN.replace("NAME", name))
    assert load_experiment(path).runs["b"].text.tokenizer == "alphabetic"


@pytest.mark.skipif(
    tuple(map(int, pydantic.VERSION.split(".")[:2])) < (2, 11),
    reason="older versions of pydantic spell the same schema in other words",
)
def test_the_schema_in_the_repository_is_the_models() -> None:
    written = Path(__file__).resolve().parents[2] / "configs" / "experiment.schema.json"
    assert json.loads(written.read_text()) == make_experiment_schema(), (
        "configs/experiment.schema.json is old: textcat show --schema > configs/experiment.schema.json"
    )


@for_each("line", ["name: ../../other", "name: /tmp/other", "name: a/./b", "name: .hidden"])
def test_names_do_not_lead_out_of_the_results(tmp_path: Path, line: str) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(f"title: t\ncorpus: {{name: reuters21578}}\nruns: {{a: {{learner: CLG}}}}\n{line}\n")
    with pytest.raises(UsageError, match=r"e\.yaml:4:1: .*cannot name a folder"):
        load_experiment(path)


@for_each("name", ["../../models", "/", ".", "a/b", "''", "x\\0"])
def test_runs_are_named_like_folders(tmp_path: Path, name: str) -> None:
    path = tmp_path / "e.yaml"
    quoted = name if name == "''" else f'"{name}"'
    path.write_text(f"title: t\ncorpus: {{name: reuters21578}}\nruns: {{{quoted}: {{learner: CLG}}}}\n")
    with pytest.raises(UsageError, match="cannot name a run"):
        load_experiment(path)
