"""Run tasks on a Dask cluster: a running one, or local worker processes that end with the work.

Tasks are futures of Dask's own client. joblib's Dask backend is not used: it waits forever for a task whose workers
were killed too often, and its scattered data is lost with the worker that holds it. Here the shared data is sent
to every worker once. When all workers that held it are gone, it is sent again, with the unfinished tasks.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from platform import node, python_version_tuple
from typing import Any

import dask
from distributed import CancelledError, Client, KilledWorker, LocalCluster, Security, WorkerPlugin, rpc
from distributed import TimeoutError as NotYet

import textcat
from textcat.errors import StageFailedError
from textcat.extensions import ImportedModule, list_imported
from textcat.parallel.executors import (
    ITEMS_AHEAD,
    Item,
    Result,
    Shared,
    make_worker_error,
    run_single_threaded,
)

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_SECONDS = 5.0
MAX_SECONDS_WITHOUT_WORKERS = 60.0
POLL_SECONDS = 1.0
MAX_DATA_SENDS = 4
_MOST_NAMED = 5
# Dask sets this variable, which makes the C library return freed memory at once: tasks then take twice as long.
_MALLOC_SETTING = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
_GRAPH_WARNING_SETTING = "distributed.admin.large-graph-warning-threshold"
_VERSIONED_PACKAGES = ("numpy", "scipy", "numba")


class DaskExecutor:
    """Sends tasks to a Dask scheduler, which gives the tasks of a dead worker to another one."""

    def __init__(self, scheduler: str | None, jobs: int) -> None:
        """Connect to the scheduler, or without one start `jobs` local workers when they are first needed."""
        _silence_dask_logs()
        self._jobs = jobs
        self._stack = ExitStack()
        self._checked: set[str] = set()
        self._imported: tuple[ImportedModule, ...] = ()
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
        self, function: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield the results in order, also when single workers die. All items of a sequence are sent at once."""
        ahead = len(items) if isinstance(items, Sequence) else None
        following, waiting, losses = iter(items), deque[Item](), 0
        while losses < MAX_DATA_SENDS:
            try:
                for result in self._run_once(function, shared, waiting, following, ahead):
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
        self,
        function: Callable[[Shared, Item], Result],
        shared: Shared,
        waiting: deque[Item],
        following: Iterator[Item],
        ahead: int | None,
    ) -> Iterator[Result]:
        """Yield the results of the items that wait, then of those that follow; `waiting` holds those without a result.

        `ahead` is how many may be sent before the first result, by default a few for each worker.
        """
        with self._report_scheduler_errors():
            self._wait_for_workers(time.monotonic() + MAX_SECONDS_WITHOUT_WORKERS)
            self._check_workers()
            self._import_on_workers()
            [scattered] = self.client.scatter([shared], broadcast=True, hash=False)
        versions, futures = collect_versions(), deque[Any]()
        most = ITEMS_AHEAD * self.size if ahead is None else ahead
        try:
            while True:
                waiting.extend(islice(following, max(most - len(waiting), 0)))
                if len(futures) < len(waiting):
                    # An item, such as a chunk of texts, may be large; Dask would warn of each. It is sent once.
                    with dask.config.set({_GRAPH_WARNING_SETTING: "1 TB"}):
                        for item in islice(waiting, len(futures), None):
                            task = _Task(function, item, versions)
                            futures.append(self.client.submit(task, scattered, pure=False))
                if not futures:
                    return
                result = self._wait_for_result(futures[0])
                futures.popleft()
                waiting.popleft()
                yield result
        except ModuleNotFoundError as error:
            raise StageFailedError(
                f"a worker cannot import {error.name}", hint="Install the same textcat on every worker."
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

    def _check_workers(self) -> None:
        """Raise StageFailedError with the addresses of workers without textcat or with other versions."""
        new = sorted(set(self.client.ncores()) - self._checked)
        if not new:
            return
        run = partial(self.client.run, workers=new, on_error="return")
        # A function of the standard library can be sent to a worker that has no textcat.
        specs = run(find_spec, "textcat")
        without = [
            f"{address} has no textcat" for address in new if not isinstance(specs[address], ModuleSpec)
        ]
        other = []
        if not without:
            found = run(collect_versions)
            other = [
                f"{address} has {what}" for address in new if (what := _compare_versions(found[address]))
            ]
        if without or other:
            faults = [*without, *other]
            more = f" and {len(faults) - _MOST_NAMED} more" if len(faults) > _MOST_NAMED else ""
            raise StageFailedError(
                f"numbers may differ: {'; '.join(faults[:_MOST_NAMED])}{more}",
                where=self.client.scheduler.address,
                hint=f"Install on every worker: {_format_versions(collect_versions())}.",
            )
        self._checked.update(new)

    def _import_on_workers(self) -> None:
        """Import the modules of experiments on all workers, also those that join later."""
        imported = list_imported()
        if imported != self._imported:
            self.client.register_plugin(_ImportPlugin(imported), name="textcat imports")
            self._imported = imported

    def _wait_for_workers(self, until: float) -> None:
        while not self.client.ncores():
            if time.monotonic() > until:
                raise _make_no_workers_error(self.client)
            time.sleep(0.1)


class _ImportPlugin(WorkerPlugin):  # type: ignore[misc] # distributed has no types
    """Modules, which are imported on a worker when this is read there."""

    def __init__(self, imported: tuple[ImportedModule, ...]) -> None:
        self.imported = imported


@dataclass(frozen=True)
class _Task:
    """A task with the versions of the process that sent it."""

    function: Callable[..., Any]
    item: Any
    sender_versions: dict[str, str]

    def __call__(self, shared: Any) -> Any:
        if other := _compare_versions(collect_versions(), self.sender_versions):
            raise StageFailedError(
                f"this worker has {other}: numbers may differ",
                where=node(),
                hint=f"Install on every worker: {_format_versions(self.sender_versions)}.",
            )
        return run_single_threaded(self.function, shared, self.item)


@cache
def collect_versions() -> dict[str, str]:
    """Return the versions of the software that can change a result."""
    own = {"textcat": textcat.__version__, "python": ".".join(python_version_tuple()[:2])}
    return own | {name: version(name) for name in _VERSIONED_PACKAGES}


def _compare_versions(found: Any, wanted: dict[str, str] | None = None) -> str:
    """Return what differs from the wanted versions (by default this process's), or an empty text."""
    if not isinstance(found, dict):
        return f"another version of textcat ({type(found).__name__}: {found})"
    return ", ".join(
        f"{name} {found.get(name)}"
        for name, version_here in (wanted or collect_versions()).items()
        if found.get(name) != version_here
    )


def _format_versions(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {found}" for name, found in versions.items())


def _silence_dask_logs() -> None:
    """Silence Dask's loggers, some of which have their own level; errors are reported by this module."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _connect(scheduler: str) -> Any:
    """Return a client of the scheduler at an address.

    It is asked first: where something else listens, Dask's client waits without end or prints tracebacks.
    """
    try:
        asyncio.run(asyncio.wait_for(_require_scheduler(scheduler), CONNECT_TIMEOUT_SECONDS))
        return Client(scheduler, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False)
    except Exception as error:
        raise StageFailedError(
            f"no Dask scheduler answers ({type(error).__name__}: {error})",
            where=scheduler,
            hint="Start one with `dask scheduler` and workers with `dask worker ADDRESS`, or leave out --scheduler "
            "to use workers on this machine.",
        ) from error


async def _require_scheduler(address: str) -> None:
    arguments = Security().get_connection_args("client")
    async with rpc(address, timeout=CONNECT_TIMEOUT_SECONDS, connection_args=arguments) as server:
        found = (await server.identity())["type"]
    if found != "Scheduler":
        raise ValueError(f"there is a Dask {found}")


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
