"""Where and with what a report's numbers were made."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

PACKAGES = ("numpy", "scipy", "numba", "nltk")


def facts_of(results: Mapping[str, Any], seconds: Mapping[str, float]) -> dict[str, str]:
    """The collection, the versions, the machine and the seconds, for a table of two columns."""
    corpus = results["corpus"]
    return {
        "corpus": f"{corpus['name']}, {corpus['train_documents']:,} training and {corpus['test_documents']:,} test "
        f"documents, {corpus['terms']:,} terms, {corpus['categories']} categories",
        "contents": f"sha256 {corpus['fingerprint'][:16]}",
        "textcat": results["version"],
        **machine(),
        "time": ", ".join(f"{stage} {spent:.1f} s" for stage, spent in seconds.items()),
    }


def machine() -> dict[str, str]:
    """Versions and machine; no host name and no path, since reports are shown to others."""
    return {
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }
