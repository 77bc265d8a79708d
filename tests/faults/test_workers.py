"""Threads, processes and Dask give the bytes that one thread gives; a killed worker costs time, or is reported."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.conftest import PROJECT
from tests.faults.conftest import COMMAND, textcat
from tests.faults.kills import unsound_artifacts
from tests.faults.workplace import SETTINGS, Place, make_place
from tests.parallel.cluster import Cluster

distributed = pytest.importorskip("distributed", reason="Dask is not installed")

# Blocks of categories, folds, grid points, and folds of a search for each category.
RUNS = {
    "blocks": {"learner": "smo", "parameters": {"lam": 1.0e-3}, "projection": {"dimensions": 20}},
    "folds": {
        "learner": "CLG",
        "parameters": {"lam": 1.0e-3, "passes": 20},
        "threshold": {"rule": "tuned", "cross_validated": True, "folds": 4},
    },
    "grid": SETTINGS["runs"]["searched"],
    "each": {
        "learner": "linear",
        "parameters": {"loss": "logistic", "algorithm": "fast", "stop": "optimality", "tolerance": 1.0e-4},
        "search": {
            "parameter": "variance", "grid": [0.1, 1.0, 10.0], "folds": 3,
            "criterion": "log-likelihood", "per_category": True,
        },
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def by_one(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The experiment as one thread carries it out."""
    place = make_place(tmp_path_factory.mktemp("workers"))
    place.experiment.write_text(yaml.safe_dump({**SETTINGS, "runs": RUNS}))
    done = textcat(*place.command("-j", "1"))
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture
def place(by_one: Place, tmp_path: Path) -> Place:
    """The same place with nothing done."""
    shutil.copytree(by_one.folder, tmp_path / "copy")
    copy = Place(tmp_path / "copy")
    shutil.rmtree(copy.cache)
    shutil.rmtree(copy.results)
    return copy


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler with two worker processes."""
    standing = Cluster(tmp_path)
    try:
        standing.add_worker()
        standing.add_worker()
        yield standing
    finally:
        standing.close()


@pytest.mark.parametrize("backend", ["threads", "processes", pytest.param("dask", marks=pytest.mark.slow)])
def test_the_backend_changes_no_byte(place: Place, by_one: Place, backend: str) -> None:
    done = textcat(*place.command("-j", "2", "--backend", backend))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 6
    assert done.stderr.endswith("The other learners follow.\n\n")
    assert place.result_bytes() == by_one.result_bytes()


@pytest.mark.slow
def test_a_dask_worker_killed_midway_costs_time_alone(place: Place, by_one: Place, cluster: Cluster) -> None:
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        run = _start(place.command("--scheduler", cluster.address))
        victim = _busy_worker(client, place, run)
        os.kill(victim, signal.SIGKILL)
        _, said = run.communicate(timeout=120)
        assert run.returncode == 0, said
        assert len(client.ncores()) == 1
    assert place.result_bytes() == by_one.result_bytes()
    assert not unsound_artifacts(place.cache)


@pytest.mark.slow
def test_a_scheduler_killed_midway_is_told(place: Place, cluster: Cluster) -> None:
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
        run = _start(place.command("--scheduler", cluster.address))
        _busy_worker(client, place, run)
    cluster.scheduler.kill()
    _, said = run.communicate(timeout=120)
    assert run.returncode == 4, said
    assert "scheduler" in said
    assert "Traceback" not in said
    assert not unsound_artifacts(place.cache)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_process_is_reported_and_the_next_run_goes_on(place: Place, by_one: Place) -> None:
    run = _start(place.command("-j", "2", "--backend", "processes"))
    _wait_for(lambda: _trained(place), run)
    # An idle worker is replaced and costs nothing, so each one is killed until a working one is hit.
    until = time.monotonic() + 60
    while run.poll() is None and time.monotonic() < until:
        for worker in _workers_of(run.pid):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        time.sleep(0.005)
    _, said = run.communicate(timeout=120)
    assert run.returncode == 4, said
    assert "memory ran out" in said
    assert "--jobs" in said
    assert "Traceback" not in said
    assert not unsound_artifacts(place.cache)
    assert textcat(*place.command("-j", "2", "--backend", "processes")).returncode == 0
    assert place.result_bytes() == by_one.result_bytes()


def _start(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _trained(place: Place) -> bool:
    """Whether training goes on."""
    return (place.cache / "train").exists()


def _busy_worker(client: object, place: Place, run: subprocess.Popen[str]) -> int:
    """The process of a worker, once one has a piece of the training."""
    busy: list[str] = []

    def look() -> bool:
        processing = client.processing() if _trained(place) else {}  # type: ignore[attr-defined]
        busy[:] = [address for address, pieces in processing.items() if pieces]
        return bool(busy)

    processes = client.run(os.getpid)  # type: ignore[attr-defined]
    _wait_for(look, run)
    return int(processes[busy[0]])


def _wait_for(condition: Callable[[], bool], run: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 60
    while run.poll() is None and time.monotonic() < until:
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError(f"it did not come to that: {run.communicate()[1]}")


def _workers_of(process: int) -> list[int]:
    """Its child processes that work, as joblib starts them."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == process and b"loky.backend.popen_loky_posix" in command:
            found.append(int(status.parent.name))
    return found
