"""The tuning benchmark: both tools get the same documents, and the collections have their published sizes."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import tune as benchmark
from benchmarks.tune_collections import COLLECTIONS, Record, write_table
from tests.experiment.tune.tuning import COMMON, STEMS
from textcat.corpora import open_corpus
from textcat.errors import DataNotAvailableError


def make_records(several: bool) -> list[Record]:
    draw = np.random.default_rng(2)
    records = []
    for number in range(120):
        name = sorted(STEMS)[number // 3 % 3]
        text = " ".join([*draw.choice(STEMS[name], 2), *draw.choice(COMMON, 3)])
        labels = (name, "odd") if several and number % 5 == 0 else (name,)
        records.append(Record(text, labels, "train" if number % 3 else "test"))
    return records


@pytest.mark.parametrize("several", [False, True])
def test_a_row_has_both_tools_on_the_same_test_documents(
    several: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLLECTIONS, "small", lambda files: make_records(several))
    seen: list[Any] = []
    score = benchmark._score
    monkeypatch.setattr(benchmark, "_score", lambda *given: seen.append(given) or score(*given))
    (row,) = benchmark.bench_tune(
        tmp_path, ["small"], configurations=2, share=1.0, peer_folds=1, data=tmp_path
    )
    assert row["collection"] == "small"
    assert row["metric"] == ("micro.f1" if several else "accuracy")
    assert row["configurations"] == 2
    assert 70 < row["textcat"] <= 100 and 70 < row["scikit-learn"] <= 100
    assert row["seconds"] > 0 and row["peer_seconds"] > 0
    # Three representations with three costs on a fold of 80 training documents; the 40 test documents come last.
    assert [len(given[-1]) for given in seen] == [16] * 9 + [40]


def test_textcat_gets_a_share_of_the_time_of_five_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLLECTIONS, "small", lambda files: make_records(False))
    limits: list[Any] = []
    monkeypatch.setattr(benchmark, "_measure_textcat", lambda task, given, data: limits.append(given) or {})
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(benchmark.time, "process_time", lambda: next(clock))
    (row,) = benchmark.bench_tune(
        tmp_path, ["small"], configurations=None, share=0.25, peer_folds=2, data=tmp_path
    )
    # Ten seconds for two folds are 25 for five; training the winner takes ten more.
    assert row["peer_seconds"] == 35.0
    assert limits[0].seconds == 0.25 * 35.0 and limits[0].by_processor
    saved = [{"collection": "other"}, {"collection": "small", "textcat": 9.0, "machine": {}, **row}]
    saved[1]["peer_seconds"] = 80.0
    (again,) = benchmark.bench_tune(
        tmp_path, ["small"], configurations=None, share=0.25, peer_folds=2, data=tmp_path, saved=saved
    )
    assert again == {**row, "peer_seconds": 80.0, "peer_saved": True}
    assert limits[1].seconds == 0.25 * 80.0
    options: Any = {"configurations": None, "share": 0.25, "data": tmp_path, "saved": saved}
    next(benchmark.bench_tune(tmp_path, ["small"], **options, seconds=7.0, peer_folds=2))
    assert limits[2].seconds == 7.0 and limits[2].by_processor


def test_fasttext_chooses_on_a_fold_of_the_training_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for the library, which answers correctly for every second test document."""
    records = make_records(False)
    monkeypatch.setitem(COLLECTIONS, "small", lambda files: records)
    monkeypatch.setattr(benchmark, "_measure_textcat", lambda *given: {"textcat": 1.0})
    calls: list[dict[str, Any]] = []
    found = SimpleNamespace(lr=0.5, epoch=3, dim=7, wordNgrams=2, minn=0, maxn=0, bucket=9)
    classes = [sorted(STEMS).index(each.labels[0]) for each in records if each.side == "test"]
    answers = (
        [(0.3, f"__label__{(c + 1 + k % 2) % 3}"), (0.7, f"__label__{(c + k % 2) % 3}")]
        for k, c in enumerate(classes)
    )

    def train(path: str, **settings: Any) -> Any:
        files = {"input": path, "held": settings.pop("autotuneValidationFile", None)}
        lines = {name: Path(file).read_text().splitlines() for name, file in files.items() if file}
        calls.append({**settings, **lines})
        return SimpleNamespace(f=SimpleNamespace(getArgs=lambda: found, predict=lambda *_: next(answers)))

    monkeypatch.setitem(sys.modules, "fasttext", SimpleNamespace(train_supervised=train, __spec__=object()))
    options: Any = {"configurations": 1, "share": 1.0, "peer_folds": 0, "data": tmp_path}
    (row,) = benchmark.bench_tune(tmp_path, ["small"], **options, fasttext_seconds=5)
    assert (row["fasttext"], row["fasttext_limit"]) == (50.0, 5)
    searched, final = calls
    assert (len(searched["input"]), len(searched["held"]), searched["autotuneDuration"]) == (64, 16, 5)
    assert sorted(final["input"]) == sorted(searched["input"] + searched["held"])
    texts = [each.text for each in records if each.side == "train"]
    assert [line.split(" ", 1)[1] for line in final["input"]] != texts
    assert (final["dim"], final["epoch"], final["thread"]) == (7, 3, 1)
    assert "autotuneDuration" not in final


def test_fasttext_gets_one_threshold_from_the_fold_where_documents_have_several_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for the library, whose probabilities of right labels are below a half and above those of others."""
    records = make_records(True)
    monkeypatch.setitem(COLLECTIONS, "small", lambda files: records)
    monkeypatch.setattr(benchmark, "_measure_textcat", lambda *given: {"textcat": 1.0})
    names = sorted({label for each in records for label in each.labels})
    wanted = {each.text: each for each in records}
    losses: list[Any] = []

    def predict(text: str, count: int, *rest: Any) -> list[tuple[float, str]]:
        record = wanted[text.strip()]
        right = [(0.45 - 0.05 * k, name) for k, name in enumerate(record.labels)]
        wrong = [(0.3, name) for name in names if name not in record.labels]
        assert count == -1
        return [(score, f"__label__{names.index(name)}") for score, name in [*right, *wrong]]

    def train(path: str, **settings: Any) -> Any:
        losses.append(settings["loss"])
        found = SimpleNamespace(lr=0.5, epoch=3, dim=7, wordNgrams=2, minn=0, maxn=0, bucket=9)
        return SimpleNamespace(f=SimpleNamespace(getArgs=lambda: found, predict=predict))

    monkeypatch.setitem(sys.modules, "fasttext", SimpleNamespace(train_supervised=train, __spec__=object()))
    options: Any = {"configurations": 1, "share": 1.0, "peer_folds": 0, "data": tmp_path}
    (row,) = benchmark.bench_tune(tmp_path, ["small"], **options, fasttext_seconds=5)
    assert losses == ["ova", "ova"]
    assert row["fasttext"] == 100.0


def test_the_table_of_records_is_read_as_they_are(tmp_path: Path) -> None:
    records = make_records(several=True)
    table = write_table(records, tmp_path / "small.jsonl")
    options = {"text": ["text"], "label": "labels", "side": "side"}
    read = open_corpus("jsonl", table, **options).documents()
    assert [Record(each.fields["text"], each.labels, each.split) for each in read] == records


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("banking77", "clinc150"):
        with pytest.raises(DataNotAvailableError, match="no such file"):
            COLLECTIONS[name](tmp_path)


SIZES = {"banking77": (10_003, 3_080, 77), "clinc150": (18_000, 4_500, 150), "ohsumed-23": (6_286, 7_643, 23)}


@pytest.mark.parametrize("name", SIZES)
def test_collections_have_their_published_sizes(name: str, mirror: Path) -> None:
    records = COLLECTIONS[name](mirror)
    sides = Counter(record.side for record in records)
    labels = {label for record in records for label in record.labels}
    assert (sides["train"], sides["test"], len(labels)) == SIZES[name]
