"""Print measurements as they are made, and keep them in a file that survives an interruption."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.machine import collect_machine_facts
from textcat.errors import BadDataError, UsageError
from textcat.store.files import write_atomically

Row = dict[str, Any]

# The columns that tell the rows of a benchmark apart; all others are measured.
KEYS = {
    "text": ("variant",),
    "solvers": ("problem", "solver"),
    "pipeline": ("tool", "learner"),
    "predict": ("documents", "format", "numbers of"),
    "backends": ("work", "backend", "workers"),
    "scale": ("learner", "varied", "documents", "topics"),
    "tune": ("collection",),
    "labels": ("tool", "documents"),
    "corpora": ("corpus",),
}


def select_names(names: Iterable[str], only: Sequence[str]) -> list[str]:
    """Return the names that contain one of `only`, in upper or lower case; all names if `only` is empty."""
    known = list(names)
    for part in only:
        if not any(part.lower() in name.lower() for name in known):
            raise UsageError(
                f"nothing to measure is called {part!r}", hint=f"Choose from {', '.join(known)}."
            )
    return [name for name in known if not only or any(part.lower() in name.lower() for part in only)]


def record_rows(
    benchmark: str,
    rows: Iterable[Row],
    save: Path | None = None,
    *,
    as_json: bool = False,
    part: bool = False,
) -> list[Row]:
    """Print each row when it is measured and keep it in SAVE/BENCHMARK.json; return all rows.

    A new row replaces the kept one with the same key. Until the run is complete its rows are marked `partial`, so an
    interrupted run leaves marked rows. A complete run removes at its end the kept rows that it did not measure; `part`
    says that only some of the rows are measured.
    """
    facts, measured, kept = collect_machine_facts(), list[Row](), list[Row]()
    path = None if save is None else save / f"{benchmark}.json"
    if path is not None and path.exists():
        kept = read_rows(path)
    try:
        for row in rows:
            measured.append({**row, "machine": facts})
            click.echo(json.dumps(measured[-1]) if as_json else format_row(row))
            kept = replace_row(kept, {**measured[-1], "partial": True}, KEYS[benchmark])
            write_rows(path, kept)
    except KeyboardInterrupt:
        where = "" if path is None else f"; they are kept in {path}, marked partial"
        click.echo(f"interrupted after {len(measured)} rows{where}", err=True)
        raise
    if part:
        for row in measured:
            kept = replace_row(kept, row, KEYS[benchmark])
    else:
        kept = measured
    write_rows(path, kept)
    if not as_json:
        click.echo(", ".join(f"{name} {value}" for name, value in facts.items()))
    return kept


def write_rows(path: Path | None, rows: Sequence[Row]) -> None:
    """Write rows to a file; do nothing without a path."""
    if path is not None:
        write_atomically(path, json.dumps(rows, indent=1) + "\n")


def read_rows(path: Path) -> list[Row]:
    """Read the rows that an earlier run kept."""
    try:
        rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadDataError(
            f"not a list of measurements: {error}", where=str(path), hint="Delete it and run again."
        ) from error
    return rows


def replace_row(rows: Sequence[Row], new: Row, key: Sequence[str]) -> list[Row]:
    """Return the rows with `new` in the place of the one with the same key, or at the end."""
    same = [all(row.get(name) == new[name] for name in key) for row in rows]
    replaced = [new if found else row for row, found in zip(rows, same, strict=True)]
    return replaced if any(same) else [*replaced, new]


def format_row(row: Row) -> str:
    """Return a row as one line, such as `variant words, seconds 0.27`; columns without a value are left out."""
    return ", ".join(f"{name} {text}" for name, value in row.items() for text in _format_value(value))


def _format_value(value: object) -> Iterator[str]:
    if isinstance(value, float):
        yield f"{value:.3g}"
    elif isinstance(value, int) and not isinstance(value, bool):
        yield f"{value:,}"
    elif value is not None:
        yield str(value)
