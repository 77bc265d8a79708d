"""The gate on a slice of each paper: cheap runs of its own experiments, from the Reuters files to the verdicts.

The experiments in `slice` are the papers' own with most runs left out. Tables 2 and 3 of zhang_oles_2001 have a test
module to themselves.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.gate.commands import results_in, reuters_in, textcat
from tests.gate.pins import fingerprint_of, load_pins, moved
from textcat.experiment.spec.loading import load_experiment
from textcat.published.printed_tables import PAPERS, load_all_cells
from textcat.published.verdicts import find_measure_kind
from textcat.report.gate import find_results, load_pinned_sources

SLICE = sorted((Path(__file__).parent / "slice").glob("*.yaml"))
NAMES = [load_experiment(path).name for path in SLICE]
JUDGED = {
    "zhang_jin_2003/table2_reuters": 8,
    "zhang_jin_2003/reuters90": 7,
    "genkin_2004/table1": 9,
    "genkin_2004/table4_modapte": 6,
    "genkin_2004/table5": 12,
    "gao_2003/table2": 2,
    "gao_2003/table4_svm": 11,
    "zhang_2000/table1": 48,
    "zhang_2000/table2": 24,
}
"""How many gated cells each slice measures anew."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of all slices, one run of the command for all."""
    folder = tmp_path_factory.mktemp("slice")
    where = reuters_in(folder)
    done = textcat("run", *map(str, SLICE), *where, "--quiet")
    assert done.returncode == 0, done.stderr
    return results_in(folder)


def measured(facts: dict[str, Any]) -> list[dict[str, Any]]:
    in_tables = (cell for cell in facts["cells"] if cell["group"] == "tables")
    return [cell for cell in in_tables if cell["state"] == "run" and cell["gated"]]


def test_every_paper_has_its_slice() -> None:
    assert set(NAMES) == set(JUDGED)
    assert {name.split("/")[0] for name in NAMES} | {"zhang_oles_2001"} == set(PAPERS)
    for path, name in zip(SLICE, NAMES, strict=True):
        assert set(load_experiment(path).runs) <= set(load_experiment(name).runs)


def test_half_of_the_numbers_that_can_be_measured_are_measured_anew() -> None:
    judged = [
        cell
        for cell in load_all_cells()
        if cell.group == "tables"
        and cell.printed is not None
        and cell.counted
        and find_measure_kind(cell.kind).gated
        and not cell.cannot_run
    ]
    runs = {name: set(load_experiment(path).runs) for path, name in zip(SLICE, NAMES, strict=True)}
    runs["reuters_modapte"] = set(load_experiment("reuters_modapte").runs)
    comparisons = {"genkin_2004/table1", "zhang_jin_2003/reuters90"}
    anew = [
        cell
        for cell in judged
        if cell.experiment in comparisons or cell.run in runs.get(cell.experiment, set())
    ]
    assert 2 * len(anew) >= len(judged)


def test_every_measured_cell_stands_as_pinned(results: Path) -> None:
    done = textcat("check", str(results), "--json")
    assert done.returncode == (3 if "drift is not checked" in done.stderr else 0), done.stderr
    facts = json.loads(done.stdout)
    cells = measured(facts)
    assert Counter(cell["experiment"] for cell in cells) == JUDGED
    read = find_results([results])
    copy = fingerprint_of(read)
    if copy in load_pinned_sources().values():
        assert all(cell["pinned"] is not None for cell in cells)
    else:
        assert moved(read, load_pins()[copy]) == []


def test_a_moved_number_of_any_experiment_is_found(results: Path, tmp_path: Path) -> None:
    """One number of each experiment is raised."""
    copied = shutil.copytree(results, tmp_path / "results")
    cells = measured(json.loads(textcat("check", str(copied), "--json").stdout))
    copy = fingerprint_of(find_results([copied]))
    is_published = copy in load_pinned_sources().values()
    if not is_published:
        cells = [cell for cell in cells if cell["id"] in load_pins()[copy]]
    raised = {cell["experiment"]: cell for cell in cells}
    assert len(raised) == len(JUDGED) or not is_published
    for name, cell in raised.items():
        raise_number(copied / name / "results.json", cell, 9.0)
    found: Any
    if is_published:
        done = textcat("check", str(copied))
        assert done.returncode == 1
        found = done.stderr
    else:
        found = moved(find_results([copied]), load_pins()[copy])
    assert [cell["id"] for cell in raised.values() if cell["id"] not in found] == []


def raise_number(path: Path, cell: dict[str, Any], by: float) -> None:
    results = json.loads(path.read_text())
    run = (results["runs"] | results["beside"])[cell["run"]]
    if cell["measure"] in run["measures"]:
        run["measures"][cell["measure"]] += by
    else:
        category, _, kind = cell["measure"].removeprefix("category.").rpartition(".")
        run["by_category"][kind][results["corpus"]["categories_in_order"].index(category)] += by
    path.write_text(json.dumps(results))
