"""Whatever a run sets for itself, `textcat predict` decides about the test documents as `textcat evaluate` did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from tests.serving.evaluated import Evaluated, evaluate_and_export
from tests.serving.small_model import small_model
from textcat.cli.main import group
from textcat.errors import BadDataError, UsageError
from textcat.experiment.context import RunContext
from textcat.experiment.run.plan import make_plan
from textcat.experiment.spec.experiment import Experiment
from textcat.serving.categorizer import read_categorizer, write_categorizer
from textcat.serving.model_folders import write_checksums

SETTINGS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("every_setting.yaml").read_text()
)
LOGISTIC = {
    "learner": "linear",
    "parameters": {
        "loss": "logistic",
        "cost": 1,
        "algorithm": "fast",
        "stop": "optimality",
        "tolerance": 1e-3,
    },
}
RUNS = {
    name: LOGISTIC | (changed if section == "others" else {section: changed})
    for section, runs in SETTINGS.items()
    for name, changed in runs.items()
}
RUNS = {"base": LOGISTIC, **RUNS}
SHARED = {
    "text": {"tokenizer": "words", "fields": ["title", "body", "notes"]},
    "vector": {"weighting": "log_tf_idf", "cosine": True},
}
# A collection with one label a document decides by the highest score, whatever the rule.
OF_TWO_KINDS = [
    *SETTINGS["text"],
    *SETTINGS["vector"],
    *SETTINGS["selection"],
    *SETTINGS["projection"],
    "platt",
]
# Only the numbers of these runs differ from those of the run without settings of its own.
SAME_DECISIONS = {"platt", "isotonic"}
# All fields are merged, and all dimensions are a rotation of the words.
SAME_SCORES = {"other_order", "latent_full"}


@dataclass(frozen=True)
class Made:
    """An experiment carried out: its folder, with the models, and what was evaluated."""

    folder: Path
    runs: dict[str, Evaluated]

    def predict(self, run: str, *options: str) -> list[dict[str, Any]]:
        """The answers of the command for all test documents."""
        command = ["predict", str(self.folder / "models" / run), str(self.folder / "new.jsonl"), *options]
        given = CliRunner().invoke(group, command, standalone_mode=False)
        if given.exception:
            raise given.exception
        return [json.loads(line) for line in given.output.splitlines()]


TOPICS = {
    "grain": ["export", "harvest", "wheat-crop", "Farmer's", "U.S.", "A300"],
    "money": ["deposit", "relation", "Bank", "rate2", "U.K.", "naïve"],
    "ships": ["vessel", "connect", "tanker-port", "Owner's", "Über", "B52"],
    "steel": ["general", "operate", "mill", "US", "bank", "us"],
}
ENDINGS = ["", "", "s", "ed", "ing", "ion", "ional", "izers"]
COMMON = ["the", "after", "US", "bank", "however", "because", "market", "year", "company", "themselves"]


def write_documents(folder: Path, single_label: bool, documents: int = 360) -> None:
    """documents.jsonl with three fields and varied words; new.jsonl: its test documents."""
    draw = np.random.default_rng(5)
    names = list(TOPICS)
    with (folder / "documents.jsonl").open("w") as stream, (folder / "new.jsonl").open("w") as new:
        for number in range(documents):
            labels = [name for name in names if draw.random() < 0.35]
            if single_label:
                labels = [names[int(draw.integers(len(names)))]]
            fields = {
                field: _text(draw, labels, own, noise)
                for field, own, noise in (("title", 1, 2), ("body", 2, 14), ("notes", 1, 4))
            }
            side = "test" if number % 3 == 0 else "train"
            if side == "test":
                # Words that no training document has count towards the length of a document.
                fields["body"] += f" unseen{number} Never{number % 7}"
            record = {"id": f"d{number}", **fields}
            stream.write(json.dumps(record | {"labels": labels, "side": side}) + "\n")
            if side == "test":
                new.write(json.dumps(record, ensure_ascii=False) + "\n")


def _text(draw: np.random.Generator, labels: list[str], own: int, noise: int) -> str:
    topical = [word for name in labels for word in draw.choice(TOPICS[name], own)]
    stray = draw.choice([word for words in TOPICS.values() for word in words], noise // 2)
    ended = [f"{word}{draw.choice(ENDINGS)}" for word in [*topical, *stray]]
    return " ".join(draw.permutation([*ended, *draw.choice(COMMON, noise - noise // 2)])) + "."


def make(folder: Path, runs: Mapping[str, Any], corpus: Mapping[str, Any], **more: Any) -> Made:
    """Carry out an experiment with these runs on made documents."""
    write_documents(folder, bool(corpus.get("single_label")))
    options = {"text": ["title", "body", "notes"], "label": "labels", "side": "side"}
    whole = {
        "title": "Every setting",
        "corpus": {"name": "jsonl", "path": "documents.jsonl", "options": options, **corpus},
        **SHARED,
        **more,
        "runs": dict(runs),
    }
    (folder / "made.yaml").write_text(yaml.safe_dump(whole))
    return Made(
        folder, evaluate_and_export(folder / "made.yaml", RunContext(folder / "data"), folder / "models")
    )


@pytest.fixture(scope="module")
def several_labels(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("several"), RUNS, {})


@pytest.fixture(scope="module")
def one_label(tmp_path_factory: pytest.TempPathFactory) -> Made:
    runs = {name: RUNS[name] for name in ("base", *OF_TWO_KINDS)} | {
        "softmax": {"learner": "softmax"},
        "all_classes": {"learner": "naive_bayes_multiclass", "text": {"stem": "porter_martin"}},
    }
    return make(tmp_path_factory.mktemp("one"), runs, {"single_label": True})


def check(made: Made, run: str, at_a_time: str) -> None:
    """Every document in every category is decided, scored and given a probability as in evaluation."""
    evaluated = made.runs[run]
    answers = made.predict(run, "--scores", "--at-a-time", at_a_time)
    assert [answer["id"] for answer in answers] == evaluated.ids
    assert [answer["labels"] for answer in answers] == evaluated.labels
    assert all(("probabilities" in answer) == (evaluated.probabilities is not None) for answer in answers)
    for name, expected in (("scores", evaluated.scores), ("probabilities", evaluated.probabilities)):
        if expected is not None:
            ours = [[answer[name][category] for category in evaluated.categories] for answer in answers]
            np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("run", list(RUNS))
def test_predict_decides_as_evaluate(several_labels: Made, run: str) -> None:
    check(several_labels, run, "37")


@pytest.mark.parametrize("run", ["base", *OF_TWO_KINDS, "softmax", "all_classes"])
def test_predict_decides_as_evaluate_where_documents_have_one_label(one_label: Made, run: str) -> None:
    check(one_label, run, "50")


@pytest.mark.parametrize("run", sorted({*RUNS} - {"base", *SAME_SCORES}))
def test_each_setting_changes_the_answers(several_labels: Made, run: str) -> None:
    """A model directory that ignored the setting would be seen above."""
    ours, base = several_labels.runs[run], several_labels.runs["base"]
    if run in SAME_DECISIONS:
        assert not np.allclose(ours.probabilities, base.probabilities, atol=1e-3)
    else:
        assert (ours.decisions != base.decisions).any()


def test_explain_reads_the_document_as_the_run_did(several_labels: Made) -> None:
    """With title words as features of their own, the parts add up to the score and the words are found."""
    run, folder = "separate", several_labels.folder
    evaluated = several_labels.runs[run]
    command = ["explain", str(folder / "models" / run), str(folder / "new.jsonl"), "-c", "grain", "-n", "99"]
    for row in range(5):
        given = CliRunner().invoke(group, [*command, "--json", "--id", evaluated.ids[row]])
        facts = json.loads(given.output)[0]
        score = evaluated.scores[row, evaluated.categories.index("grain")]
        parts = sum(facts["for"].values()) + sum(facts["against"].values())
        assert facts["score"] == round(score, 4)
        assert parts + facts["constant"] == pytest.approx(score, abs=1e-3)
        assert any(term.startswith("title:") for term in [*facts["for"], *facts["against"]])
        assert "title" in [word["field"] for word in facts["words"]]


@pytest.mark.parametrize("changed", [{"length": None}, {"length": 2.0}, {"scaling": "inverse"}])
def test_runs_that_scale_latent_dimensions_differently_share_no_model(changed: dict[str, Any]) -> None:
    shared = {"dimensions": 6, "length": 1.5}
    assert train_key({"projection": shared}) != train_key({"projection": shared | changed})
    assert train_key({"projection": shared}) == train_key({"projection": shared | {"computed": 6}})


def train_key(changed: Mapping[str, Any]) -> str:
    """The key of the artifact of training a run."""
    whole = {"title": "key", "corpus": {"name": "reuters21578"}, "runs": {"run": {**LOGISTIC, **changed}}}
    plan = make_plan(Experiment.model_validate(whole), Path(), "fingerprint")
    return plan.chains[0].trained.recipe.key


def test_a_model_with_the_text_settings_of_its_experiment_is_refused(
    several_labels: Made, tmp_path: Path
) -> None:
    shutil.copytree(several_labels.folder / "models" / "trec", tmp_path / "model")
    path = tmp_path / "model" / "categorizer.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps(facts | {"text": SHARED["text"]}))
    write_checksums(tmp_path / "model")
    with pytest.raises(BadDataError, match="text settings of the run") as caught:
        read_categorizer(tmp_path / "model")
    assert "textcat train" in caught.value.hint


def test_a_model_of_vectors_refuses_texts_and_names_its_columns(tmp_path: Path) -> None:
    """Column 9 is in too few documents for a vocabulary of words, but vectors keep every column."""
    lines = [f"{n % 2} {n % 2 + 1}:1.0 {5 + n % 4}:0.5" + " 9:0.1" * (n == 3) for n in range(40)]
    (tmp_path / "documents.svm").write_text("\n".join(lines) + "\n")
    whole = {
        "title": "vectors",
        "corpus": {"name": "svmlight", "path": "documents.svm"},
        "resample": {"kind": "folds", "number": 2},
        "vector": {"weighting": "tf", "minimum_documents": 3},
        "runs": {"base": LOGISTIC},
    }
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(whole))
    (tmp_path / "new.jsonl").write_text('{"text": "1 5"}\n')
    made = Made(
        tmp_path,
        evaluate_and_export(tmp_path / "made.yaml", RunContext(tmp_path / "data"), tmp_path / "models"),
    )
    with pytest.raises(BadDataError, match="is not TERM:WEIGHT"):
        made.predict("base")
    with pytest.raises(UsageError, match="cannot read text"):
        read_categorizer(tmp_path / "models" / "base").predict(["1 5"])
    command = ["explain", str(tmp_path / "models" / "base"), "-c", "1", "--json"]
    facts = json.loads(CliRunner().invoke(group, command).output)[0]
    assert next(iter(facts["for"])) == "2"
    assert next(iter(facts["against"])) == "1"


def write_vectors(path: Path, *, first: int = 0) -> None:
    """Write vectors of two categories, of which some have both; where `first` is not 0 with a column of their own."""
    draw = np.random.default_rng(3 + first)
    lines = []
    for n in range(60):
        own = [["red"], ["blue"], ["red", "blue"]][n % 3]
        columns = sorted({draw.integers(3) + (1 if each == "red" else 4) for each in own} | {7 + n % 5})
        pairs = " ".join(f"{k}:{draw.random():.3f}" for k in (*columns, *([900 + first] if first else [])))
        lines.append(f"{','.join(own)} {pairs}")
    path.write_text("\n".join(lines) + "\n")


def test_vectors_are_labelled_as_by_evaluate(tmp_path: Path) -> None:
    write_vectors(tmp_path / "train.svm")
    write_vectors(tmp_path / "test.svm", first=1)
    whole = {
        "corpus": {"name": "svmlight", "path": "train.svm", "options": {"test": "test.svm"}},
        "threshold": {"rule": "scut", "cross_validated": True, "folds": 3},
        "runs": {"base": LOGISTIC, "lsi": LOGISTIC | {"projection": {"dimensions": 3}}},
    }
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(whole))
    made = evaluate_and_export(tmp_path / "made.yaml", RunContext(tmp_path / "data"), tmp_path / "models")
    content = (tmp_path / "test.svm").read_text()
    bare = "\n".join(line.partition(" ")[2] for line in content.splitlines())
    forms = {
        "with labels": content,
        "indented": "\n".join(f" {line}" for line in bare.splitlines()),
        "without labels": bare,
        "of Windows": "\ufeff# comment\n\n" + content.replace("\n", " # d\r\n"),
        "unknown columns": content.replace("\n", " 4000000:1\n"),
    }
    for form, written in forms.items():
        (tmp_path / "new").write_text(written)
        for run, expected in made.items():
            command = ["predict", str(tmp_path / "models" / run), str(tmp_path / "new"), "--scores"]
            done = CliRunner().invoke(group, command)
            found = [json.loads(line) for line in done.stdout.splitlines()]
            assert [each["labels"] for each in found] == expected.labels, form
            scores = np.array([[each["scores"][name] for name in expected.categories] for each in found])
            np.testing.assert_allclose(scores, expected.scores, rtol=1e-5, atol=1e-7)
            assert [each["id"] for each in found] == [str(n + 1) for n in range(60)]


def test_vectors_are_explained(tmp_path: Path) -> None:
    write_vectors(tmp_path / "train.svm")
    experiment = {"corpus": {"name": "svmlight", "path": "train.svm"}, "runs": {"base": LOGISTIC}}
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(experiment))
    evaluate_and_export(tmp_path / "made.yaml", RunContext(tmp_path / "data"), tmp_path / "models")
    model = str(tmp_path / "models" / "base")
    (tmp_path / "new").write_text("# two documents\nred 1:1\nblue 2:0.5 4:2 900:1\n")
    arguments = ["explain", model, str(tmp_path / "new"), "--id", "2", "-c", "blue"]
    done = CliRunner().invoke(group, [*arguments, "--json"])
    assert done.exception is None, done.exception
    facts = json.loads(done.stdout)[0]
    parts = facts["for"] | facts["against"]
    coef = read_categorizer(Path(model)).model.coef
    expected = {"2": 0.5 * coef[1, 0], "4": 2 * coef[3, 0]}
    assert parts == {term: pytest.approx(weight, abs=1e-4) for term, weight in expected.items()}
    assert facts["score"] == pytest.approx(sum(parts.values()) + facts["constant"], abs=2e-4)
    assert facts["document"] == {}
    assert CliRunner().invoke(group, arguments).stdout.startswith("blue: accepted")
    missing = CliRunner().invoke(group, ["explain", model, str(tmp_path / "new"), "--id", "3"])
    assert isinstance(missing.exception, UsageError)


def test_vectors_and_texts_are_not_mixed_up(tmp_path: Path) -> None:
    write_vectors(tmp_path / "train.svm")
    experiment = {"corpus": {"name": "svmlight", "path": "train.svm"}, "runs": {"base": LOGISTIC}}
    (tmp_path / "made.yaml").write_text(yaml.safe_dump(experiment))
    evaluate_and_export(tmp_path / "made.yaml", RunContext(tmp_path / "data"), tmp_path / "models")
    model = str(tmp_path / "models" / "base")
    (tmp_path / "new").write_text("red 1:1\nred one:1\n 2:0.5\n")
    stopped = CliRunner().invoke(group, ["predict", model, str(tmp_path / "new")])
    assert isinstance(stopped.exception, BadDataError)
    assert str(stopped.exception.where) == f"{tmp_path / 'new'}:2"
    assert [json.loads(line)["id"] for line in stopped.stdout.splitlines()] == ["1"]
    skipped = CliRunner().invoke(group, ["predict", model, str(tmp_path / "new"), "--on-error", "skip"])
    assert [json.loads(line)["id"] for line in skipped.stdout.splitlines()] == ["1", "3"]
    refused = CliRunner().invoke(group, ["predict", model, str(tmp_path / "new"), "--format", "lines"])
    assert isinstance(refused.exception, UsageError)
    write_categorizer(tmp_path / "text", small_model())
    texts = ["predict", str(tmp_path / "text"), str(tmp_path / "new"), "--format", "svmlight"]
    assert isinstance(CliRunner().invoke(group, texts).exception, UsageError)


def test_a_model_keeps_its_stop_list(tmp_path: Path) -> None:
    """A changed list is counted anew by the next evaluation; the model answers with the old words."""
    listed = tmp_path / "stop.txt"
    listed.write_text("wheat-crop\nharvest\n")
    runs = {"base": LOGISTIC, "own_list": LOGISTIC | {"text": {"stop_list": str(listed)}}}
    made = make(tmp_path, runs, {})
    check(made, "own_list", "37")
    first, answered = made.runs["own_list"].scores, made.predict("own_list")
    listed.write_text("bank\n")
    assert made.predict("own_list") == answered
    again = make(tmp_path, runs, {})
    assert not np.allclose(again.runs["own_list"].scores, first)
    check(again, "own_list", "37")
