"""The headline by reading, the strips and the numbered notes, on numbers made up for the purpose."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from textcat.experiment.run.multiverse import FORMAT, describe_questions
from textcat.experiment.run.reading_plan import ReadableExperiment
from textcat.published.check import CellVerdict, Deviation, Variant, judge_cells
from textcat.published.printed_tables import load_all_cells
from textcat.published.readings import FITTED, load_readings
from textcat.published.verdicts import read_printed
from textcat.report import reading_headlines
from textcat.report.comparison_tables import format_cell, make_compared_table, number_notes
from textcat.report.reading_headlines import (
    describe_choices,
    find_departures,
    format_reading_rows,
    read_multiverses,
    summarize_by_reading,
)
from textcat.report.specification_curve import HALF_HEIGHT, make_strip
from textcat.yaml_reader import YamlSource

CELLS = {cell.id: cell for cell in load_all_cells()}
BEP = [cell for cell in CELLS.values() if cell.table_id == "zhang_oles_2001.table2" and cell.row == "BEP"]


def judge(differences: dict[str, float], deviations: tuple[Deviation, ...] = ()) -> list[CellVerdict]:
    """Judge cells that are this far from print."""
    cells = [CELLS[name] for name in differences]
    measured: dict[str, float | None] = {
        cell.id: read_printed(str(cell.printed), cell.unit).value + differences[cell.id] for cell in cells
    }
    return judge_cells(measured, cells, {}, deviations)


def summarize_bep(minimum: float, maximum: float) -> dict[str, Any]:
    """A multiverse of two readings, in which every break-even point has this range around print."""
    cells = {}
    for cell in BEP:
        printed = read_printed(str(cell.printed), cell.unit).value
        cells[cell.id] = {
            "min": printed + minimum,
            "max": printed + maximum,
            "default_verdict": "differs",
            "nearest_verdict": "reproduced",
        }
    return {"cells": cells, "default": {"options": {}}, "readings": [{"options": {}}, {"options": {}}]}


def write_multiverse(folder: Path, questions: dict[str, Any]) -> None:
    summary = {
        "format": FORMAT, "paper": "zhang_oles_2001", "questions": questions, "claims": {},
        "experiments": {"reuters_modapte": summarize_bep(-3.0, 1.0)},
    }  # fmt: skip
    (folder / "zhang_oles_2001").mkdir(parents=True)
    (folder / "zhang_oles_2001" / "multiverse.json").write_text(json.dumps(summary))


def test_the_counts_of_the_readings_are_apart_and_add_up(tmp_path: Path) -> None:
    write_multiverse(tmp_path, describe_questions(load_readings("zhang_oles_2001")))
    verdicts = judge_cells({}, load_all_cells(), {})
    found = summarize_by_reading(verdicts, tmp_path)
    tables = sum(1 for cell in CELLS.values() if cell.group == "tables" and cell.printed and cell.counted)
    assert sum(found[name]["counted"] for name in ("default", "other")) == tables
    nearest = found["nearest"]
    assert (nearest["cells"], nearest["papers"], nearest["how"]) == (len(BEP), ["zhang_oles_2001"], FITTED)
    assert nearest["headline"] == {"reproduced": len(BEP), "close": 0, "off": 0}
    assert nearest["default_headline"] == {"reproduced": 0, "close": 0, "off": len(BEP)}
    assert nearest["experiments"] == {"reuters_modapte": 2}
    rows = format_reading_rows(found)
    assert sum(int(row[-1]) for row in rows[:-2]) == tables
    assert rows[-2][1:4] == [str(len(BEP)), "0", "0"]
    assert summarize_by_reading(verdicts, None)["nearest"]["cells"] == 0


def test_readings_under_other_questions_are_not_counted(tmp_path: Path) -> None:
    write_multiverse(tmp_path, {"another": {}})
    assert read_multiverses(tmp_path) == {}


def test_a_table_says_how_its_open_questions_were_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_departures("reuters_modapte") == ()
    assert find_departures("an experiment of a user") == ()
    assert describe_choices(["reuters_modapte"]).endswith("chosen without any test result.")
    assert describe_choices(["an experiment of a user"]) == ""
    name, readings = "gao_2003/table1", load_readings("gao_2003")
    file = ReadableExperiment.load(name, readings)
    other = file.apply_options({"length": "one_and_a_half", "beta": "zero"}).model_dump(mode="json")
    patched = replace(file, source=YamlSource(other))
    monkeypatch.setattr(ReadableExperiment, "load", lambda *_: patched)
    monkeypatch.setattr(reading_headlines, "find_departures", find_departures.__wrapped__)
    found = reading_headlines.find_departures(name)
    assert set(found) == {"length", "beta"}
    assert describe_choices([name]) == (
        "Open questions: answers other than the default reading's, or left to a setting's default: beta, length; "
        "otherwise the default reading."
    )


def test_a_strip_has_a_column_for_each_cell_with_its_range() -> None:
    entries = judge({cell.id: -2.0 for cell in BEP})
    strip = make_strip(entries, {"reuters_modapte": summarize_bep(-5.0, 2.5)})
    assert strip is not None
    assert (len(strip.cells), strip.points, strip.readings) == (len(BEP), 5.0, 2)
    assert strip.tolerance == HALF_HEIGHT / 5
    first = strip.cells[0]
    # Above print is up, where y is negative.
    assert (first.measured, first.low, first.high) == (HALF_HEIGHT * 2 / 5, HALF_HEIGHT, -HALF_HEIGHT / 2)
    assert "difference -2.0, over readings -5.0 to +2.5" in first.label


def test_a_strip_without_readings_has_no_ranges_and_without_numbers_there_is_none() -> None:
    strip = make_strip(judge({BEP[0].id: 60.0}), {})
    assert strip is not None
    assert (strip.cells[0].low, strip.readings, strip.points) == (None, 0, 25.0)
    assert strip.cells[0].measured == -HALF_HEIGHT
    assert make_strip(judge_cells({}, BEP, {}), {}) is None


@pytest.mark.parametrize("measured", [0.0, -9.0])
def test_a_miss_has_the_number_of_its_note_and_other_cells_have_none(measured: float) -> None:
    why = Deviation(
        cells="zhang_oles_2001.table2[BEP][*]", reason="why", evidence=(Variant(variant="v", figures={}),)
    )
    entries = judge({BEP[0].id: measured, BEP[1].id: 9.0}, (why,))
    table, notes = number_notes(make_compared_table(entries))
    assert notes == ["why"]
    texts = [format_cell(cell) for cell in table.cells.values()]
    assert [text.endswith(" [1]") for text in texts] == [measured != 0.0, True]
