"""`textcat generate` writes readable collections that depend on the seed only."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from benchmarks.text import bench_corpora
from tests.conftest import PROJECT
from textcat.cli.main import group
from textcat.corpora import open_corpus


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
