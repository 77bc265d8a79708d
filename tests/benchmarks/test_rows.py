"""Rows are printed when they are measured and kept when a benchmark is interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import command
from benchmarks.rows import KEYS, Row, format_row, record_rows, select_names
from textcat.errors import BadDataError, UsageError

NAMES = ["L2 logistic C=1", "L2 logistic C=100", "L1 logistic C=1"]


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


@pytest.mark.parametrize("part", [False, True])
def test_rows_of_a_run_that_ended_are_not_marked(tmp_path: Path, part: bool) -> None:
    with pytest.raises(KeyboardInterrupt):
        record_rows("text", _interrupt(make_rows("a")), tmp_path)
    record_rows("text", make_rows("a", "b"), tmp_path, part=part)
    assert [row.get("partial") for row in json.loads((tmp_path / "text.json").read_text())] == [None, None]


def _interrupt(rows: Iterator[Row]) -> Iterator[Row]:
    yield from rows
    raise KeyboardInterrupt


def test_a_part_replaces_its_rows_and_keeps_the_others(tmp_path: Path) -> None:
    record_rows("text", make_rows("a", "b", "c"), tmp_path)
    rows = record_rows("text", make_rows("b", "d", seconds=2.0), tmp_path, part=True)
    assert read_kept(tmp_path) == [("a", 1.0), ("b", 2.0), ("c", 1.0), ("d", 2.0)]
    assert [row["variant"] for row in rows] == ["a", "b", "c", "d"]


def test_a_complete_run_removes_rows_that_it_did_not_measure(tmp_path: Path) -> None:
    record_rows("text", make_rows("a", "b"), tmp_path)
    record_rows("text", make_rows("b", "c"), tmp_path)
    assert read_kept(tmp_path) == [("b", 1.0), ("c", 1.0)]


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("[")
    with pytest.raises(BadDataError, match="not a list of measurements"):
        record_rows("text", make_rows("a"), tmp_path)


@pytest.mark.parametrize("name", sorted(KEYS))
def test_committed_rows_have_different_keys(name: str) -> None:
    path = Path(__file__).resolve().parents[2] / "results" / "bench" / f"{name}.json"
    if not path.exists():
        pytest.skip("not committed")
    keys = [tuple(row[column] for column in KEYS[name]) for row in json.loads(path.read_text())]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("only", "names"),
    [((), NAMES), (("l1",), NAMES[2:]), (("C=100",), NAMES[1:2]), (("l1", "C=100"), NAMES[1:])],
)
def test_names_are_selected_by_a_part_of_them(only: tuple[str, ...], names: list[str]) -> None:
    assert select_names(NAMES, only) == names


def test_an_unknown_name_is_a_usage_error_before_any_work() -> None:
    result = CliRunner().invoke(command, ["scale", "--only", "winnow"])
    assert isinstance(result.exception, UsageError)
    assert "ridge logistic" in str(result.exception.hint)
    result = CliRunner().invoke(command, ["tune", "--only", "winnow", "--fasttext", "3", "--peer-folds", "2"])
    assert isinstance(result.exception, UsageError)
    assert "banking77" in str(result.exception.hint)


@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("solvers", "L1 logistic C=1, celer"),
        ("pipeline", "logistic, scikit-learn"),
        ("predict", "30 words, csv, labels"),
        ("scale", "ridge logistic, 10000 documents, 103 topics"),
    ],
)
def test_one_row_can_be_selected_by_its_name(
    name: str, only: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(settings: object) -> None:
        raise RuntimeError("the name is known")

    monkeypatch.setattr("benchmarks.__main__.BenchmarkSettings.load_documents", refuse)
    monkeypatch.setattr("benchmarks.rcv1_like.build_rcv1_like", lambda *arguments: refuse(arguments))
    result = CliRunner().invoke(command, [name, "--only", only, "--data", str(tmp_path)])
    assert str(result.exception) == "the name is known"
    result = CliRunner().invoke(command, [name, "--only", f"{only}!", "--data", str(tmp_path)])
    assert isinstance(result.exception, UsageError)


@pytest.mark.parametrize("name", sorted(KEYS))
def test_every_benchmark_has_help(name: str) -> None:
    result = CliRunner().invoke(command, [name, "--help"])
    assert result.exit_code == 0
    assert "--only" in result.output
    assert set(command.commands) == set(KEYS)


def test_a_line_leaves_out_missing_values() -> None:
    assert format_row({"a": "x", "b": None, "n": 12_345, "s": 0.12345}) == "a x, n 12,345, s 0.123"
