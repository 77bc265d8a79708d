"""Work in threads: the kernels release the GIL, and all read the same matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Answer = TypeVar("Answer")


def in_threads(jobs: int, works: Sequence[Callable[[], Answer]]) -> list[Answer]:
    """The answers in the order of the works, at most `jobs` of which are done at the same time."""
    if jobs == 1 or len(works) < 2:
        return [work() for work in works]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda work: work(), works))
