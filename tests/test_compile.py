"""Kernels on disk that cannot be read are compiled anew, and a machine without a place for them does without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT

KERNEL = """
from textcat.compile import compile_kernel

@compile_kernel
def twice(value):
    return 2.0 * value
"""
CALL = "from kernel import twice; print(twice(21.0), sum(twice._cache_hits.values()))"


def called(folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(PROJECT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernel.py").write_text(KERNEL)
    assert called(tmp_path) == "42.0 0"
    assert called(tmp_path) == "42.0 1"
    return tmp_path


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut", "empty", "other"])
def test_a_damaged_kernel_is_made_anew(folder: Path, suffix: str, damage: str) -> None:
    files = sorted((folder / "__pycache__").glob(f"*.{suffix}"))
    assert files
    for file in files:
        content = file.read_bytes()
        file.write_bytes(
            {"cut": content[: len(content) // 2], "empty": b"", "other": b"cgone\nthing\n."}[damage]
        )
    assert called(folder) == "42.0 0"
    assert called(folder) == "42.0 1"


def test_without_a_place_to_keep_it_a_kernel_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    (tmp_path / "__pycache__").write_text("")
    places = {"HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere), "PYTHONDONTWRITEBYTECODE": "1"}
    assert called(tmp_path, **places) == "42.0 0"
