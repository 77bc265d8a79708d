"""The README's picture shows the committed results."""

from __future__ import annotations

from PIL import Image

from tests.documents.picture import KEY, PICTURE, RESULTS
from textcat.store.files import hash_file


def test_the_picture_shows_the_committed_results() -> None:
    assert Image.open(PICTURE).info[KEY] == hash_file(RESULTS)
