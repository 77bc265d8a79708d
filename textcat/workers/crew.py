"""Pieces of work that do not need each other, and those who carry them out.

A piece is a function of what all pieces share and of an item of its own. Whoever carries pieces out, each gets
the same shared data and their results come in the order of the items: who it was, shows in the time alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from textcat.errors import StageFailedError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Crew(Protocol):
    """Carries out pieces of work."""

    @property
    def size(self) -> int:
        """How many pieces are worked on at a time."""
        ...

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """function(shared, item) of each item, in their order, as soon as it and those before it are done."""
        ...


class Alone:
    """This process, one piece after another."""

    size = 1

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Each piece when its result is asked for."""
        for item in items:
            yield function(shared, item)


def worker_died() -> StageFailedError:
    """What is said when a worker process did not end by itself."""
    return StageFailedError(
        "a worker process was ended from outside, most likely by the system for want of memory",
        hint="Run with fewer --jobs, with --backend threads (one copy of the data), or with fewer documents or "
        "features; finished work is kept.",
    )
