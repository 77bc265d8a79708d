"""What tests share: where real collections lie, when this machine has them, and how examples are drawn."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Property tests draw the same examples every time; `--hypothesis-profile random` (`make fuzz`) looks for new ones.
# A busy machine must not fail a test by being slow.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("random", derandomize=False, deadline=None, database=None, print_blob=True)
settings.load_profile("repeatable")

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


@pytest.fixture
def hears_interrupts() -> Iterator[None]:
    """Let Ctrl-C interrupt: a process in the background of a shell does not hear of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _keep_logging() -> Iterator[None]:
    """Undo what a command that ran in this process set up, so that the next test sees the messages."""
    logger = logging.getLogger("textcat")
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:], logger.propagate = handlers, propagate
    logger.setLevel(level)
