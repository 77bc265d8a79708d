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


def make_visible(value: Any) -> Any:
    """Return a text, or all texts in data, with control characters replaced by a visible sign, one for each.

    Such characters can move the cursor, set the title of a terminal or reverse the order of letters. Line ends and
    tabs are kept in the text of a document, the value of a key `document`.
    """
    if isinstance(value, str):
        return value.translate(_SIGNS)
    if isinstance(value, dict):
        return {
            make_visible(key): _make_lines_visible(inner) if key == "document" else make_visible(inner)
            for key, inner in value.items()
        }
    return [make_visible(inner) for inner in value] if isinstance(value, list | tuple) else value


def _make_lines_visible(fields: dict[str, str]) -> dict[str, str]:
    return {
        make_visible(field): text.replace("\r\n", " \n").translate(_SIGNS_IN_TEXT)
        for field, text in fields.items()
    }


_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_REORDERING = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029]
_SIGNS = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x7F: "\N{SYMBOL FOR DELETE}",
    **dict.fromkeys([*range(0x80, 0xA0), *_REORDERING], _UNKNOWN),
}
_SIGNS_IN_TEXT = {code: sign for code, sign in _SIGNS.items() if chr(code) not in "\n\t"}
