"""What commands write on standard output: JSON that every program reads, and text that cannot steer a terminal."""

from __future__ import annotations

import json
import math
from typing import Any

import click


def print_json(value: Any, *, ensure_ascii: bool = False) -> None:
    """Print data as JSON, with null for NaN and infinity, which JSON does not have."""
    click.echo(json.dumps(_replace_nan(value), indent=1, ensure_ascii=ensure_ascii, allow_nan=False))


def _replace_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _replace_nan(inner) for key, inner in value.items()}
    return [_replace_nan(inner) for inner in value] if isinstance(value, list | tuple) else value
