"""Threads: pieces of work shared out to some, and linear algebra kept to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

ThreadResult = TypeVar("ThreadResult")


def run_in_threads(jobs: int, works: Sequence[Callable[[], ThreadResult]]) -> list[ThreadResult]:
    """The answers in the order of the works, at most `jobs` of which are done at the same time."""
    if jobs == 1 or len(works) < 2:
        return [work() for work in works]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda work: work(), works))


@cache
def _load_controller() -> Any:
    return ThreadpoolController()


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Keep libraries of linear algebra to one thread inside; a process has one such limit, and its first user sets it.

    Many small products and factors gain nothing by more: threads that wait for each other are slow, on a busy machine
    by a factor of thirty, and the last bits of a result would depend on how many there are.
    """
    with _load_controller().limit(limits=1, user_api="blas"):
        yield
