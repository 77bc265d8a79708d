"""The gate on the real collection: tables 2 and 3 of zhang_oles_2001, from the files to the verdicts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.gate.commands import results_in, reuters_in, textcat


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Reuters-21578 in it, and the results of a run."""
    folder = tmp_path_factory.mktemp("gate")
    done = textcat("run", "reuters_modapte", *reuters_in(folder))
    assert done.returncode == 0, done.stderr
    return folder


def test_the_pinned_numbers_stand(place: Path) -> None:
    done = textcat("check", str(results_in(place) / "reuters_modapte"), "--json")
    assert done.returncode == (3 if "drift is not checked" in done.stderr else 0), done.stderr
    facts = json.loads(done.stdout)
    assert facts["totals"]["run"] == 84
    if "drift is not checked" not in done.stderr:
        assert facts["totals"]["verdicts"]["reproduced"] + facts["totals"]["verdicts"]["close"] >= 60
        assert facts["unexplained"] == []
        assert all(cell["pinned"] is not None for cell in facts["cells"])


def test_a_moved_number_fails_the_check(place: Path, tmp_path: Path) -> None:
    shutil.copytree(results_in(place), tmp_path / "results")
    path = tmp_path / "results" / "reuters_modapte" / "results.json"
    results = json.loads(path.read_text())
    results["runs"]["logistic"]["measures"]["micro.bep"] -= 3.0
    path.write_text(json.dumps(results))
    done = textcat("check", str(tmp_path / "results"))
    if "drift is not checked" in done.stderr:
        pytest.skip("made from other files than the pinned values were: drift is not judged")
    assert done.returncode == 1
    assert "zhang_oles_2001.table2[BEP][Logistic Reg]" in done.stderr


def test_a_second_run_gives_the_same_bytes(place: Path) -> None:
    path = results_in(place) / "reuters_modapte" / "results.json"
    before = path.read_bytes()
    done = textcat(
        "run", "reuters_modapte", "--data", f"{place}/data", "--results", f"{place}/results", "--offline"
    )
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == before
