"""Mirrors that answer nonsense end with an error that lets the next source be tried; a full disk is reported."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from textcat.corpora.fetch import download
from textcat.corpora.fetch.download import Download, RetryPolicy
from textcat.errors import DataNotAvailableError, StageFailedError

QUICK = RetryPolicy(timeout=2, attempts=1, first_pause=0)
HEADERS = {
    "superscript": (200, "Content-Length", "\xb2"),
    "digits": (200, "Content-Length", "9" * 5000),
    "location": (302, "Location", "http://[::1"),
    "port": (302, "Location", "http://127.0.0.1:99999999/"),
    "good": (200, "X-Good", "1"),
}


class Handler(BaseHTTPRequestHandler):
    """Each path sends one odd header."""

    def log_message(self, *_: object) -> None:
        """Keep tests silent."""

    def do_GET(self) -> None:
        status, name, value = HEADERS[self.path.strip("/")]
        self.send_response(status)
        self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"body")


@pytest.fixture
def server() -> Iterator[str]:
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_address[1]}/"
    running.shutdown()
    running.server_close()


@pytest.mark.parametrize("path", ["superscript", "digits", "location", "port"])
def test_odd_headers_are_errors_of_the_source(server: str, tmp_path: Path, path: str) -> None:
    try:
        Download(server + path, tmp_path / "file", retry=QUICK).run()
    except DataNotAvailableError as error:
        assert error.where.startswith(server)
    else:
        assert (tmp_path / "file").read_bytes() == b"body"


def test_a_full_disk_is_reported_as_such(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download.os, "fsync", fail)
    with pytest.raises(StageFailedError, match="No space left"):
        Download(server + "good", tmp_path / "file", retry=QUICK).run()
