"""Count the steps of a function: lines of Python that it runs, which are the same on any machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_steps(function: Callable[[], Any]) -> int:
    """Return the number of lines of textcat that run in `function`; each turn of a loop counts."""
    steps = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        if "textcat" not in frame.f_code.co_filename and not frame.f_code.co_filename.startswith("<"):
            return None
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return steps
