"""The pipeline benchmark: its rows, and that all tools get the same task."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from benchmarks.pipeline import OWN_TOOL, Stopwatch, bench_pipeline, make_task, run_textcat
from benchmarks.pipeline_peers import PIPELINE_PEERS, PipelinePeer, _find_best_threshold
from tests.experiment.small import COMMON, WORDS
from textcat.thresholds.rules import ThresholdSettings, set_thresholds


@dataclass(frozen=True)
class Document:
    id: str
    fields: dict[str, str]
    labels: tuple[str, ...]
    split: str


@pytest.fixture(scope="module")
def task():
    generator = np.random.default_rng(5)
    documents = []
    for number in range(400):
        labels = tuple(name for name in WORDS if generator.random() < 0.35)
        words = [str(w) for name in labels for w in generator.choice(WORDS[name], 4)]
        words += [str(w) for w in generator.choice(COMMON, 8)]
        fields = {"title": words[0], "body": " ".join(generator.permutation(words[1:]))}
        documents.append(Document(f"d{number}", fields, labels, "train" if number % 3 else "test"))
    unused = Document("u", {"title": "", "body": "wheat"}, (), "unused")
    return make_task([*documents, unused], list(WORDS), ("title", "body"))


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_learnable_categories_are_learned(task, loss: str) -> None:
    watch = Stopwatch()
    decided = run_textcat(task, loss, watch)
    assert (decided == task.test_labels).mean() > 0.97
    assert list(watch.stages) == ["vectorize", "train", "thresholds", "evaluate"]
    assert watch.seconds == pytest.approx(sum(watch.stages.values()))


def test_rows_have_ratios_and_reasons_for_skipped_peers(task) -> None:
    absent = replace(PIPELINE_PEERS[0], name="absent", modules=("no_such_module",))
    unfit = PipelinePeer("unfit", (), frozenset({"logistic"}), PIPELINE_PEERS[0].work)
    rows = list(bench_pipeline(task, peers=[PIPELINE_PEERS[0], absent, unfit], repeats=1))
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
    assert [row["tool"] for row in rows[:4]] == [OWN_TOOL, "scikit-learn", "absent", "unfit"]
    ours, peer, away, other = rows[:4]
    assert ours["ratio"] == 1.0
    assert peer["ratio"] == pytest.approx(peer["seconds"] / ours["seconds"], abs=0.006)
    assert peer["micro_f1"] > 90
    assert ours["micro_f1"] > 90
    assert away["skipped"] == "no_such_module is not installed"
    assert other["skipped"] == "has no learner for squared_hinge"
    assert rows[7]["skipped"] is None


def test_both_set_the_same_thresholds() -> None:
    generator = np.random.default_rng(1)
    labels = generator.random((300, 6)) < np.array([0.5, 0.2, 0.1, 0.02, 0.01, 0.3])
    scores = generator.normal(size=labels.shape) + labels * np.array([3, 2, 2, 1, 0, 1])
    rule = ThresholdSettings(rule="scut-fbr", criterion="f1", point="highest", least_f1=30.0)
    ours = set_thresholds(rule, scores, labels)
    theirs = [
        _find_best_threshold(labels[:, k].astype(int), scores[:, k], 30.0) for k in range(labels.shape[1])
    ]
    assert ours == pytest.approx(theirs)
