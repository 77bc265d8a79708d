"""All executors give the same results in the same order, pass errors on, and report a killed worker."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from tests.parallel.cluster import Cluster
from tests.parallel.tasks import Shared, be_killed, be_killed_once, note_process, refuse, scaled_sum
from textcat.errors import BadDataError, StageFailedError, UsageError
from textcat.linear import fit
from textcat.parallel import BACKENDS, Executor, SerialExecutor, start_workers

dask_cluster = pytest.importorskip("textcat.parallel.dask_cluster", reason="Dask is not installed")


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared(np.arange(400_000.0), tmp_path)


@pytest.fixture(scope="module")
def executor_of() -> Iterator[Callable[[str], Executor]]:
    """Executors with two workers, each started once."""
    with ExitStack() as stack:
        executors: dict[str, Executor] = {"serial": SerialExecutor()}

        def executor(name: str) -> Executor:
            if name not in executors:
                executors[name] = stack.enter_context(start_workers(name, 2))  # type: ignore[assignment]
            return executors[name]

        yield executor


@pytest.mark.parametrize("name", ["serial", *BACKENDS])
def test_results_come_in_the_order_of_the_items(
    executor_of: Callable[[str], Executor], name: str, shared: Shared
) -> None:
    items = [3, 1, 2, 5, 4, 0]
    found = list(executor_of(name).map_items(scaled_sum, shared, items))
    assert found == [scaled_sum(shared, item) for item in items]
    assert list(executor_of(name).map_items(scaled_sum, shared, [])) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_dask_does_not_warn_of_large_items(executor_of: Callable[[str], Executor], tmp_path: Path) -> None:
    shared, items = Shared(np.arange(3.0), tmp_path), [np.full(2_000_000, 2.0)]
    (found,) = executor_of("dask").map_items(scaled_sum, shared, items)
    assert found == pytest.approx(scaled_sum(shared, items[0]))


@pytest.mark.parametrize("name", ["serial", *BACKENDS])
def test_an_error_of_a_task_is_raised(
    executor_of: Callable[[str], Executor], name: str, shared: Shared
) -> None:
    with pytest.raises(BadDataError, match="it is damaged") as error:
        list(executor_of(name).map_items(refuse, shared, [7]))
    assert error.value.where == "document 7"
    assert list(executor_of(name).map_items(scaled_sum, shared, [1])) == [scaled_sum(shared, 1)]


@pytest.mark.parametrize("name", ["processes", "dask"])
def test_two_other_processes_share_the_work(
    executor_of: Callable[[str], Executor], name: str, shared: Shared
) -> None:
    workers = set(executor_of(name).map_items(note_process, shared, range(6)))
    assert len(workers) == 2
    assert os.getpid() not in workers


def test_fit_obeys_joblibs_own_dask_backend(executor_of: Callable[[str], Executor]) -> None:
    """For those who call `fit` themselves; 130 categories are three blocks."""
    draw = np.random.default_rng(1)
    X, Y = draw.random((200, 30)), draw.random((200, 130)) < 0.3
    here = fit(X, Y, lam=1e-3, max_passes=10)
    with parallel_config(backend="dask", client=executor_of("dask").client):  # type: ignore[attr-defined]
        there = fit(X, Y, lam=1e-3, max_passes=10)
    assert there.coef.tobytes() == here.coef.tobytes()
    assert len(there.certificate) == 130


def test_a_killed_process_is_reported_as_lack_of_memory(
    executor_of: Callable[[str], Executor], shared: Shared
) -> None:
    with pytest.raises(StageFailedError, match="memory ran out") as error:
        list(executor_of("processes").map_items(be_killed, shared, [1, 2]))
    assert error.value.exit_code == 4
    assert "--jobs" in error.value.hint
    assert list(executor_of("processes").map_items(scaled_sum, shared, [1])) == [scaled_sum(shared, 1)]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_dask_worker_costs_nothing_but_time(shared: Shared, workers: int) -> None:
    """With one worker the scattered data is gone too, and is sent again."""
    with start_workers("dask", workers) as executor:
        assert executor is not None
        found = list(executor.map_items(be_killed_once, shared, range(4)))
    assert found == [scaled_sum(shared, item) for item in range(4)]


def test_a_task_that_kills_every_worker_fails(shared: Shared) -> None:
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), start_workers("dask", 1) as executor:
        assert executor is not None
        with pytest.raises(StageFailedError, match="memory ran out"):
            list(executor.map_items(be_killed, shared, [1]))


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_TIMEOUT_SECONDS", 0.5)
    with (
        pytest.raises(StageFailedError, match="no Dask scheduler answers") as error,
        start_workers("dask", 1, "tcp://127.0.0.1:9"),
    ):
        pass
    assert error.value.where == "tcp://127.0.0.1:9"
    assert error.value.exit_code == 4


def test_a_scheduler_whose_workers_are_gone_and_then_itself(
    shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "MAX_SECONDS_WITHOUT_WORKERS", 1.0)
    cluster = Cluster(tmp_path)
    try:
        with start_workers(None, 1, cluster.address) as executor:
            assert executor is not None
            with pytest.raises(StageFailedError, match="no worker") as error:
                list(executor.map_items(scaled_sum, shared, [1]))
            assert error.value.where == cluster.address
            cluster.scheduler.kill()
            with pytest.raises(StageFailedError, match="does not answer any more"):
                list(executor.map_items(scaled_sum, shared, [1]))
            loggers = [
                name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"
            ]
            assert "distributed.client" in loggers
            assert not [name for name in loggers if logging.getLogger(name).isEnabledFor(logging.ERROR)]
    finally:
        cluster.close()


def test_a_worker_with_other_versions_refuses() -> None:
    own = dask_cluster.collect_versions()
    task = dask_cluster._Task(scaled_sum, 1, {**own, "numpy": "0.1"})
    with pytest.raises(StageFailedError, match="numbers may differ") as error:
        task(None)
    assert "numpy 0.1" in error.value.hint


@pytest.mark.parametrize(
    ("backend", "scheduler", "message"),
    [
        ("threads", "tcp://127.0.0.1:9", "--scheduler is for Dask"),
        ("dask", "127.0.0.1:9", "not the address of a scheduler"),
    ],
)
def test_settings_that_do_not_go_together(backend: str, scheduler: str, message: str) -> None:
    with pytest.raises(UsageError, match=message), start_workers(backend, 1, scheduler):
        pass


def test_dask_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="not installed") as error, start_workers("dask", 1):
        pass
    assert "pip install '.[dask]'" in error.value.hint
