"""Accepted results: pinned values of cells, and known deviations from print with their evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from textcat.published.printed_tables import validate_contents
from textcat.settings import StrictSettings
from textcat.yaml_reader import read_packaged_yaml, read_yaml

PINNED_HEADER = """# The measured value of each cell that was accepted last, in the unit of our measures.
# A value that moves by more than its kind allows (0.05 unless tolerances.yaml says otherwise) fails.
"""


class Variant(StrictSettings):
    """A variant that was tried, and its figures."""

    variant: str
    figures: dict[str, float]


class Deviation(StrictSettings):
    """Explanation of cells that differ from print; `*` in `cells` matches any characters."""

    cells: str
    reason: str
    evidence: tuple[Variant, ...]

    def covers(self, cell_id: str) -> bool:
        """Return whether a cell id matches `cells`; brackets are plain characters."""
        pattern = ".*".join(re.escape(part) for part in self.cells.split("*"))
        return re.fullmatch(pattern, cell_id) is not None


def load_deviations(path: Path | None = None) -> list[Deviation]:
    """Load the known deviations from the package, or from `path`."""
    return list(_load(list[Deviation], "deviations.yaml", path, []))


def load_pinned(path: Path | None = None) -> dict[str, float]:
    """Load the pinned values from the package, or from `path`."""
    return dict(_load(dict[str, float], "pinned.yaml", path, {}))


def render_pinned(measured: Mapping[str, float | None], order: Iterable[str]) -> str:
    """Return the text of pinned.yaml with these values, in the given order; values that are not finite are left out."""
    lines = [
        f'"{cell_id}": {_format_value(value)}'
        for cell_id in order
        if (value := measured.get(cell_id)) is not None and math.isfinite(value)
    ]
    return PINNED_HEADER + ("\n".join(lines) if lines else "{}") + "\n"


def _format_value(value: float) -> str:
    """Format with four decimals, far below any tolerated drift; small numbers such as p-values keep four digits."""
    text = repr(round(value, 4)) if abs(value) >= 0.1 or value == 0 else f"{value:.4g}"
    # YAML 1.1 reads 1e-05 as a string; a float needs a decimal point.
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


def _load(kind: Any, packaged_name: str, path: Path | None, empty: Any) -> Any:
    data = read_packaged_yaml(f"published/{packaged_name}") if path is None else read_yaml(path).data
    return validate_contents(kind, data or empty, "contents", str(path or packaged_name))
