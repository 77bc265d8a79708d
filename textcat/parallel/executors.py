"""Executors for independent tasks: this process, local threads or processes, or Dask.

A task is a call `function(shared, item)`: all tasks get the same shared data, each has its own item. Results are
yielded in the order of the items, so the choice of executor changes the time and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from textcat.errors import StageFailedError, UsageError
from textcat.extensions import ImportedModule, list_imported

Shared = TypeVar("Shared")
Item = TypeVar("Item")
Result = TypeVar("Result")


def run_in_threads(jobs: int, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
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


class Executor(Protocol):
    """Runs independent tasks."""

    @property
    def size(self) -> int:
        """The number of tasks that run at a time."""
        ...

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield `function(shared, item)` for each item, in order. Of an iterator few items are read ahead."""
        ...


class SerialExecutor:
    """Runs one task after another in this process."""

    size = 1

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
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


# Items of an iterator that are at work, or read, for each worker.
ITEMS_AHEAD = 4
_JOBLIB_BACKENDS = {"threads": "threading", "processes": "loky"}


@dataclass(frozen=True)
class LocalExecutor:
    """Runs `size` tasks at a time in threads or processes; processes map large shared arrays, which exist once."""

    kind: Literal["threads", "processes"]
    size: int

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield the results in order; raise `StageFailedError` if a process was killed."""
        from joblib import Parallel, delayed  # noqa: PLC0415 - takes long to import

        pool = Parallel(n_jobs=self.size, backend=_JOBLIB_BACKENDS[self.kind], return_as="generator")
        run = partial(_run_with_imports, list_imported())
        limit = limit_to_one_thread() if self.kind == "threads" else nullcontext()
        rounds = _divide_into_rounds(items, ITEMS_AHEAD * self.size)
        try:
            with limit:
                following = next(rounds, None)
                while following is not None:
                    results = pool(delayed(run)(function, shared, item) for item in following)
                    # The next round is read while this one is worked on.
                    following = next(rounds, None)
                    yield from results
        except BrokenProcessPool as error:
            raise make_worker_error() from error


def _divide_into_rounds(items: Iterable[Item], most: int) -> Iterator[Sequence[Item]]:
    """Yield a sequence as it is, and the items of an iterator in lists of at most `most`."""
    if isinstance(items, Sequence):
        yield items
        return
    remaining = iter(items)
    while following := list(islice(remaining, most)):
        yield following


def _run_with_imports(
    _imported: Sequence[ImportedModule], function: Callable[..., Any], *arguments: Any
) -> Any:
    """Call the function; the modules were imported when the first argument was read."""
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
    if backend == "threads":
        yield LocalExecutor("threads", jobs)
    elif backend == "processes":
        yield LocalExecutor("processes", jobs)
    elif backend == "dask" or scheduler:
        if find_spec("distributed") is None:
            raise UsageError(
                "Dask is not installed", hint="In the clone of textcat, run `pip install '.[dask]'`."
            )
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
