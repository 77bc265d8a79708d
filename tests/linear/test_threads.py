"""The limit on threads of linear algebra holds inside, and no longer."""

from __future__ import annotations

import pytest
import threadpoolctl  # type: ignore[import-untyped]

from tests.linear.fast.problems import make, solve
from textcat.linear.fast import support_vectors as finish
from textcat.parallel.threads import limit_to_one_thread


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


def test_an_error_inside_lifts_the_limit_too() -> None:
    with threadpoolctl.threadpool_limits(2):
        before = pools()
        with pytest.raises(ValueError, match="inside"), limit_to_one_thread():
            raise ValueError("inside")
        assert pools() == before


def test_finishing_on_support_vectors_is_done_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    settle = finish._solve_category

    def watched(*arguments: object) -> None:
        seen.extend(pools())
        settle(*arguments)

    monkeypatch.setattr(finish, "_solve_category", watched)
    X, Y = make(2, 60, 20, 3)
    with threadpoolctl.threadpool_limits(2):
        solve(X, Y, loss="hinge", C=100.0, tol=1e-8)
    assert seen
    assert set(seen) == {1}
