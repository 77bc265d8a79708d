"""What the slice measured on copies of Reuters-21578 other than the one that the pinned numbers were made from.

Where a mirror of the machine has another copy, its numbers are pinned here. To accept new ones, let the copy be
fetched anew and run, without a mirror:

    textcat run tests/gate/slice/*.yaml --data DATA --results RESULTS
    python -m tests.gate.pins RESULTS/local
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from textcat.published.verdicts import find_measure_kind
from textcat.report.gate import find_measured_values, find_results, judge_results, load_pinned_sources

PINS = Path(__file__).with_name("pinned_copies.yaml")
Numbers = dict[str, float]


def load_pins() -> dict[str, Numbers]:
    """Fingerprint of a copy -> cell id -> number."""
    return dict(yaml.safe_load(PINS.read_text(encoding="utf-8")))


def gated_numbers(results: Mapping[str, Mapping[str, Any]]) -> Numbers:
    """The measured numbers of tables that are judged."""
    judged = judge_results(results, everything=False)
    gated = {entry.cell.id for entry in judged if entry.gated and entry.cell.group == "tables"}
    return {
        name: value
        for name, value in find_measured_values(results).items()
        if name in gated and value is not None
    }


def fingerprint_of(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The one copy that all results were made from."""
    (found,) = {one["corpus"]["fingerprint"] for one in results.values()}
    return str(found)


def moved(results: Mapping[str, Mapping[str, Any]], pins: Numbers) -> list[str]:
    """Cells that are away from their pin by more than their kind allows, or no longer measured.

    Numbers without a pin for this copy are not judged.
    """
    kinds = {entry.cell.id: entry.cell.kind for entry in judge_results(results, everything=False)}
    numbers = gated_numbers(results)
    return sorted(
        name
        for name in pins
        if name not in numbers
        or abs(numbers[name] - pins[name]) > find_measure_kind(kinds[name]).drift + 1e-9
    )


def accept(folder: Path) -> None:
    """Keep a run's numbers as those of its copy; the main copy has its own file of pins."""
    results = find_results([folder])
    copy = fingerprint_of(results)
    if copy in load_pinned_sources().values():
        raise SystemExit("these results are of the copy that `textcat check --pin` is for")
    pins = (load_pins() if PINS.exists() else {}) | {
        copy: {name: round(value, 4) for name, value in sorted(gated_numbers(results).items())}
    }
    PINS.write_text(yaml.safe_dump(pins, width=120), encoding="utf-8")


if __name__ == "__main__":
    accept(Path(sys.argv[1]))
