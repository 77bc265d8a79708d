"""What the measurements were made on: they mean little without it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "liblinear-multicore",
    "liblinear-official",
    "libmultilabel",
    "skglm",
    "celer",
    "joblib",
    "distributed",
)


def collect_machine_facts() -> dict[str, object]:
    """Processor, cores, load, system and versions, JSON-able."""
    return {
        "processor": _find_processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: _find_version(name) for name in _PACKAGES},
    }


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
