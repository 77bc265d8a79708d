"""A real browser for tests of pages, where this machine has one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu")


def find_browser() -> str:
    """The path of Chromium; skips where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    return found or pytest.skip("no Chromium on this machine (apt install chromium)")


def dom(page: Path, scratch: Path, *options: str) -> str:
    """The page as Chromium has it when everything has run; skips where there is no Chromium."""
    profile = f"--user-data-dir={scratch / 'profile'}"
    done = subprocess.run(
        [find_browser(), *OPTIONS, profile, *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout
