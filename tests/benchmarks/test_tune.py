"""The tuning benchmark: both tools get the same documents, and the collections have their published sizes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
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


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_collections_have_their_published_sizes(name: str, mirror: Path) -> None:
    records = COLLECTIONS[name](mirror)
    sides = Counter(record.side for record in records)
    labels = {label for record in records for label in record.labels}
    assert (sides["train"], sides["test"], len(labels)) == SIZES[name]
