"""The facts of a machine that stand beside every measured time."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import textcat


def machine_facts() -> dict[str, str | int]:
    """Processor, cores, system, and the versions of what does the work."""
    facts: dict[str, str | int] = {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "load": _load(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "textcat": textcat.__version__,
    }
    for package in ("numpy", "scipy", "numba", "scikit-learn", "liblinear-official", "skglm", "celer"):
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            continue
    return facts


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _load() -> str:
    """Other work running at the same time makes times longer; ratios suffer less."""
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except OSError:
        return ""
