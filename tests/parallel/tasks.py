"""Tasks for the tests of executors, in a module that workers can import."""

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
    """An array large enough to be mapped or scattered, and a folder for notes."""

    values: NDArray[np.float64]
    notes: Path


def scaled_sum(shared: Shared, item: int) -> float:
    """Return a number that depends on the shared data and on the item."""
    return item * float(shared.values.sum())


def refuse(shared: Shared, item: int) -> float:
    """Raise an error for the user."""
    raise BadDataError("it is damaged", where=f"document {item}")


def be_killed(shared: Shared, item: int) -> float:
    """Kill the process that runs the task."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def be_killed_once(shared: Shared, item: int) -> float:
    """Kill the process of the first attempt at item 1."""
    note = shared.notes / "killed"
    if item == 1 and not note.exists():
        note.touch()
        be_killed(shared, item)
    return scaled_sum(shared, item)


def note_process(shared: Shared, item: int) -> int:
    """Return the process, slowly enough for every worker to get a task."""
    time.sleep(0.2)
    return os.getpid()
