"""The README's picture shows the committed results."""

from __future__ import annotations

import pytest
from PIL import Image

from tests.documents.picture import KEY, PICTURE, RESULTS
from textcat.experiment.run.results_file import read_results
from textcat.report.gate import find_changed_sources
from textcat.store.files import hash_file


def test_the_picture_shows_the_committed_results() -> None:
    results = read_results(RESULTS)
    if find_changed_sources({results["experiment"]: results}):
        pytest.skip(
            "results/reuters_modapte was made from other files than the committed one, such as the npm copy"
        )
    assert Image.open(PICTURE).info[KEY] == hash_file(RESULTS)
