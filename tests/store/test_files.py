"""Files are written as a whole or not at all, and a lock has one holder at a time."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from textcat.errors import StageFailedError
from textcat.store import files
from textcat.store.files import hold_lock, open_atomically, write_atomically

KINDS = pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])

HOLD_FOREVER = """
import sys, time
from pathlib import Path
from textcat.store.files import hold_lock
with hold_lock(Path(sys.argv[1]), folder=sys.argv[2] == "True"):
    print("held", flush=True)
    time.sleep(60)
"""


@KINDS
def test_a_lock_has_one_holder_at_a_time(tmp_path: Path, folder: bool) -> None:
    inside = 0
    most = 0

    def work(_: int) -> None:
        nonlocal inside, most
        with hold_lock(tmp_path / "new" / "lock", folder=folder):
            inside += 1
            most = max(most, inside)
            time.sleep(0.005)
            inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))
    assert most == 1


@KINDS
def test_the_lock_of_a_killed_process_is_free_and_who_waits_is_told(
    tmp_path: Path, folder: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SECONDS_BEFORE_WAIT_MESSAGE", 0.0)
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD_FOREVER, str(path), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        killer = threading.Timer(0.3, holder.send_signal, [signal.SIGKILL])
        killer.start()
        with caplog.at_level(logging.WARNING), hold_lock(path, folder=folder):
            assert holder.wait(10) == -signal.SIGKILL
    [message] = caplog.messages
    assert ("another process" if folder else f"process {holder.pid}") in message
    assert str(path) in message
    assert not folder or not list(path.iterdir())


def test_a_lock_that_cannot_be_made_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StageFailedError, match="cannot write"), hold_lock(tmp_path / "file" / "lock"):
        pass


def test_a_failed_block_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "table.md"
    write_atomically(path, "old")
    with pytest.raises(KeyError), open_atomically(path) as stream:
        stream.write(b"half")
        raise KeyError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
