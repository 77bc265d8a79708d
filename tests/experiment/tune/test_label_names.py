"""Names of labels as training documents: read after all others, learned from, and never measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.experiment.tune.tuning import read_own, tune
from textcat.corpora import open_corpus
from textcat.corpora.own.documents import split_name
from textcat.experiment.context import RunContext
from textcat.experiment.run.results import collect_results
from textcat.experiment.run.runner import run_experiment
from textcat.experiment.spec.loading import load_experiment
from textcat.experiment.tune import documents as tune_documents
from textcat.experiment.tune.documents import TrainingDocuments
from textcat.experiment.tune.evaluation import Evaluator
from textcat.experiment.tune.space import NAMES, Configuration, Space

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


@pytest.mark.parametrize("sides", [{"side": "split"}, {}])
def test_names_of_training_labels_are_the_last_training_documents(
    sides: dict[str, str], tmp_path: Path
) -> None:
    table = write_few(tmp_path / "few.csv")
    plain = list(open_corpus("csv", table, **sides).documents())
    named = list(open_corpus("csv", table, **sides, label_names=True).documents())
    assert named[: len(plain)] == plain
    added = named[len(plain) :]
    labels = [each.labels[0] for each in added]
    assert labels == sorted([*NAMES_OF_LABELS, *([] if sides else ["only tested"])])
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


def test_names_are_tried_only_where_labels_have_few_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert NAMES not in Space.read().choices and NAMES in Space.read(label_names=True).choices
    experiment = read_own(write_few(tmp_path / "few.csv"))
    monkeypatch.setattr(tune_documents, "FEW_DOCUMENTS", 3)
    documents = TrainingDocuments.read(experiment, RunContext(tmp_path / "data"))
    assert len(documents.names) == 0 and documents.number == len(documents.rows)
