"""How much memory a process had at most: all of it, and the part that no file stands behind.

Pages of mapped files count as resident while there is room, and are given back when there is none; what a
process needs is the other part.
"""

from __future__ import annotations

import resource
import sys
import threading
from pathlib import Path

_STATUS = Path("/proc/self/status")
_POLL_SECONDS = 0.05


class PeakMemory:
    """Watches the memory of this process while work is done inside `with`; megabytes of a million bytes."""

    def __init__(self) -> None:
        self.own: float | None = None
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._watcher.join()

    @property
    def resident(self) -> float:
        """The most that was resident since the program began, mapped files included.

        What getrusage tells may be the peak of the process that started this one.
        """
        if (highest := _read_status("VmHWM:")) is not None:
            return highest
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6

    def _watch(self) -> None:
        while not self._done.is_set():
            now = read_own_memory()
            if now is not None:
                self.own = now if self.own is None else max(self.own, now)
            self._done.wait(_POLL_SECONDS)


def read_own_memory() -> float | None:
    """Resident memory that belongs to no file, in megabytes; None where the system does not tell."""
    return _read_status("RssAnon:")


def _read_status(name: str) -> float | None:
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024 / 1e6
    return None
