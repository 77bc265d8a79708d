"""Answers that need no training load no compiler, no statistics, no plots and no pools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiment.place import Place

LOADED = """
import sys
from textcat.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    assert not done.code, done.code
heavy = {"numba", "joblib", "matplotlib", "scipy.stats", "scipy.optimize", "scipy.linalg"} & set(sys.modules)
sys.exit(f"imported {sorted(heavy)}" if heavy else 0)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("fast"))
    place.textcat("run", str(place.experiment))
    place.textcat("train", str(place.experiment))
    return place


def call(place: Place, *arguments: str) -> str:
    where = ["--data", str(place.data), "--results", str(place.results)]
    command = [sys.executable, "-c", LOADED, *arguments, *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_predict_imports_nothing_heavy(place: Place, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("wheat and corn\n")
    model = place.data / "models" / "trial" / "logistic"
    assert '"labels"' in call(place, "predict", str(model), str(tmp_path / "one.txt"))


def test_a_cached_run_imports_nothing_heavy(place: Place) -> None:
    assert "from the cache" in call(place, "run", str(place.experiment))
