"""`check --pin` on a copy; without Reuters-21578 the gate is skipped, and fails in continuous integration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT
from tests.gate import commands
from textcat.errors import DataNotAvailableError


@pytest.fixture(autouse=True)
def no_reuters(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_names: object, **_options: object) -> None:
        raise DataNotAvailableError("no source has it", hint="none")

    monkeypatch.setattr(commands, "fetch_corpus", refuse)


@pytest.mark.parametrize(("value", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_the_gate_without_reuters(
    value: str, outcome: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", value)
    with pytest.raises(outcome, match="Reuters-21578 is not available"):
        commands.reuters_in(tmp_path)


def test_a_pin_accepts_what_moved_and_is_for_one_copy_of_the_collection(tmp_path: Path) -> None:
    """The package is copied: its pins are written to."""
    shutil.copytree(PROJECT / "textcat", tmp_path / "textcat", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PROJECT / "results" / "reuters_modapte", tmp_path / "results")
    pins, path = tmp_path / "textcat" / "published" / "pinned.yaml", tmp_path / "results" / "results.json"

    def check(*options: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [*commands.TEXTCAT, "check", *options, "results"]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    def move(by: float, **corpus: str) -> None:
        results = json.loads(path.read_text())
        results["runs"]["logistic"]["measures"]["micro.bep"] += by
        results["corpus"] |= corpus
        path.write_text(json.dumps(results))

    before = yaml.safe_load(pins.read_text())
    move(-3.0)
    assert check().returncode == 1
    done = check("--pin")
    assert done.returncode == 0, done.stderr
    after = yaml.safe_load(pins.read_text())
    cell = "zhang_oles_2001.table2[BEP][Logistic Reg]"
    assert after.keys() == before.keys()
    assert after[cell] == pytest.approx(before[cell] - 3.0, abs=0.1)
    assert {name.split("[")[-1] for name in after if abs(after[name] - before[name]) > 0.1} == {
        "Logistic Reg]"
    }
    assert check().returncode == 0
    move(-3.0, fingerprint="0" * 64)
    done = check()
    assert done.returncode == 3
    assert "drift is not checked" in done.stderr and "FAILED" not in done.stderr
