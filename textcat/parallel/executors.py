"""Executors for independent tasks: this process, local threads or processes, or Dask.

A task is a call `function(shared, item)`: all tasks get the same shared data, each has its own item. Results are
yielded in the order of the items, so the choice of executor changes the time and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from textcat.errors import StageFailedError, UsageError
from textcat.parallel.shared_memory import end_with_parent, open_shared_folder, remove_abandoned_folders

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs independent tasks."""

    @property
    def size(self) -> int:
        """The number of tasks that run at a time."""
        ...

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Yield `function(shared, item)` for each item, in order."""
        ...


class SerialExecutor:
    """Runs one task after another in this process."""

    size = 1

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Run each task when its result is requested."""
        for item in items:
            yield function(shared, item)


def make_worker_error() -> StageFailedError:
    """Return the error for a worker process that was killed."""
    return StageFailedError(
        "a worker process was killed, most likely by the system because memory ran out",
        hint="Run with fewer --jobs, with --backend threads (one copy of the data), or with fewer documents or "
        "features; finished work is kept.",
    )


_JOBLIB_BACKENDS = {"threads": "threading", "processes": "loky"}


@dataclass(frozen=True)
class LocalExecutor:
    """Runs `size` tasks at a time in threads or processes.

    Processes map large shared arrays, which then exist once, in `shared_folder`.
    """

    kind: Literal["threads", "processes"]
    size: int
    shared_folder: Path | None = None

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Yield the results in order; raise `StageFailedError` if a process was killed."""
        from joblib import Parallel, delayed  # noqa: PLC0415 - takes long to import

        folder = str(self.shared_folder) if self.shared_folder else None
        backend = _JOBLIB_BACKENDS[self.kind]
        pool = Parallel(n_jobs=self.size, backend=backend, return_as="generator", temp_folder=folder)
        run = partial(_run_for_parent, os.getpid())
        try:
            yield from pool(delayed(run)(function, shared, item) for item in items)
        except BrokenProcessPool as error:
            raise make_worker_error() from error


def _run_for_parent(parent: int, function: Callable[..., Any], *arguments: Any) -> Any:
    end_with_parent(parent)
    return run_single_threaded(function, *arguments)


def run_single_threaded(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function with joblib limited to one thread."""
    from joblib import parallel_config  # noqa: PLC0415 - takes long to import

    with parallel_config(backend="sequential"):
        return function(*arguments)


BACKENDS = ("threads", "processes", "dask")


@contextmanager
def start_workers(backend: str | None, jobs: int, scheduler: str | None = None) -> Iterator[Executor | None]:
    """Yield the executor of a backend and stop its workers at the end of the block.

    Yield None without a backend: each step then uses `jobs` in its own way.
    """
    if scheduler and backend not in (None, "dask"):
        raise UsageError(
            f"--scheduler is for Dask, not for --backend {backend}",
            hint="Leave --scheduler out, or use --backend dask.",
        )
    if scheduler:
        _check_address(scheduler)
    remove_abandoned_folders()
    if backend == "threads":
        yield LocalExecutor("threads", jobs)
    elif backend == "processes":
        with open_shared_folder() as folder:
            yield LocalExecutor("processes", jobs, folder)
    elif backend == "dask" or scheduler:
        _require_dask()
        from textcat.parallel.dask_cluster import DaskExecutor  # noqa: PLC0415

        with closing(DaskExecutor(scheduler, jobs)) as executor:
            yield executor
    else:
        yield None


_PROTOCOLS = ("tcp", "tls", "ucx", "ws", "wss")


def _check_address(scheduler: str) -> None:
    """Raise UsageError for an address without a known protocol, a host and a port."""
    try:
        parts = urlsplit(scheduler)
        valid = parts.scheme in _PROTOCOLS and bool(parts.hostname) and bool(parts.port)
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(
            f"{scheduler!r} is not the address of a scheduler",
            hint=f"Give protocol ({', '.join(_PROTOCOLS)}), host and port, such as tcp://host:8786.",
        )


def _require_dask() -> None:
    if find_spec("distributed") is None:
        raise UsageError("Dask is not installed", hint="Run `pip install 'textcat[dask]'`.")
