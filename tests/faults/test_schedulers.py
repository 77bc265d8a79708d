"""Dask addresses where no scheduler is, and workers that are not alike."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import PROJECT
from tests.faults.conftest import textcat
from tests.faults.workplace import Place
from tests.loops import for_each
from tests.parallel.cluster import Cluster
from tests.parallel.tasks import Shared, scaled_sum
from textcat.errors import StageFailedError, TextcatError, UsageError
from textcat.parallel import start_workers

dask_cluster = pytest.importorskip("textcat.parallel.dask_cluster", reason="Dask is not installed")


@for_each(
    "address",
    [
        "tcp://127.0.0.1", "tcp://:8786", "foo://127.0.0.1:1", "inproc://x:1", "127.0.0.1:8786", "tcp://[::1",
        "tcp://127.0.0.1:99999", "tcp://127.0.0.1:abc", "tcp://127.0.0.1:0", "tcp://", "://:",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(UsageError, match="not the address of a scheduler"), start_workers("dask", 1, address):
        pass


ANSWERS = {
    "silence": None,
    "closed": b"",
    "web": b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 200,
    "ssh": b"SSH-2.0-OpenSSH_9.6\r\n",
    "zeros": bytes(4000),
    "frames": b"\1" + bytes(7) + b"\10" + bytes(7) + b"garbage!" * 30,
}


@pytest.fixture(params=ANSWERS)
def port_of_another(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that is no scheduler."""
    answer, kept = ANSWERS[request.param], []
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                    kept.append(connection)
                    if answer is not None:
                        connection.sendall(answer)
                    if answer == b"":
                        connection.close()
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


@pytest.mark.parametrize("protocol", ["tcp", "ws", "tls"])
def test_a_port_of_something_else_is_an_error(
    port_of_another: int, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster, "CONNECT_TIMEOUT_SECONDS", 1.0)
    address = f"{protocol}://127.0.0.1:{port_of_another}"
    with pytest.raises(StageFailedError) as caught, start_workers("dask", 1, address):
        pass
    assert caught.value.where == address


@pytest.mark.slow
def test_the_command_line_says_so_once(copy_of: Callable[[], Place]) -> None:
    place = copy_of()
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        started = time.monotonic()
        done = textcat(*place.command("--scheduler", address))
        assert time.monotonic() - started < 40
    assert done.returncode == 4
    assert done.stderr.count(address) == 1
    assert "no Dask scheduler answers" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    standing = Cluster(tmp_path)
    try:
        yield standing
    finally:
        standing.close()


@pytest.mark.slow
def test_the_address_of_a_worker_is_not_that_of_a_scheduler(cluster: Cluster, tmp_path: Path) -> None:
    cluster.add_worker()
    with dask_cluster.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        (worker,) = client.ncores()
    with pytest.raises(StageFailedError, match="there is a Dask Worker"):
        start_workers("dask", 1, worker).__enter__()


WITHOUT = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "textcat":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
"""
OTHER = """
import importlib.metadata as metadata
version = metadata.version
metadata.version = lambda name: "0.0.1" if name == "numpy" else version(name)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("program", "what"), [(WITHOUT, "has no textcat"), (OTHER, "has numpy 0.0.1")])
def test_workers_that_are_not_alike_are_named(
    cluster: Cluster, tmp_path: Path, program: str, what: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(program)
    cluster.add_worker()
    cluster.add_worker(PYTHONPATH=f"{tmp_path}{os.pathsep}{PROJECT}")
    with dask_cluster.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        addresses = sorted(client.ncores())
    with start_workers("dask", 1, cluster.address) as executor:
        assert executor is not None
        with pytest.raises(TextcatError, match="numbers may differ") as caught:
            list(executor.map_items(scaled_sum, Shared(small_values(), tmp_path), range(4)))
    assert what in str(caught.value)
    assert sum(address in caught.value.what for address in addresses) == 1


def small_values() -> NDArray[np.float64]:
    return np.arange(10.0)
