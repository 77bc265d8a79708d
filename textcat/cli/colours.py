"""Colours in the terminal, and none where nobody would see them."""

from __future__ import annotations

import os
import sys


def coloured() -> bool:
    """Whether standard output is a terminal whose user has not asked for plain text (NO_COLOR)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()
