"""Readings that an earlier multiverse.json holds, to be kept beside new ones.

Such a file has the printed cells of each reading, not all measures, so claims are judged on new readings alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from textcat.experiment.run.reading_plan import project_reading
from textcat.published.check import CellValues

log = logging.getLogger(__name__)

Key = tuple[str, ...]
# multiverse.json keeps four decimals.
ROUNDING = 1e-3


def find_earlier_readings(
    summary: Mapping[str, Any] | None, same: Mapping[str, Mapping[str, str]]
) -> dict[Key, CellValues]:
    """Map the options that make a difference to cell values, for each reading in the summary of an experiment.

    `same` is what `find_effective_options` returns. Readings with unknown or missing options are left out.
    """
    if summary is None:
        return {}
    cells = list(summary["cells"])
    found: dict[Key, CellValues] = {}
    for reading in summary["readings"]:
        options = reading["options"]
        if all(options.get(name) in known for name, known in same.items()):
            key = tuple(project_reading(options, same).values())
            found[key] = dict(zip(cells, reading["values"], strict=True))
    return found


def check_earlier_readings(
    name: str, earlier: Mapping[Key, CellValues], default: Key, measured: CellValues
) -> dict[Key, CellValues]:
    """Return the earlier readings, or none where the default reading is missing or has other numbers now."""
    if not earlier:
        return {}
    before = earlier.get(default)
    if before is None or not all(_is_same(before.get(cell), value) for cell, value in measured.items()):
        log.warning(
            "%s: the earlier readings are left out, since the default reading among them is missing or different",
            name,
        )
        return {}
    return dict(earlier)


def _is_same(before: float | None, now: float | None) -> bool:
    if before is None or now is None:
        return before is now
    return abs(before - now) <= ROUNDING
