"""The workers of a Dask cluster: one that stands already, or one of processes here that ends with the work.

Pieces are futures of Dask's own client. joblib's Dask backend is not used: it waits forever for a piece whose
workers were killed too often, and data that it has scattered is lost with the worker that holds it. Here the
shared data goes to every worker once; when all that hold it are gone, it is sent again with what is not done.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from platform import node, python_version_tuple
from typing import Any

import dask
from distributed import CancelledError, Client, KilledWorker, LocalCluster
from distributed import TimeoutError as NotYet

import textcat
from textcat.errors import StageFailedError
from textcat.parallel.executors import Item, Result, Shared, make_worker_error, run_single_threaded

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_SECONDS = 10.0
MAX_SECONDS_WITHOUT_WORKERS = 60.0
POLL_SECONDS = 1.0
MAX_DATA_SENDS = 4
# Dask sets this variable, with which the C library gives every large array back at once: pieces take twice as long.
_MALLOC_SETTING = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
_VERSIONED_PACKAGES = ("numpy", "scipy", "numba")


class DaskExecutor:
    """Pieces are sent to a scheduler; one that dies with its worker is done again by another."""

    def __init__(self, scheduler: str | None, jobs: int) -> None:
        """Reach the scheduler now; workers of our own, `jobs` of them, start when they are needed."""
        _silence_dask_logs()
        self._jobs = jobs
        self._stack = ExitStack()
        self._client = self._stack.enter_context(_connect(scheduler)) if scheduler else None

    @property
    def client(self) -> Any:
        """The connection to the scheduler."""
        if self._client is None:
            self._client = _start_local_cluster(self._stack, self._jobs)
        return self._client

    @property
    def size(self) -> int:
        """The threads of all workers that are there now."""
        threads: int = sum(self.client.ncores().values())
        return max(1, threads)

    def close(self) -> None:
        """Leave the scheduler; workers of our own end."""
        self._stack.close()

    def each(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """The results in order, whatever becomes of single workers."""
        waiting, losses = deque(items), 0
        while losses < MAX_DATA_SENDS:
            try:
                for result in self._run_once(function, shared, list(waiting)):
                    waiting.popleft()
                    losses = 0
                    yield result
                return
            except KilledWorker as error:
                raise make_worker_error() from error
            except CancelledError:
                losses += 1
                log.warning("the workers that held the data are gone: it is sent again")
        raise make_worker_error()

    def _run_once(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        with self._report_scheduler_errors():
            self._wait_for_workers(time.monotonic() + MAX_SECONDS_WITHOUT_WORKERS)
            [everywhere] = self.client.scatter([shared], broadcast=True, hash=False)
        pieces = [_Task(function, item, collect_versions()) for item in items]
        futures = deque(self.client.submit(piece, everywhere, pure=False) for piece in pieces)
        try:
            while futures:
                yield self._wait_for_result(futures[0])
                futures.popleft()
        except ModuleNotFoundError as error:
            raise StageFailedError(
                f"a worker cannot import {error.name}",
                hint="Every worker needs the same textcat as this process.",
            ) from error
        finally:
            self.client.cancel(list(futures))

    def _wait_for_result(self, future: Any) -> Any:
        """A piece's result, waited for as long as there is somebody to work on it."""
        alive_until = time.monotonic() + MAX_SECONDS_WITHOUT_WORKERS
        while True:
            try:
                return future.result(timeout=POLL_SECONDS)
            except NotYet:
                if future.done():
                    return future.result()
            with self._report_scheduler_errors():
                workers = self.client.ncores()
            if workers:
                alive_until = time.monotonic() + MAX_SECONDS_WITHOUT_WORKERS
            elif time.monotonic() > alive_until:
                raise _make_no_workers_error(self.client)

    @contextmanager
    def _report_scheduler_errors(self) -> Iterator[None]:
        """Trouble in here is trouble with the scheduler, not with a piece."""
        try:
            yield
        except OSError as error:
            raise StageFailedError(
                f"the scheduler no longer answers ({error})",
                where=self.client.scheduler.address,
                hint="Start it and its workers again and run the same command; finished work is kept.",
            ) from error

    def _wait_for_workers(self, until: float) -> None:
        while not self.client.ncores():
            if time.monotonic() > until:
                raise _make_no_workers_error(self.client)
            time.sleep(0.1)


@dataclass(frozen=True)
class _Task:
    """One piece on its way to a worker."""

    function: Callable[..., Any]
    item: Any
    sent_by: dict[str, str]

    def __call__(self, shared: Any) -> Any:
        other = [
            f"{name} {found}" for name, found in collect_versions().items() if found != self.sent_by[name]
        ]
        if other:
            wanted = ", ".join(f"{name} {found}" for name, found in self.sent_by.items())
            raise StageFailedError(
                f"this worker has {', '.join(other)}, with which numbers may differ",
                where=node(),
                hint=f"Install on every worker: {wanted}.",
            )
        return run_single_threaded(self.function, shared, self.item)


@cache
def collect_versions() -> dict[str, str]:
    """Of all that has a hand in a result."""
    own = {"textcat": textcat.__version__, "python": ".".join(python_version_tuple()[:2])}
    return own | {name: version(name) for name in _VERSIONED_PACKAGES}


def _silence_dask_logs() -> None:
    """Let trouble be told by our own messages: Dask logs tracebacks of it, some from loggers with their own level."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _connect(scheduler: str) -> Any:
    try:
        return Client(scheduler, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise StageFailedError(
            f"no Dask scheduler answers within {CONNECT_TIMEOUT_SECONDS:g} seconds",
            where=scheduler,
            hint="Start one with `dask scheduler` and workers with `dask worker ADDRESS`, or leave out "
            "--scheduler for workers on this machine.",
        ) from error


def _start_local_cluster(stack: ExitStack, jobs: int) -> Any:
    """A client of worker processes on this machine, which the stack ends."""
    with dask.config.set({_MALLOC_SETTING: None}):
        cluster = LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        )
    stack.enter_context(cluster)
    return stack.enter_context(Client(cluster, set_as_default=False))


def _make_no_workers_error(client: Any) -> StageFailedError:
    return StageFailedError(
        f"the scheduler has had no worker for {MAX_SECONDS_WITHOUT_WORKERS:g} seconds",
        where=client.scheduler.address,
        hint="Start workers with `dask worker ADDRESS` and run again; finished work is kept.",
    )
