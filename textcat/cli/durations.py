"""Times on the command line."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Duration(click.ParamType[float]):
    """A time such as 90s, 20m or 2h, in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(value))
        if found is None:
            self.fail(f"{value!r} is not a time such as 90s, 20m or 2h", param, ctx)
        return float(found[1]) * _UNITS[found[2]]
