"""A Dask scheduler and its workers on loopback, as processes that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.conftest import PROJECT


class Cluster:
    """A scheduler; workers of one thread each, which are not started again."""

    def __init__(self, folder: Path, protocol: str = "tcp", more: Sequence[str] = ()) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        note = folder / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(note)]
        options += ["--protocol", protocol, *more]
        self.scheduler = self._start("dask_scheduler", *options)
        self.address = _address_in(note)

    def add_worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """One more worker process."""
        options = [
            "--nthreads",
            "1",
            "--no-nanny",
            "--memory-limit",
            "0",
            "--local-directory",
            str(self.folder),
        ]
        return self._start("dask_worker", self.address, *options, **environment)

    def _start(self, program: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments, "--no-dashboard"]
        with (self.folder / f"{program}.{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=PROJECT, stdout=log, stderr=log, env=os.environ | environment
            )
        self.processes.append(process)
        return process

    def close(self) -> None:
        """End every process that was started here."""
        for process in self.processes:
            process.kill()
            process.wait()


def _address_in(note: Path) -> str:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            return str(json.loads(note.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.02)
    raise TimeoutError("the scheduler did not start")
