from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.errors import UsageError
from textcat.published.verdicts import (
    describe_tolerances,
    find_measure_kind,
    judge_direction,
    judge_number,
    load_measure_kinds,
    read_printed,
    subtract_printed,
)


@for_each(
    ("measured", "expected"),
    [
        (86.9, "reproduced"),
        (87.9, "reproduced"),
        (87.949, "reproduced"),
        (87.96, "close"),
        (88.949, "close"),
        (88.96, "above"),
        (85.86, "reproduced"),
        (85.84, "close"),
        (84.86, "close"),
        (84.84, "differs"),
        (0.0, "differs"),
        (math.nan, "missing"),
        (None, "missing"),
    ],
)
def test_break_even_point_printed_with_one_decimal(measured, expected):
    assert judge_number(measured, "86.9", "micro_bep", "percent") == expected


@for_each(
    ("kind", "tolerance"),
    [
        ("accuracy", 1.0),
        ("micro_f1", 1.0),
        ("micro_bep", 1.0),
        ("category_bep", 1.0),
        ("precision", 1.0),
        ("recall", 1.0),
        ("category_f1", 3.0),
        ("macro_f1", 2.5),
    ],
)
def test_tolerance_of_each_kind_and_twice_that_is_close(kind, tolerance):
    for side in (-1, 1):
        assert judge_number(50 + side * (tolerance + 0.049), "50.0", kind, "percent") == "reproduced"
        assert judge_number(50 + side * (tolerance + 0.051), "50.0", kind, "percent") == "close"
        assert judge_number(50 + side * (2 * tolerance + 0.049), "50.0", kind, "percent") == "close"
        outside = "above" if side > 0 else "differs"
        assert judge_number(50 + side * (2 * tolerance + 0.051), "50.0", kind, "percent") == outside


def test_printed_precision_widens_what_was_printed_coarsely():
    assert judge_number(91.4, "90", "accuracy", "percent") == "reproduced"
    assert judge_number(91.4, "90.0", "accuracy", "percent") == "close"


def test_fractions_are_compared_in_points():
    assert read_printed("0.8842", "fraction").value == pytest.approx(88.42)
    assert read_printed("0.8842", "fraction").half_unit == pytest.approx(0.005)
    assert read_printed("0.979", "fraction").half_unit == pytest.approx(0.05)
    assert judge_number(89.4, "0.8842", "micro_f1", "fraction") == "reproduced"
    assert judge_number(0.8842, "0.8842", "micro_f1", "fraction") == "differs"


@for_each(
    ("printed", "unit", "value", "half_unit"),
    [
        ("77.0", "percent", 77.0, 0.05),
        (".044", "p_value", 0.044, 0.0005),
        ("10^-3", "power_of_ten", 0.001, 0.0),
        ("24,662", "seconds", 24662.0, 0.5),
        ("93.8", "count", 93.8, 0.05),
        ("892", "count", 892.0, 0.0),
    ],
)
def test_reading_what_is_printed(printed, unit, value, half_unit):
    read = read_printed(printed, unit)
    assert read.value == pytest.approx(value)
    assert read.half_unit == pytest.approx(half_unit)


@for_each(
    ("printed", "unit"),
    [("NA", "percent"), ("", "percent"), ("-", "count"), ("0.01", "power_of_ten"), ("4", "text")],
)
def test_what_is_no_number_is_refused(printed, unit):
    with pytest.raises(UsageError):
        read_printed(printed, unit)


def test_significance_must_agree():
    assert judge_number(0.049, ".005", "p_value", "p_value") == "reproduced"
    assert judge_number(0.051, ".005", "p_value", "p_value") == "differs"
    assert judge_number(0.3, ".705", "p_value", "p_value") == "reproduced"
    assert judge_number(0.01, ".705", "p_value", "p_value") == "differs"


def test_direction_of_a_pair_of_counts():
    assert judge_direction(50, 10, "39", "20") == "reproduced"
    assert judge_direction(10, 50, "39", "20") == "differs"
    assert judge_direction(30, 30, "39", "20") == "close"
    assert judge_direction(30, 30, "48", "48") == "reproduced"
    assert judge_direction(31, 30, "48", "48") == "close"
    assert judge_direction(None, 30, "39", "20") == "missing"
    assert judge_direction(math.nan, 30, "39", "20") == "missing"


def test_powers_of_ten_count_decades():
    assert judge_number(1e-3, "10^-3", "regularization", "power_of_ten") == "reproduced"
    assert judge_number(1e-4, "10^-3", "regularization", "power_of_ten") == "close"
    assert judge_number(1e-5, "10^-3", "regularization", "power_of_ten") == "differs"
    assert judge_number(0.0, "10^-3", "regularization", "power_of_ten") == "differs"


