"""The limit on threads of linear algebra holds inside, and no longer."""

from __future__ import annotations

from threading import Event

import pytest
import threadpoolctl  # type: ignore[import-untyped]

from textcat.parallel.executors import limit_to_one_thread, run_in_threads


def pools() -> list[int]:
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]


def test_the_limit_ends_with_the_outermost_who_needs_it() -> None:
    with threadpoolctl.threadpool_limits(2):
        before = pools()
        with limit_to_one_thread():
            with limit_to_one_thread():
                assert set(pools()) == {1}
            assert set(pools()) == {1}
        assert pools() == before


def test_the_limit_of_a_task_that_ends_does_not_end_for_the_others() -> None:
    inside = [Event(), Event()]
    left = Event()

    def leave_early() -> list[int]:
        with limit_to_one_thread():
            inside[0].set()
            assert inside[1].wait(10)
        left.set()
        return []

    def stay_longer() -> list[int]:
        assert inside[0].wait(10)
        with limit_to_one_thread():
            inside[1].set()
            assert left.wait(10)
            return pools()

    with threadpoolctl.threadpool_limits(2):
        before = pools()
        _, seen = run_in_threads(2, [leave_early, stay_longer])
        assert set(seen) == {1}
        assert pools() == before


def test_an_error_inside_lifts_the_limit_too() -> None:
    with threadpoolctl.threadpool_limits(2):
        before = pools()
        with pytest.raises(ValueError, match="inside"), limit_to_one_thread():
            raise ValueError("inside")
        assert pools() == before
