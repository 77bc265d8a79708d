"""Property tests give the same answer every time: `make test` must not pass or fail by luck."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def draw_examples() -> list[int]:
    drawn: list[int] = []

    @settings(max_examples=20)
    @given(st.integers())
    def collect(number: int) -> None:
        drawn.append(number)

    collect()
    return drawn


def test_the_same_examples_are_drawn_every_time(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--hypothesis-profile") == "random":
        pytest.skip("examples are random with --hypothesis-profile random")
    assert settings.default is not None
    assert settings.default.deadline is None
    assert settings.default.database is None
    assert draw_examples() == draw_examples()
