"""The matrix as a file: a line a cell and a line a claim, so that a number that moves is a line of the diff.

What many cells share is said once: `deviations` and `reasons` list texts by a short name that cells refer to, and
what a table's cells have in common stands at the table. The evidence of a claim is experiment, run, measure, number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

SHARED_TEXTS = (("deviation", "deviations"), ("cannot_run", "reasons"))
OF_THE_TABLE = ("paper", "table")
DIGITS = 10


def as_lines(matrix: Mapping[str, Any]) -> str:
    """The file's text, without what differs from run to run."""
    texts: dict[str, dict[str, str]] = {plural: {} for _, plural in SHARED_TEXTS}
    tables = [_table(table, texts) for table in matrix["tables"]]
    claims = [_claim(claim, texts["reasons"]) for claim in matrix["each_claim"]]
    parts = {
        **{name: _one(matrix[name]) for name in ("totals", "papers", "claims")},
        **{plural: _listed(_named(texts[plural]), "{}") for _, plural in SHARED_TEXTS},
        "tables": _listed(tables, "[]"),
        "each_claim": _listed([_one(claim) for claim in claims], "[]"),
    }
    return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in parts.items()) + "\n}\n"


def _table(table: Mapping[str, Any], texts: dict[str, dict[str, str]]) -> str:
    facts = {key: value for key, value in table.items() if key not in ("seconds", "cells")}
    cells = _listed([_one(_cell(cell, texts)) for cell in table["cells"]], "[]")
    return f'{_one(facts)[:-1]}, "cells": {cells}}}'


def _cell(cell: Mapping[str, Any], texts: dict[str, dict[str, str]]) -> dict[str, Any]:
    """One cell; what it does not have is left out, but never its verdict, its state or its numbers."""
    kept = {
        key: value for key, value in cell.items() if key not in OF_THE_TABLE and value not in (None, False)
    }
    kept |= {key: cell[key] for key in ("printed", "measured", "gated")}
    for one, many in SHARED_TEXTS:
        if one in kept:
            kept[one] = _name_of(kept[one], one, texts[many])
    return kept


def _claim(claim: Mapping[str, Any], reasons: dict[str, str]) -> dict[str, Any]:
    evidence: dict[str, Any] = {}
    for entry in claim["evidence"]:
        runs = evidence.setdefault(entry["experiment"], {})
        runs.setdefault(entry["run"], {})[entry["measure"]] = entry["value"]
    kept = {key: value for key, value in claim.items() if value is not None and key != "paper"}
    if "cannot_run" in kept:
        kept["cannot_run"] = _name_of(kept["cannot_run"], "cannot_run", reasons)
    return {**kept, "evidence": evidence}


def _name_of(text: str, kind: str, known: dict[str, str]) -> str:
    return known.setdefault(text, f"{kind}_{len(known) + 1}")


def _named(texts: Mapping[str, str]) -> list[str]:
    return [f"{json.dumps(name)}: {json.dumps(text)}" for text, name in texts.items()]


def _listed(lines: Sequence[str], brackets: str) -> str:
    return brackets if not lines else f"{brackets[0]}\n" + ",\n".join(lines) + f"\n{brackets[1]}"


def _one(value: Any) -> str:
    return json.dumps(_rounded(value), allow_nan=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value
