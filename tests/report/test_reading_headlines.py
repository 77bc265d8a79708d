"""The headline by reading, the strips and the numbered notes, on numbers made up for the purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.loops import for_each
from textcat.experiment.run.multiverse import FORMAT
from textcat.published.check import CellVerdict, Deviation, Variant, judge_cells
from textcat.published.printed_tables import load_all_cells
from textcat.published.readings import load_readings
from textcat.published.verdicts import read_printed
from textcat.report.comparison_tables import format_cell, make_compared_table, number_notes
from textcat.report.reading_headlines import (
    describe_readings,
    read_multiverses,
    summarize_by_reading,
)
from textcat.report.strips import HALF_HEIGHT, make_strip

CELLS = {cell.id: cell for cell in load_all_cells()}
BEP = [cell for cell in CELLS.values() if cell.table_id == "zhang_oles_2001.table2" and cell.row == "BEP"]


def judge(differences: dict[str, float], deviations: tuple[Deviation, ...] = ()) -> list[CellVerdict]:
    """Judge cells that are this far from print."""
    cells = [CELLS[name] for name in differences]
    measured: dict[str, float | None] = {
        cell.id: read_printed(str(cell.printed), cell.unit).value + differences[cell.id] for cell in cells
    }
    return judge_cells(measured, cells, {}, deviations)


def summarize_bep() -> dict[str, Any]:
    """What a search found where every break-even point is reproduced, but off under the literal reading."""
    printed = {cell.id: read_printed(str(cell.printed), cell.unit).value for cell in BEP}
    return {
        name: {
            "literal": value - 3.0,
            "reconstructed": value,
            "held_out": value + 1.5,
            "verdicts": ["differs", "reproduced", "close"],
            "range": [value - 5.0, value + 2.5],
        }
        for name, value in printed.items()
    }


def write_multiverse(folder: Path, options: Any) -> None:
    summary = {
        "format": FORMAT, "paper": "zhang_oles_2001", "options": options, "questions": {}, "experiments": {},
        "cells": summarize_bep(), "chance": [3.0, 1.0],
    }  # fmt: skip
    (folder / "zhang_oles_2001").mkdir(parents=True)
    (folder / "zhang_oles_2001" / "multiverse.json").write_text(json.dumps(summary))


def test_each_number_is_counted_once_under_each_reading(tmp_path: Path) -> None:
    write_multiverse(tmp_path, load_readings("zhang_oles_2001").patches)
    found = summarize_by_reading(judge({cell.id: 0.0 for cell in BEP}), tmp_path)
    assert (found["judged"], found["searched"]) == (len(BEP), len(BEP))
    assert found["held_out"] == {"reproduced": 0, "close": len(BEP), "off": 0}
    assert found["reconstructed"] == {"reproduced": len(BEP), "close": 0, "off": 0}
    assert found["literal"] == {"reproduced": 0, "close": 0, "off": len(BEP)}
    assert found["papers"]["zhang_oles_2001"]["held_out"] == found["held_out"]
    assert found["chance"] == {"mean": 3.0, "sd": 1.0}
    assert f"{len(BEP)} are close under readings that were found without them" in describe_readings(found)
    # Without a search all readings are that of the experiment file, and the headline says so.
    alone = summarize_by_reading(judge({cell.id: 0.0 for cell in BEP}), None)
    assert alone["held_out"] == alone["literal"] == found["reconstructed"]
    assert f"readings of {len(BEP)} numbers were not searched" in describe_readings(alone)


def test_readings_under_other_options_are_not_counted(tmp_path: Path) -> None:
    write_multiverse(tmp_path, "other options")
    assert read_multiverses(tmp_path) == {}


def test_a_strip_has_a_column_for_each_cell_with_its_range() -> None:
    entries = judge({cell.id: -2.0 for cell in BEP})
    strip = make_strip(entries, {name: tuple(cell["range"]) for name, cell in summarize_bep().items()})
    assert strip is not None
    assert (len(strip.cells), strip.points, strip.ranged) == (len(BEP), 5.0, True)
    assert strip.tolerance == HALF_HEIGHT / 5
    first = strip.cells[0]
    # Above print is up, where y is negative.
    assert (first.measured, first.low, first.high) == (HALF_HEIGHT * 2 / 5, HALF_HEIGHT, -HALF_HEIGHT / 2)
    assert "difference -2.0, over readings -5.0 to +2.5" in first.label


def test_a_strip_without_readings_has_no_ranges_and_without_numbers_there_is_none() -> None:
    strip = make_strip(judge({BEP[0].id: 60.0}), {})
    assert strip is not None
    assert (strip.cells[0].low, strip.ranged, strip.points) == (None, False, 25.0)
    assert strip.cells[0].measured == -HALF_HEIGHT
    assert make_strip(judge_cells({}, BEP, {}), {}) is None


@for_each("measured", [0.0, -9.0])
def test_a_miss_has_the_number_of_its_note_and_other_cells_have_none(measured: float) -> None:
    why = Deviation(
        cells="zhang_oles_2001.table2[BEP][*]", reason="why", evidence=(Variant(variant="v", figures={}),)
    )
    entries = judge({BEP[0].id: measured, BEP[1].id: 9.0}, (why,))
    table, notes = number_notes(make_compared_table(entries))
    assert notes == ["why"]
    texts = [format_cell(cell) for cell in table.cells.values()]
    assert [text.endswith(" [1]") for text in texts] == [measured != 0.0, True]
