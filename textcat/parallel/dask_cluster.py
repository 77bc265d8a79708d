"""Run tasks on a Dask cluster: a running one, or local worker processes that end with the work.

Tasks are futures of Dask's own client. joblib's Dask backend is not used: it waits forever for a task whose workers
were killed too often, and its scattered data is lost with the worker that holds it. Here the shared data is sent
to every worker once. When all workers that held it are gone, it is sent again, with the unfinished tasks.
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
# Dask sets this variable, which makes the C library return freed memory at once: tasks then take twice as long.
_MALLOC_SETTING = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
_VERSIONED_PACKAGES = ("numpy", "scipy", "numba")


class DaskExecutor:
    """Sends tasks to a Dask scheduler, which gives the tasks of a dead worker to another one."""

    def __init__(self, scheduler: str | None, jobs: int) -> None:
        """Connect to the scheduler, or without one start `jobs` local workers when they are first needed."""
        _silence_dask_logs()
        self._jobs = jobs
        self._stack = ExitStack()
        self._client = self._stack.enter_context(_connect(scheduler)) if scheduler else None

    @property
    def client(self) -> Any:
        """The client that is connected to the scheduler."""
        if self._client is None:
            self._client = _start_local_cluster(self._stack, self._jobs)
        return self._client

    @property
    def size(self) -> int:
        """The number of threads of all workers that are connected now."""
        threads: int = sum(self.client.ncores().values())
        return max(1, threads)

    def close(self) -> None:
        """Disconnect from the scheduler and stop local workers."""
        self._stack.close()

    def map_items(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Yield the results in order, also when single workers die."""
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
                log.warning("the workers that held the shared data are gone: sending it again")
        raise make_worker_error()

    def _run_once(
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        with self._report_scheduler_errors():
            self._wait_for_workers(time.monotonic() + MAX_SECONDS_WITHOUT_WORKERS)
            [scattered] = self.client.scatter([shared], broadcast=True, hash=False)
        tasks = [_Task(function, item, collect_versions()) for item in items]
        futures = deque(self.client.submit(task, scattered, pure=False) for task in tasks)
        try:
            while futures:
                yield self._wait_for_result(futures[0])
                futures.popleft()
        except ModuleNotFoundError as error:
            raise StageFailedError(
                f"a worker cannot import {error.name}",
                hint="Install the same textcat on every worker.",
            ) from error
        finally:
            self.client.cancel(list(futures))

    def _wait_for_result(self, future: Any) -> Any:
        """Wait for a task's result; raise if there is no worker for a minute."""
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
        """Report errors in this block as scheduler errors, not task errors."""
        try:
            yield
        except OSError as error:
            raise StageFailedError(
                f"the scheduler does not answer any more ({error})",
                where=self.client.scheduler.address,
                hint="Restart it and its workers, then run the same command; finished work is kept.",
            ) from error

    def _wait_for_workers(self, until: float) -> None:
        while not self.client.ncores():
            if time.monotonic() > until:
                raise _make_no_workers_error(self.client)
            time.sleep(0.1)


@dataclass(frozen=True)
class _Task:
    """A task with the versions of the process that sent it."""

    function: Callable[..., Any]
    item: Any
    sender_versions: dict[str, str]

    def __call__(self, shared: Any) -> Any:
        versions = collect_versions()
        other = [
            f"{name} {versions[name]}"
            for name, sent in self.sender_versions.items()
            if versions[name] != sent
        ]
        if other:
            wanted = ", ".join(f"{name} {found}" for name, found in self.sender_versions.items())
            raise StageFailedError(
                f"this worker has {', '.join(other)}: numbers may differ",
                where=node(),
                hint=f"Install on every worker: {wanted}.",
            )
        return run_single_threaded(self.function, shared, self.item)


@cache
def collect_versions() -> dict[str, str]:
    """Return the versions of all software that can change a result."""
    own = {"textcat": textcat.__version__, "python": ".".join(python_version_tuple()[:2])}
    return own | {name: version(name) for name in _VERSIONED_PACKAGES}


def _silence_dask_logs() -> None:
    """Silence Dask's loggers, some of which have their own level; errors are reported by this module."""
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
            hint="Start one with `dask scheduler` and workers with `dask worker ADDRESS`, or leave out --scheduler "
            "to use workers on this machine.",
        ) from error


def _start_local_cluster(stack: ExitStack, jobs: int) -> Any:
    """Start worker processes on this machine and return their client; the stack stops both."""
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
