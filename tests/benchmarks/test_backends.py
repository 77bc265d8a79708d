"""Rows of the backends benchmark, and that all workers must compute the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import backends
from benchmarks.plots import plot_rows
from textcat.corpora import Document
from textcat.errors import StageFailedError
from textcat.parallel import SerialExecutor
from textcat.report.figures import save_figure


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    draw = np.random.default_rng(5)
    words = {"corn": ["ear", "stalk", "maize"], "oil": ["well", "barrel", "crude"]}
    return [
        Document(
            str(number), {"body": " ".join(draw.choice([*words[topic], "the", "of"], 20))}, (topic,),
            "test" if number % 4 == 0 else "train",
        )
        for number in range(400)
        for topic in [("corn", "oil")[number % 2]]
    ]  # fmt: skip


def test_a_row_for_each_work_backend_and_number_of_workers(documents: list[Document], tmp_path: Path) -> None:
    rows = list(backends.bench_backends(documents, 1, ["threads"]))
    assert [(row["work"], row["workers"]) for row in rows] == [
        ("count words", 1), ("count words", 2), ("grid on folds", 1), ("grid on folds", 2),
    ]  # fmt: skip
    for row in rows:
        assert row["seconds"] > 0
        assert row["speedup"] > 0
    assert [row["speedup"] for row in rows if row["workers"] == 1] == [1.0, 1.0]
    figure = plot_rows("backends", rows)
    assert figure is not None
    assert "<svg" in save_figure(figure, tmp_path, "backends").read_text()


def test_other_numbers_are_no_result() -> None:
    with pytest.raises(StageFailedError, match="other numbers"):
        backends._measure_best_seconds(lambda executor: [np.ones(2)], [SerialExecutor()], 1, [np.zeros(2)])
