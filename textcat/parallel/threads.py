"""Run tasks in threads, and limit linear algebra libraries to one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

ThreadResult = TypeVar("ThreadResult")


def run_in_threads(jobs: int, tasks: Sequence[Callable[[], ThreadResult]]) -> list[ThreadResult]:
    """Run at most `jobs` tasks at a time and return their results in the order of the tasks.

    Linear algebra libraries have one thread meanwhile. If each task set that limit for itself, the first to end would
    lift it for the others.
    """
    if jobs == 1 or len(tasks) < 2:
        return [task() for task in tasks]
    with limit_to_one_thread(), ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda task: task(), tasks))


@cache
def _load_controller() -> Any:
    return ThreadpoolController()


@contextmanager
def limit_to_one_thread() -> Iterator[None]:
    """Limit linear algebra libraries to one thread in this block. The limit holds for the whole process.

    Many small products and factorizations gain nothing from more threads: on a busy machine waiting threads make
    them thirty times slower, and the last bits of a result would depend on the number of threads.
    """
    with _load_controller().limit(limits=1, user_api="blas"):
        yield
