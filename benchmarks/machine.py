"""The machine that is measured on, and the peak memory of a process.

Two figures are kept: resident memory, and the part of it that belongs to no file. Pages of memory-mapped
files count as resident while there is space and can be dropped at any time, so a process needs only the other
part.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import threading
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from textcat.errors import StageFailedError

_STATUS = Path("/proc/self/status")
_POLL_SECONDS = 0.05
_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "liblinear-multicore",
    "liblinear-official",
    "libmultilabel",
    "omikuji",
    "skglm",
    "celer",
    "fasttext-wheel",
    "cyanure",
    "joblib",
    "distributed",
)


def collect_machine_facts() -> dict[str, object]:
    """Return processor, cores, load, system and versions of packages."""
    return {
        "processor": _find_processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: _find_version(name) for name in _PACKAGES},
    }


def run_in_process(module: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Run `python -m MODULE` with a request as JSON on standard input; return the row of JSON that it prints last."""
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    done = subprocess.run(  # noqa: S603 - our own module, by this interpreter
        [sys.executable, "-m", module], input=json.dumps(request), env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"ended with {done.returncode}"]
        raise StageFailedError(
            f"failed: {last[0]}", where=f"python -m {module}", hint="Measure fewer documents."
        )
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def _find_processor() -> str:
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


class PeakMemory:
    """Measure the peak memory of this process inside a `with` block, in megabytes of a million bytes."""

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
        """Return the peak of resident memory since the program began, mapped files included."""
        return read_peak_memory()

    def _watch(self) -> None:
        while not self._done.is_set():
            now = read_own_memory()
            if now is not None:
                self.own = now if self.own is None else max(self.own, now)
            self._done.wait(_POLL_SECONDS)


def read_own_memory() -> float | None:
    """Return the resident memory that belongs to no file, in megabytes; None if the system does not report it."""
    return _read_status("RssAnon:")


def _read_status(name: str) -> float | None:
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024 / 1e6
    return None


def read_peak_memory() -> float:
    """Return the peak of resident memory since the program began, in megabytes.

    Without /proc this is getrusage's value, which may be the peak of the parent process.
    """
    if (highest := _read_status("VmHWM:")) is not None:
        return highest
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, kilobytes elsewhere
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
