"""What we have accepted: pinned values of cells, and deviations that are explained with evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from textcat.errors import UsageError
from textcat.yaml_reader import read_packaged_yaml, read_yaml

Contents = TypeVar("Contents")

PINNED_HEADER = """# The measured value of each cell that was accepted last, in the unit of our measures.
# A value that moves by more than its kind allows (0.05 unless tolerances.yaml says otherwise) fails.
"""


class Variant(BaseModel):
    """One thing that was tried, and the figures it gave."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    variant: str
    figures: dict[str, float]


class Deviation(BaseModel):
    """Why some cells do not come out as printed; in `cells` a * stands for any characters."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cells: str
    reason: str
    evidence: tuple[Variant, ...]

    def covers(self, cell_id: str) -> bool:
        """Whether a cell is meant; brackets are plain characters here."""
        pattern = ".*".join(re.escape(part) for part in self.cells.split("*"))
        return re.fullmatch(pattern, cell_id) is not None


def load_deviations(path: Path | None = None) -> list[Deviation]:
    """The project's explained deviations, or those of another file."""
    return _validate(
        _deviations_adapter(), _read_data("deviations.yaml", path) or [], path or "deviations.yaml"
    )


def load_pinned(path: Path | None = None) -> dict[str, float]:
    """The project's pinned values, or those of another file."""
    return _validate(_pinned_adapter(), _read_data("pinned.yaml", path) or {}, path or "pinned.yaml")


def render_pinned(measured: Mapping[str, float | None], order: Iterable[str]) -> str:
    """The pinned file with these values, in the order of the published cells; no number, no line."""
    lines = [
        f'"{cell_id}": {_format_value(value)}'
        for cell_id in order
        if (value := measured.get(cell_id)) is not None and math.isfinite(value)
    ]
    return PINNED_HEADER + ("\n".join(lines) if lines else "{}") + "\n"


def _format_value(value: float) -> str:
    """Four decimals are far below any drift that matters; small numbers, as of p-values, keep four digits."""
    text = repr(round(value, 4)) if abs(value) >= 0.1 or value == 0 else f"{value:.4g}"
    # YAML 1.1 reads 1e-05 as a string: its floats need a point.
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


def _read_data(packaged_name: str, path: Path | None) -> Any:
    return read_packaged_yaml(f"published/{packaged_name}") if path is None else read_yaml(path).data


def _validate(adapter: TypeAdapter[Contents], contents: object, name: Path | str) -> Contents:
    try:
        return adapter.validate_python(contents)
    except ValidationError as problem:
        raise UsageError(
            f"is not in its format: {problem}",
            where=str(name),
            hint="Mend it as textcat/published/README.md describes.",
        ) from problem


@cache
def _deviations_adapter() -> TypeAdapter[list[Deviation]]:
    return TypeAdapter(list[Deviation])


@cache
def _pinned_adapter() -> TypeAdapter[dict[str, float]]:
    return TypeAdapter(dict[str, float])
