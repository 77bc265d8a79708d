"""The threads or processes of this machine, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Literal

from joblib import Parallel, delayed, parallel_config

from textcat.workers.crew import Item, Result, Shared, worker_died

_BACKENDS = {"threads": "threading", "processes": "loky"}


@dataclass(frozen=True)
class OfThisMachine:
    """So many threads or processes; processes map large arrays of the shared data, which then exist once."""

    kind: Literal["threads", "processes"]
    size: int

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """The results in order; a process that was killed is told as such."""
        pool = Parallel(n_jobs=self.size, backend=_BACKENDS[self.kind], return_as="generator")
        try:
            yield from pool(delayed(alone)(function, shared, item) for item in items)
        except BrokenProcessPool as error:
            raise worker_died() from error


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """One piece, whose own loops do not hire others."""
    with parallel_config(backend="sequential"):
        return function(*arguments)
