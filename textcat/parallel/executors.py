"""Executors for independent tasks: this process, local threads or processes, or Dask.

A task is a call `function(shared, item)`: all tasks get the same shared data, each has its own item. Results are
yielded in the order of the items, so the choice of executor changes the time and nothing else.

joblib writes large arrays to a folder in shared memory. A process that is killed with SIGKILL leaves the folder behind,
and workers that nobody stops: each worker therefore watches its parent, and each run removes folders that no running
process holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from textcat.errors import StageFailedError, UsageError

_PREFIX = "textcat-shared-"
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - folders in it are made by mkdtemp
# As joblib does: a container may have very little shared memory.
_LEAST_SHARED_MEMORY = 2_000_000_000
_SECONDS_BETWEEN_LOOKS = 1.0


def choose_root() -> Path:
    """Return the folder for shared arrays: JOBLIB_TEMP_FOLDER, the system's shared memory, or the temporary folder."""
    named = os.environ.get("JOBLIB_TEMP_FOLDER")
    if named:
        return Path(named)
    with suppress(OSError):
        facts = os.statvfs(_SHARED_MEMORY)
        if facts.f_frsize * facts.f_blocks > _LEAST_SHARED_MEMORY and os.access(_SHARED_MEMORY, os.W_OK):
            return _SHARED_MEMORY
    return Path(tempfile.gettempdir())


@contextmanager
def open_shared_folder() -> Iterator[Path]:
    """Yield a new folder that is locked during the block and removed after it."""
    root = choose_root()
    root.mkdir(parents=True, exist_ok=True)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        handle = _lock_folder(folder)
        # Another process may have taken the new folder for an abandoned one before it was locked.
        if handle is not None and folder.is_dir():
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def remove_abandoned_folders() -> None:
    """Remove the folders of processes that were killed: nobody holds their lock."""
    for folder in choose_root().glob(f"{_PREFIX}*"):
        handle = _lock_folder(folder)
        if handle is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _lock_folder(folder: Path) -> int | None:
    """Lock a folder and return its descriptor; return None if it is locked, gone or of another user."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@cache
def end_with_parent(parent: int) -> None:
    """Start a thread that ends this process soon after the process `parent`, which started it, is gone."""
    if parent != os.getpid():
        threading.Thread(target=_watch, args=(parent,), daemon=True, name="watch parent").start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)


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
    """Runs `size` tasks at a time in threads or processes.

    Processes map large shared arrays, which then exist once, in `shared_folder`.
    """

    kind: Literal["threads", "processes"]
    size: int
    shared_folder: Path | None = None

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Generator[Result, None, None]:
        """Yield the results in order; raise `StageFailedError` if a process was killed."""
        from joblib import Parallel, delayed  # noqa: PLC0415 - takes long to import

        folder = str(self.shared_folder) if self.shared_folder else None
        backend = _JOBLIB_BACKENDS[self.kind]
        pool = Parallel(n_jobs=self.size, backend=backend, return_as="generator", temp_folder=folder)
        run = partial(_run_for_parent, os.getpid())
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
        if find_spec("distributed") is None:
            raise UsageError("Dask is not installed", hint="In the clone of textcat, run `pip install '.[dask]'`.")
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
