"""`textcat generate` writes readable collections that depend on the seed only."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from benchmarks.text import bench_corpora
from tests.conftest import PROJECT
from textcat.cli.main import group
from textcat.corpora import open_corpus
from textcat.corpora.generate import generate_many_labels
from textcat.corpora.vector_files import open_svmlight
from textcat.errors import UsageError


def generate(folder: Path, seed: int) -> Path:
    arguments = ["generate", "rcv1-like", "--documents", "300", "--seed", str(seed), "--to", str(folder)]
    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 0, result.output
    assert "300 documents" in result.output
    return folder


def test_the_same_seed_gives_the_same_documents(tmp_path: Path) -> None:
    one, two, other = (generate(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    first, second, third = (
        [(d.id, dict(d.fields), d.labels) for d in open_corpus("rcv1", folder).documents()]
        for folder in (one, two, other)
    )
    assert first == second
    assert first != third
    assert len(first) == 300


def test_reading_is_measured(tmp_path: Path) -> None:
    folder = generate(tmp_path / "made", 3)
    (row,) = bench_corpora({"rcv1": folder})
    assert row["documents"] == 300
    assert row["nonzeros"] > 0
    assert row["documents_per_second"] > 0


def test_an_experiment_runs_on_a_generated_collection(tmp_path: Path) -> None:
    """Run configs/rcv1_like.yaml on fewer documents, without fetching anything."""
    generate(tmp_path / "data" / "rcv1-like", 1)
    (tmp_path / "configs").mkdir()
    experiment = tmp_path / "configs" / "rcv1_like.yaml"
    experiment.write_text((PROJECT / "configs" / "rcv1_like.yaml").read_text())
    where = ["--data", str(tmp_path / "data"), "--results", str(tmp_path / "results"), "--offline", "-j", "1"]
    result = CliRunner().invoke(group, ["run", str(experiment), *where])
    assert result.exit_code == 0, result.output
    [written] = (tmp_path / "results").rglob("results.json")
    corpus = json.loads(written.read_text())["corpus"]
    assert corpus["name"] == "rcv1-like"
    assert corpus["train_documents"] + corpus["test_documents"] == 300
    assert "Ridge logistic" in result.output


def test_many_labels_are_the_generated_vectors(tmp_path: Path) -> None:
    """The files hold what the generator drew; weights have six digits."""
    folder = tmp_path / "many"
    arguments = ["generate", "many-labels", "--documents", "660", "--seed", "4", "--to", str(folder)]
    done = CliRunner().invoke(group, arguments)
    assert done.exit_code == 0 and "660 documents (600 training), 90 labels" in done.output
    made, read = generate_many_labels(600, 4), open_svmlight(folder / "train.svm", test="test.svm")
    assert read.split.tolist() == ["train"] * 600 + ["test"] * 60
    drawn = [sorted(str(k + 1) for k in made.Y[[row]].indices) for row in range(600)]
    assert [sorted(read.categories[k] for k in read.Y[[row]].indices) for row in range(600)] == drawn
    width = read.X.shape[1]
    np.testing.assert_allclose(read.X[600:].toarray(), made.held_rows[:, :width].toarray(), atol=1e-6)
    few = CliRunner().invoke(group, ["generate", "many-labels", "--documents", "9", "--to", str(folder)])
    assert isinstance(few.exception, UsageError) and "at least 22" in few.exception.hint
