"""Executors for independent tasks: this process, local threads or processes, or Dask.

A piece is a function of what all pieces share and of an item of its own. Whoever carries pieces out, each gets
the same shared data and their results come in the order of the items: who it was, shows in the time alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, Protocol, TypeVar

from joblib import Parallel, delayed, parallel_config

from textcat.errors import StageFailedError, UsageError

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
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


class SerialExecutor:
    """This process, one piece after another."""

    size = 1

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Each piece when its result is asked for."""
        for item in items:
            yield function(shared, item)


def make_worker_error() -> StageFailedError:
    """What is said when a worker process did not end by itself."""
    return StageFailedError(
        "a worker process was ended from outside, most likely by the system for want of memory",
        hint="Run with fewer --jobs, with --backend threads (one copy of the data), or with fewer documents or "
        "features; finished work is kept.",
    )


_JOBLIB_BACKENDS = {"threads": "threading", "processes": "loky"}


@dataclass(frozen=True)
class LocalExecutor:
    """So many threads or processes; processes map large arrays of the shared data, which then exist once."""

    kind: Literal["threads", "processes"]
    size: int

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """The results in order; a process that was killed is told as such."""
        pool = Parallel(n_jobs=self.size, backend=_JOBLIB_BACKENDS[self.kind], return_as="generator")
        try:
            yield from pool(delayed(run_single_threaded)(function, shared, item) for item in items)
        except BrokenProcessPool as error:
            raise make_worker_error() from error


def run_single_threaded(function: Callable[..., Any], *arguments: Any) -> Any:
    """One piece, whose own loops do not hire others."""
    with parallel_config(backend="sequential"):
        return function(*arguments)


BACKENDS = ("threads", "processes", "dask")


@contextmanager
def start_workers(backend: str | None, jobs: int, scheduler: str | None = None) -> Iterator[Executor | None]:
    """The crew of a backend for the time of the work; none without a backend: each step goes its own way."""
    if scheduler and backend not in (None, "dask"):
        raise UsageError(
            f"--scheduler is for Dask, not for --backend {backend}",
            hint="Leave it out, or use --backend dask.",
        )
    if scheduler and "://" not in scheduler:
        raise UsageError(
            f"{scheduler!r} is not the address of a scheduler", hint="It looks like tcp://host:8786."
        )
    if backend in ("threads", "processes"):
        yield LocalExecutor("threads" if backend == "threads" else "processes", jobs)
    elif backend == "dask" or scheduler:
        _require_dask()
        from textcat.parallel.dask_cluster import DaskExecutor  # noqa: PLC0415

        with closing(DaskExecutor(scheduler, jobs)) as crew:
            yield crew
    else:
        yield None


def _require_dask() -> None:
    if find_spec("distributed") is None:
        raise UsageError("Dask is not installed here", hint="Run `pip install 'textcat[dask]'`.")
