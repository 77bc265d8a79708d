"""docs/performance.md agrees with results/bench; rows of interrupted runs and of missing benchmarks are left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.page import (
    RESULTS,
    _make_tune_table,
    find_fastest_peer,
    write_page,
)
from tests.conftest import PROJECT
from tests.loops import for_each


def make_solver_row(solver: str, seconds: float | None, gap: float = 1e-6, **more: Any) -> dict[str, Any]:
    row = {
        "problem": "L2 hinge C=1",
        "solver": solver,
        "seconds": seconds,
        "gap": gap,
        "reached": gap <= 1e-5,
    }
    return {**row, "skipped": None, "note": None, **more}


def write_rows(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(rows))


def test_the_committed_page_is_that_of_the_committed_rows() -> None:
    page = (PROJECT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert page == write_page(), "run `python -m benchmarks.page > docs/performance.md`"


def test_every_benchmark_of_make_bench_is_on_the_page() -> None:
    names = (PROJECT / "Makefile").read_text(encoding="utf-8").split("for name in ")[1].split(";")[0].split()
    assert {name for name in names if (RESULTS / f"{name}.json").exists()} == set(names)
    assert "Not measured" not in write_page()


def test_rows_of_an_interrupted_run_are_left_out(tmp_path: Path) -> None:
    own = make_solver_row("textcat", 0.5)
    write_rows(
        tmp_path, "solvers", [own, make_solver_row("celer", 1.0), make_solver_row("x", 0.7, partial=True)]
    )
    assert "| L2 hinge C=1 | 0.5 | 1.0e-06 | celer | 1 | 2.0 |" in write_page(tmp_path)
    write_rows(tmp_path, "solvers", [{**own, "partial": True}])
    assert "L2 hinge" not in write_page(tmp_path)


@for_each(
    ("peers", "fastest"),
    [
        ([("a", 3.0, 1e-6), ("b", 2.0, 1e-7), ("c", 1.0, 1e-3)], "b"),
        ([("a", 3.0, 1e-2), ("b", 9.0, 1e-3)], "b"),
        ([("a", None, 1.0)], None),
        ([], None),
    ],
)
def test_the_fastest_peer_reached_the_accuracy_or_came_nearest(
    peers: list[tuple[str, float | None, float]], fastest: str | None
) -> None:
    rows = [make_solver_row("textcat", 0.1), *(make_solver_row(*peer) for peer in peers)]
    found = find_fastest_peer(rows)
    assert (found and found["solver"]) == fastest


def test_grids_of_other_runs_are_marked_and_missing_ones_named() -> None:
    row = {"metric": "accuracy", "textcat": 91.5, "seconds": 10.0, "configurations": 9}
    grid = {"scikit-learn": 91.0, "peer_seconds": 40.0}
    rows = [{**row, **grid, "collection": "a"}, {**row, **grid, "peer_saved": True, "collection": "b"}]
    table = _make_tune_table([*rows, {**row, "collection": "c"}]).splitlines()
    assert [line.split(" | ")[5:] for line in table[2:5]] == [
        ["91.00", "40", "0.25 |"],
        ["91.00*", "40", "0.25 |"],
        ["not measured", "", " |"],
    ]
    assert table[-1] == "Mean difference from the grid: +0.50 points."
    with_fasttext = _make_tune_table([{**rows[0], "fasttext": 87.5, "fasttext_seconds": 61.2}, rows[1]])
    assert [line.split(" | ")[-2:] for line in with_fasttext.splitlines()[2:4]] == [
        ["87.50", "61 |"],
        ["not measured", " |"],
    ]
