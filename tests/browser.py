"""A real browser for tests of pages, where this machine has one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def dom(page: Path, scratch: Path, *options: str) -> str:
    """The page as Chromium has it when everything has run; skips where there is no Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine (apt install chromium)")
    shared = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={scratch / 'profile'}"]
    done = subprocess.run(
        [browser, *shared, *options, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout
