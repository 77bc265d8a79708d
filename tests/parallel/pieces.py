"""Pieces of work as tests send them; workers import them from here."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from textcat.errors import BadDataError


@dataclass(frozen=True)
class Shared:
    """An array large enough to be mapped or scattered, and a place for notes."""

    values: NDArray[np.float64]
    notes: Path


def scaled_sum(shared: Shared, item: int) -> float:
    """What depends on the shared data and on the item."""
    return item * float(shared.values.sum())


def refuse(shared: Shared, item: int) -> float:
    """A piece that ends with a message to a person."""
    raise BadDataError("it is damaged", where=f"document {item}")


def be_killed(shared: Shared, item: int) -> float:
    """A piece that takes its process with it."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def be_killed_once(shared: Shared, item: int) -> float:
    """The same for item 1, but whoever takes it up again comes through."""
    note = shared.notes / "killed"
    if item == 1 and not note.exists():
        note.touch()
        be_killed(shared, item)
    return scaled_sum(shared, item)


def note_process(shared: Shared, item: int) -> int:
    """Who worked, slowly enough for others to get a piece too."""
    time.sleep(0.2)
    return os.getpid()
