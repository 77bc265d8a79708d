"""The benchmark of many labels: the collection, the measurement of each of our tools, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.generate import ManyLabels, generate_many_labels
from benchmarks.labels import LabelsRequest, measure_labels
from benchmarks.many_labels import read_many_labels, write_many_labels

DOCUMENTS = 1500


@pytest.fixture(scope="module")
def data() -> ManyLabels:
    return generate_many_labels(DOCUMENTS)


def test_the_collection_has_its_statistics(data: ManyLabels) -> None:
    assert data.X.shape == (1500, 2000) and data.Y.shape == (1500, 225)
    assert data.held_rows.shape[0] == data.held_labels.shape[0] == 150
    assert 60 < data.X.nnz / 1500 < 95
    lengths = np.sqrt(np.asarray(data.X.multiply(data.X).sum(axis=1))).ravel()
    assert lengths == pytest.approx(np.ones(1500), abs=1e-3)
    sizes = np.sort(np.asarray(data.Y.sum(axis=0)).ravel())[::-1]
    # Zipf: the largest tenth of the labels has a third of all labels at least.
    assert sizes[:22].sum() > sizes.sum() / 3
    assert np.diff(data.Y.indptr).min() >= 1


def test_files_hold_the_matrices_and_the_format_of_omikuji(data: ManyLabels, tmp_path: Path) -> None:
    write_many_labels(tmp_path, data)
    again = read_many_labels(tmp_path)
    assert (again.held_rows != data.held_rows).nnz == 0
    header, first, *_ = (tmp_path / "train.txt").read_text().splitlines()
    assert header == "1500 2000 225"
    own, *pairs = first.split()
    assert sorted(map(int, own.split(","))) == sorted(data.Y[[0]].indices.tolist())
    assert {int(pair.partition(":")[0]) for pair in pairs} == set(data.X[[0]].indices.tolist())


@pytest.mark.parametrize("tool", ["textcat, one tree", "textcat, three trees", "textcat, one-vs-rest"])
def test_a_tool_is_measured(tool: str, data: ManyLabels, tmp_path: Path) -> None:
    write_many_labels(tmp_path, data)
    row = measure_labels(LabelsRequest(tool, str(tmp_path), 1))
    assert (row["tool"], row["documents"], row["labels"]) == (tool, 1500, 225)
    assert row["P@1"] > 50 and row["model_megabytes"] > 0 and row["seconds"] > 0
