"""`textcat run --at-once`: several experiments at a time, with the results and messages of one after another."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from tests.experiment.small import write_small_collection
from textcat.cli.main import group


def run(folder: Path, *arguments: str) -> Result:
    where = ["--data", str(folder / "data"), "--results", str(folder / "results")]
    return CliRunner().invoke(group, ["run", *arguments, *where], standalone_mode=False)


@pytest.fixture
def experiments(tmp_path: Path) -> list[str]:
    """Three experiments on one collection: two that share documents and vectors, and a broken one."""
    first = write_small_collection(tmp_path)
    other, broken = tmp_path / "other.yaml", tmp_path / "broken.yaml"
    other.write_text(first.read_text().replace("features: 10", "features: 12"))
    broken.write_text(first.read_text().replace("naive_bayes", "naive_baies"))
    return [str(first), str(broken), str(other)]


def test_results_and_output_are_those_of_one_after_another(tmp_path: Path, experiments: list[str]) -> None:
    printed: dict[str, list[str]] = {}
    contents: dict[str, list[bytes]] = {}
    for at_once in ("1", "2"):
        result = run(tmp_path, *experiments, "--keep-going", "--at-once", at_once)
        assert result.return_value == 2, result.output
        assert "naive_baies" in result.stderr
        printed[at_once] = [line for line in result.stdout.splitlines() if not line.startswith("Time:")]
        files = [tmp_path / "results" / name / "results.json" for name in ("trial", "other")]
        contents[at_once] = [path.read_bytes() for path in files]
        (tmp_path / "data").rename(tmp_path / f"data{at_once}")
        (tmp_path / "results").rename(tmp_path / f"results{at_once}")
    assert printed["2"] == printed["1"]
    assert contents["2"] == contents["1"]
    made = [len(list((tmp_path / f"data{n}").rglob("manifest.json"))) for n in ("1", "2")]
    assert made[1] == made[0]


def test_the_first_failure_ends_the_command(tmp_path: Path, experiments: list[str]) -> None:
    result = run(tmp_path, *experiments, "--at-once", "2")
    assert "naive_baies" in str(result.exception)
    assert result.stdout.count("Report:") == 1


def test_workers_of_a_backend_are_refused(tmp_path: Path, experiments: list[str]) -> None:
    result = run(tmp_path, *experiments, "--at-once", "2", "--backend", "threads")
    assert isinstance(result.exception, click.UsageError)
    assert "--at-once" in str(result.exception)
    assert not (tmp_path / "data").exists()
