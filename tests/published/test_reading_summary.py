"""Summaries over readings against numbers computed by hand on a made-up table."""

from __future__ import annotations

import itertools

import pytest

from textcat.published.claims import validate_claims
from textcat.published.printed_tables import PublishedCell
from textcat.published.readings import (
    MeasuredReading,
    compute_main_effects,
    find_nearest,
    summarize_cells,
    summarize_claims,
)
from textcat.yaml_reader import parse_yaml


def make_cell(row: str, printed: str | None, kind: str = "micro_f1", unit: str = "percent") -> PublishedCell:
    return PublishedCell.model_validate(
        {
            "paper": "p", "table": "t", "row": row, "column": "c", "printed": printed,
            "experiment": "e", "run": "r", "over": None, "measure": row, "kind": kind,
            "unit": unit, "cannot_run": None, "needs": None,
        }
    )  # fmt: skip


CELLS = [make_cell("first", "80.0"), make_cell("second", "70.0")]
FIRST, SECOND = (cell.id for cell in CELLS)
STEM = {"none": 0.0, "porter": 2.0, "other": -1.0}
STOP = {"none": 0.0, "smart": 1.0}


def measure_additive() -> list[MeasuredReading]:
    """The first cell moves with both questions, the second with stemming alone and half as far."""
    return [
        MeasuredReading(
            {"stem": stem, "stop": stop}, {FIRST: 80 + STEM[stem] + STOP[stop], SECOND: 70 + STEM[stem] / 2}
        )
        for stem, stop in itertools.product(STEM, STOP)
    ]


def test_main_effects_of_a_cross_product_are_differences_of_option_means() -> None:
    effects = compute_main_effects(measure_additive(), CELLS, ["stem", "stop"])
    # stem: 3 points between porter and other in the first cell, 1.5 in the second.
    assert effects["stem"]["effect"] == pytest.approx(2.25)
    assert effects["stem"]["options"] == {"none": 0.0, "porter": 1.5, "other": -0.75}
    assert effects["stop"] == {
        "effect": 0.5,
        "options": {"none": 0.0, "smart": 0.5},
        "tables": {"p.t": 0.5},
    }


def test_main_effects_with_an_interaction_are_means_over_the_other_question() -> None:
    values = {
        ("none", "none"): 80.0,
        ("porter", "none"): 84.0,
        ("none", "smart"): 81.0,
        ("porter", "smart"): 81.0,
    }
    measured = [MeasuredReading({"stem": a, "stop": b}, {FIRST: v}) for (a, b), v in values.items()]
    effects = compute_main_effects(measured, CELLS[:1], ["stem", "stop"])
    assert effects["stem"]["options"]["porter"] == pytest.approx((84 + 81) / 2 - (80 + 81) / 2)
    assert effects["stop"]["options"]["smart"] == pytest.approx((81 + 81) / 2 - (80 + 84) / 2)


def test_an_incomplete_design_gives_the_same_effects_where_questions_add_up() -> None:
    every = measure_additive()
    part = [m for m in every if m.reading["stop"] == "none" or m.reading["stem"] == "none"]
    assert len(part) == 4 < len(every)
    assert compute_main_effects(part, CELLS, ["stem", "stop"]) == compute_main_effects(
        every, CELLS, ["stem", "stop"]
    )


def test_questions_that_always_change_together_have_no_effect_of_their_own() -> None:
    measured = [measure_additive()[0], measure_additive()[3]]
    effects = compute_main_effects(measured, CELLS, ["stem", "stop"])
    assert {effect["effect"] for effect in effects.values()} == {None}


def test_the_nearest_reading_has_the_least_mean_absolute_difference() -> None:
    measured = [
        MeasuredReading({}, {FIRST: a, SECOND: b}) for a, b in ((82.0, 72.0), (79.0, 71.5), (80.0, 75.0))
    ]
    assert find_nearest(CELLS, measured) == 1
    assert find_nearest([make_cell("first", None)], measured) is None


def test_cells_have_range_and_shares() -> None:
    summary = summarize_cells(CELLS, measure_additive())[FIRST]
    assert (summary["default"], summary["nearest"]) == (80.0, 80.0)
    assert (summary["min"], summary["max"]) == (79.0, 83.0)
    # 80, 81, 82, 83, 79, 80: four within one point, five within two.
    assert summary["within_tolerance"] == pytest.approx(4 / 6, abs=1e-4)
    assert summary["within_close"] == pytest.approx(5 / 6, abs=1e-4)


def test_a_missing_number_counts_as_outside() -> None:
    measured = [MeasuredReading({}, {FIRST: 80.0}), MeasuredReading({}, {FIRST: None})]
    summary = summarize_cells(CELLS[:1], measured)[FIRST]
    assert (summary["within_tolerance"], summary["min"]) == (0.5, 80.0)


CLAIM = """
- id: zhang_2000.higher
  paper: zhang_2000
  statement: Left is higher.
  where: section 4
  tests:
    - test: all_greater
      left: {experiment: e, run: left, measure: m}
      right: {experiment: e, run: right, measure: m}
"""


def test_the_share_of_readings_in_which_a_claim_holds() -> None:
    claims = validate_claims(parse_yaml(CLAIM, "claims.yaml").data, "claims.yaml")
    readings = [{"e": {"left": {"m": left}, "right": {"m": 1.0}}} for left in (2.0, 0.5, 3.0, None)]
    summary = summarize_claims(claims, readings)["zhang_2000.higher"]
    assert summary["default"] == "holds"
    assert (summary["readings"], summary["holds"]) == (3, pytest.approx(2 / 3, abs=1e-4))
    assert summarize_claims(claims, [{"other": {}}]) == {}
