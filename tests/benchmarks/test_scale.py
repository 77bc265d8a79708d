"""The scale benchmark: generated vectors, measurements in separate processes, exponents, plots and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import command
from benchmarks.rcv1_like import build_rcv1_like, read_rcv1_like
from benchmarks.scale import (
    ALL_TOPICS,
    LEARNERS_BY_NAME,
    MLR_CG,
    SCALE_LEARNERS,
    fit_exponents,
    plan_requests,
    run_measurement,
)
from tests.linear.test_mapped import PAIRS
from tests.loops import for_each
from textcat.linear.mapped_arrays import is_mapped
from textcat.store import Store


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_rcv1_like(Store(tmp_path_factory.mktemp("store")), 1500)


def test_generated_vectors_are_like_the_collection_s(folder: Path) -> None:
    vectors = read_rcv1_like(folder)
    assert is_mapped(vectors.X.data)
    assert vectors.X.shape[0] == 1500
    assert 46_000 < vectors.X.shape[1] < 48_000
    assert 65 < vectors.X.nnz / 1500 < 80
    lengths = np.sqrt(np.asarray(vectors.X.multiply(vectors.X).sum(axis=1))).ravel()
    assert lengths == pytest.approx(np.ones(1500))
    assert vectors.Y.shape == (1500, ALL_TOPICS)
    assert (np.diff(vectors.Y.sum(axis=0)) <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(LEARNERS_BY_NAME))
def test_a_measurement_is_a_row_with_its_certificate(folder: Path, name: str) -> None:
    request = next(r for r in plan_requests(folder, 1500, 1, [name]) if r.varied == "documents")
    row = run_measurement(request)
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert (row["learner"], row["documents"]) == (name, 1500)
    assert row["seconds"] > 0
    assert row["peak_megabytes"] > 50
    if name == MLR_CG.name:
        assert (row["passes"], row["features"]) == (200, 500)
    else:
        assert row["worst_gap"] <= 1e-3


def test_requests_vary_one_thing_at_a_time(folder: Path) -> None:
    wanted = plan_requests(folder, 40_000, 2, list(LEARNERS_BY_NAME))
    by_documents = {r.documents for r in wanted if r.varied == "documents" and r.learner == "squared hinge"}
    assert by_documents == {10_000, 30_000, 40_000}
    by_topics = [
        (r.documents, r.topics) for r in wanted if r.varied == "topics" and r.learner == "squared hinge"
    ]
    assert by_topics == [(40_000, k) for k in (1, 4, 16, 50, 103)]
    assert {r.topics for r in wanted if r.learner == MLR_CG.name} == {4}
    assert {(each.loss, each.prior) for each in SCALE_LEARNERS} <= set(PAIRS)


def rows_of(power: float) -> list[dict[str, object]]:
    return [
        {"learner": "squared hinge", "varied": "documents", "documents": n, "topics": 103,
         "seconds": 3e-5 * n**power, "own_megabytes": 100.0}
        for n in (1000, 5000, 70_000)
    ]  # fmt: skip


@for_each("power", [0.8, 1.0, 1.5])
def test_the_exponent_is_that_of_the_data(power: float) -> None:
    (found,) = fit_exponents(rows_of(power))
    assert found["seconds"] == pytest.approx(power, abs=1e-3)
    assert found["own_megabytes"] == pytest.approx(0.0, abs=1e-3)
    assert (found["against"], found["points"]) == ("documents", 3)


STAGES = {"vectorize": 0.1, "train": 0.2, "thresholds": None, "evaluate": 0.01}
PIPELINE = [{"tool": "textcat", "learner": "logistic", "seconds": 0.3, "micro_f1": 88.0, **STAGES}]
PIPELINE += [{**PIPELINE[0], "tool": "absent", "seconds": None}]


@pytest.mark.slow
def test_the_command_keeps_rows_and_plot(tmp_path: Path) -> None:
    arguments = [
        "scale",
        "--most-documents",
        "1000",
        "--only",
        "ridge logistic",
        "--data",
        str(tmp_path / "data"),
    ]
    arguments += ["--save", str(tmp_path / "kept"), "--json"]
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["varied"], row["topics"]) for row in rows] == [
        ("documents", 103), *(("topics", topics) for topics in (1, 4, 16, 50, 103)),
    ]  # fmt: skip
    assert all(row["machine"]["cores"] for row in rows)
    assert json.loads((tmp_path / "kept" / "scale.json").read_text()) == rows
    assert (tmp_path / "kept" / "scale.svg").exists()
    assert (tmp_path / "kept" / "scale.png").exists()
