"""Numbers written by compiled code have the bytes of %.6g."""

from __future__ import annotations

import json
import struct
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from textcat.serving import predict
from textcat.serving.number_format import ObjectWriter

NAMES = ["a", 'é, "b"', "%s"]


def write_all(values: list[float]) -> list[str | None]:
    return [
        None if row is None else row.removeprefix('{"x": ').removesuffix("}")
        for row in ObjectWriter(['"x"']).write(np.array(values)[:, None])
    ]


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.0)
@example(-0.0)
@example(5e-324)
@example(1.7976931348623157e308)
@example(123456.5)
@example(999999.5)
@example(9.999995)
@example(0.0001)
@example(0.00009999995)
@settings(max_examples=600, deadline=None)
def test_any_number_has_the_bytes_of_python_or_is_left_to_it(x: float) -> None:
    (written,) = write_all([x])
    assert written in (None, f"{x:.6g}")


def test_ordinary_scores_and_probabilities_are_all_written() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=20_000) * 10.0 ** rng.integers(-12, 12, 20_000)
    written = write_all(scores.tolist())
    assert written == [f"{x:.6g}" for x in scores.tolist()]


def test_numbers_at_the_edge_of_rounding_are_right_or_left_to_python() -> None:
    rng = np.random.default_rng(2)
    digits = rng.integers(100_000, 1_000_000, 5_000) + 0.5
    halves = digits * 10.0 ** rng.integers(-15, 10, 5_000).astype(float)
    near = np.concatenate([halves, np.nextafter(halves, 0.0), np.nextafter(halves, np.inf)])
    for x, written in zip(near.tolist(), write_all(near.tolist()), strict=True):
        assert written in (None, f"{x:.6g}")


def test_every_short_decimal_is_written() -> None:
    values = [float(f"{sign}{digits}e{exponent}") for sign in ("", "-") for digits in (1, 12, 120, 99999, 123456)
              for exponent in range(-14, 14)]  # fmt: skip
    assert write_all(values) == [f"{x:.6g}" for x in values]


@pytest.mark.parametrize("rows", [1, 2, 300_000])
def test_rows_are_divided_without_a_trace(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textcat.serving.number_format._NUMBERS_AT_A_TIME", rows)
    values = np.random.default_rng(3).normal(size=(50, 3))
    values[7, 1] = struct.unpack("d", struct.pack("q", 1))[0]
    names = [json.dumps(name, ensure_ascii=False) for name in NAMES]
    written = list(ObjectWriter(names).write(values))
    assert [place for place, row in enumerate(written) if row is None] == [7]
    pattern = "{" + ", ".join(f"{name.replace('%', '%%')}: %.6g" for name in names) + "}"
    assert all(row in (None, pattern % tuple(v)) for row, v in zip(written, values.tolist(), strict=True))
    assert json.loads(written[0] or "").keys() == set(NAMES)


def test_lines_do_not_depend_on_who_writes_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(40, 3))
    scores[5, 2], scores[6, 0] = 0.5e-30, 2.5
    ids = [str(number) for number in range(40)]

    def write() -> list[str]:
        formatter = predict._LineFormatter(NAMES, every_category=True)
        return list(
            formatter.format_batch(ids, scores > 0, scores, 1 / (1 + np.exp(-scores)), [False] * len(ids))
        )

    by_kernel = write()
    monkeypatch.setattr(ObjectWriter, "write", lambda self, values: [None] * len(values))
    by_python = write()
    monkeypatch.delitem(sys.modules, "numba")
    assert write() == by_python
    assert by_kernel == by_python
    assert json.loads(by_kernel[5])["scores"]["%s"] == pytest.approx(0.5e-30)
