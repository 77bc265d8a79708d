"""Rows are printed when they are measured and kept when a benchmark is interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import command
from benchmarks.rows import KEYS, Row, record_rows
from textcat.errors import UsageError


def make_rows(*variants: str, seconds: float = 1.0) -> Iterator[Row]:
    for variant in variants:
        yield {"variant": variant, "seconds": seconds}


def read_kept(folder: Path) -> list[tuple[str, float]]:
    return [(row["variant"], row["seconds"]) for row in json.loads((folder / "text.json").read_text())]


def test_rows_are_kept_when_the_benchmark_is_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure() -> Iterator[Row]:
        yield from make_rows("words")
        assert "variant words" in capsys.readouterr().out
        assert read_kept(tmp_path) == [("old", 1.0), ("words", 1.0)]
        raise KeyboardInterrupt

    record_rows("text", make_rows("old"), tmp_path)
    capsys.readouterr()
    with pytest.raises(KeyboardInterrupt):
        record_rows("text", measure(), tmp_path)
    kept = json.loads((tmp_path / "text.json").read_text())
    assert [(row["variant"], row.get("partial", False)) for row in kept] == [("old", False), ("words", True)]
    assert "interrupted after 1 rows; they are kept in" in capsys.readouterr().err


def test_a_part_replaces_its_rows_and_keeps_the_others(tmp_path: Path) -> None:
    record_rows("text", make_rows("a", "b", "c"), tmp_path)
    rows = record_rows("text", make_rows("b", "d", seconds=2.0), tmp_path, part=True)
    assert read_kept(tmp_path) == [("a", 1.0), ("b", 2.0), ("c", 1.0), ("d", 2.0)]
    assert [row["variant"] for row in rows] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("name", sorted(KEYS))
def test_committed_rows_have_different_keys(name: str) -> None:
    path = Path(__file__).resolve().parents[2] / "results" / "bench" / f"{name}.json"
    if not path.exists():
        pytest.skip("not committed")
    keys = [tuple(row[column] for column in KEYS[name]) for row in json.loads(path.read_text())]
    assert len(set(keys)) == len(keys)


def test_an_unknown_name_is_a_usage_error_before_any_work() -> None:
    result = CliRunner().invoke(command, ["scale", "--only", "winnow"])
    assert isinstance(result.exception, UsageError)
    assert "ridge logistic" in str(result.exception.hint)
    result = CliRunner().invoke(command, ["tune", "--only", "winnow", "--fasttext", "3", "--peer-folds", "2"])
    assert isinstance(result.exception, UsageError)
    assert "banking77" in str(result.exception.hint)