@for_each(
    ("errors", "printed", "expected"),
    [
        (41, "0.762", "above"),  # 23 errors are printed
        (25, "0.762", "reproduced"),
        (27, "0.762", "close"),
        (12, "0.762", "differs"),
        (98, "3.01", "reproduced"),
        (101, "3.01", "close"),
        (110, "3.01", "above"),
    ],
)
def test_error_rates_are_judged_by_the_share_of_the_printed_rate(errors, printed, expected):
    assert judge_number(100 * errors / 3019, printed, "error_rate", "percent") == expected


def test_large_error_rates_are_judged_in_points():
    assert judge_number(13.93, "13.63", "error_rate", "percent") == "reproduced"
    assert judge_number(14.2, "13.63", "error_rate", "percent") == "close"
    assert judge_number(14.3, "13.63", "error_rate", "percent") == "above"


@for_each(
    ("measured", "expected"),
    [
        (0.5, "reproduced"),
        (1.11, "reproduced"),
        (1.12, "close"),
        (1.70, "close"),
        (1.71, "above"),
        (0.222, "reproduced"),
        (0.2216, "close"),
        (0.1452, "close"),
        (0.145, "differs"),
        (0.0, "differs"),
        (math.nan, "missing"),
    ],
)
def test_standard_deviations_are_judged_by_their_quotient(measured, expected):
    assert judge_number(measured, "0.5", "spread", "percent") == expected


def test_feature_counts_are_relative_with_a_floor_of_one():
    assert judge_number(3, "2", "feature_count", "count") == "reproduced"
    assert judge_number(5, "2", "feature_count", "count") == "above"
    assert judge_number(900, "892", "feature_count", "count") == "reproduced"
    assert judge_number(1000, "892", "feature_count", "count") == "close"
    assert judge_number(1153, "892", "feature_count", "count") == "above"


def test_collection_counts_are_exact():
    assert judge_number(7769, "7,769", "collection_count", "count") == "reproduced"
    assert judge_number(7770, "7,769", "collection_count", "count") == "close"
    assert judge_number(9603, "7,769", "collection_count", "count") == "above"


def test_seconds_and_ties_are_shown_and_never_judged():
    for kind, unit in (("seconds", "seconds"), ("ties", "count"), ("description", "text")):
        assert judge_number(1.0, "0.88", kind, unit) == "ungated"
        assert judge_number(None, "0.88", kind, unit) == "missing"
        assert not find_measure_kind(kind).gated
    assert not find_measure_kind("time_ratio").gated
    assert judge_number(50.0, "795", "time_ratio", "percent") == "ungated"


def test_cells_without_a_printed_number_are_not_judged():
    assert judge_number(55.0, None, "macro_f1", "fraction") == "ungated"
    assert judge_number(None, None, "macro_f1", "fraction") == "missing"


def test_difference_is_plain_subtraction():
    assert subtract_printed(87.0, "86.9", "percent") == pytest.approx(0.1)
    assert subtract_printed(88.0, "0.8842", "fraction") == pytest.approx(-0.42)
    assert subtract_printed(None, "86.9", "percent") is None
    assert subtract_printed(math.nan, "86.9", "percent") is None
    assert subtract_printed(4.0, "4 & 90", "text") is None


def test_unknown_kinds_are_refused():
    with pytest.raises(UsageError, match="unknown kind of measure 'acuracy'"):
        judge_number(1.0, "1.0", "acuracy", "percent")


@settings(deadline=None)
@given(st.floats(0, 100), st.integers(0, 1000))
@pytest.mark.parametrize(
    "kind", [name for name, kind in load_measure_kinds().items() if kind.rule == "points"]
)
def test_verdicts_are_monotone_in_the_distance(kind, measured, tenths):
    order = ["reproduced", "close"]
    printed = tenths / 10
    found = judge_number(measured, f"{printed:.1f}", kind, "percent")
    nearer = judge_number((measured + printed) / 2, f"{printed:.1f}", kind, "percent")
    rank = order.index(found) if found in order else 2
    nearer_rank = order.index(nearer) if nearer in order else 2
    assert nearer_rank <= rank
    assert (found == "above") <= (measured > printed)


def test_every_judged_kind_tells_its_tolerance() -> None:
    assert describe_tolerances(["micro_f1", "macro_f1", "precision", "seconds"]) == (
        "micro F1, precision: 1 point, close 2; macro F1: 2.5 points, close 5"
    )
    assert describe_tolerances(["error_rate"]) == (
        "error rate: 10 % of the printed number, at most 0.3, close twice that"
    )
    for name, kind in load_measure_kinds().items():
        assert bool(describe_tolerances([name])) is (kind.gated and kind.rule != "none"), name
