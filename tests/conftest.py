"""What tests share: where real collections lie, when this machine has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


def mirror_folder() -> Path | None:
    """The folder of real collections: TEXTCAT_MIRROR, or `shared/data` beside the project."""
    named = os.environ.get("TEXTCAT_MIRROR")
    candidate = Path(named) if named else PROJECT.parent / "shared" / "data"
    return candidate if candidate.is_dir() else None


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Skip, saying why, where the real collections are not on this machine."""
    folder = mirror_folder()
    if folder is None:
        pytest.skip("no mirror of the real collections (set TEXTCAT_MIRROR)")
    return folder
