"""The text of multiverse.json: a list of values is one line, options are those that differ from the default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from textcat.experiment.run.multiverse import FORMAT
from textcat.report.multiverse_page import (
    _join_number_lists,
    count_verdicts,
    rank_effects,
    read_summary,
    write_multiverse,
)

NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-1000, 1000)


@given(st.lists(st.lists(NUMBERS, max_size=5), max_size=4), st.text(max_size=20))
def test_values_are_one_line_and_the_data_stay(values: list[list[Any]], text: str) -> None:
    readings = [{"options": {"a": f'{text}"values": [\n 1]'}, "values": own} for own in values]
    data = {"readings": readings, "others": [1, 2]}
    written = _join_number_lists(json.dumps(data, indent=1, ensure_ascii=False))
    assert json.loads(written) == data
    lines = [line.strip() for line in written.split("\n") if line.strip().startswith('"values": [')]
    assert [line.rstrip(",") for line in lines] == [f'"values": {json.dumps(own)}' for own in values]
    assert '"others": [\n' in written


def test_readings_are_stored_by_their_differences_from_the_default_and_read_as_a_whole(
    tmp_path: Path,
) -> None:
    default = {"stem": "none", "title": "merged", "seed": "first"}
    readings = [
        {"options": default, "mean_difference": 1.0, "values": [1.0]},
        {"options": default | {"stem": "porter"}, "mean_difference": 2.0, "values": [2.0]},
        {"options": default | {"stem": "porter", "seed": "second"}, "mean_difference": 3.0, "values": [None]},
    ]
    one: dict[str, Any] = {
        "default": {"options": default, "mean_difference": 1.0},
        "cells": {},
        "effects": {},
        "readings": readings,
    }
    one |= {"title": "t", "possible": 4, "complete": False, "failed": [], "seed": 1, "committed": default}
    one["nearest"] = {"options": default, "mean_difference": 1.0, "note": "fitted"}
    summary = {"format": FORMAT, "paper": "p", "questions": {}, "experiments": {"e": one}, "claims": {}}
    write_multiverse(tmp_path, summary)
    stored = json.loads((tmp_path / "multiverse.json").read_text())
    own = [each["options"] for each in stored["experiments"]["e"]["readings"]]
    assert own == [{}, {"stem": "porter"}, {"stem": "porter", "seed": "second"}]
    assert read_summary(tmp_path) == summary
    assert write_multiverse(tmp_path, summary) == summary


def test_effects_are_ranked_and_unknown_ones_last() -> None:
    effects = {"a": {"effect": None}, "b": {"effect": 0.0}, "c": {"effect": 2.0}, "d": {"effect": 0.5}}
    assert [name for name, _ in rank_effects({"effects": effects})] == ["c", "d", "b", "a"]


def test_verdicts_are_counted_over_judged_cells_only() -> None:
    cells = {
        str(k): {"within_tolerance": tolerance, "default_verdict": default, "nearest_verdict": nearest}
        for k, (tolerance, default, nearest) in enumerate(
            [(1.0, "reproduced", "close"), (0.0, "differs", "close"), (None, "reproduced", "reproduced")]
        )
    }
    assert count_verdicts({"cells": cells}) == {"default": (1, 0, 2), "nearest": (0, 2, 2)}
