"""Fetching a whole collection from servers that never end, drip or announce nonsense, and onto a disk that fills up."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.faults.test_damaged_cache import _mounted
from textcat.corpora import CorpusCard, fetch_corpus, load_card
from textcat.corpora.cards import Package, RemoteFile
from textcat.corpora.fetch import archives
from textcat.corpora.fetch.download import RetryPolicy
from textcat.errors import DataNotAvailableError, StageFailedError

fetch_module = sys.modules[fetch_corpus.__module__]
QUICK = RetryPolicy(timeout=1, attempts=1, first_pause=0, slowest_rate=2000, slow_for=0.4)
MOST_BYTES = 2_000_000
TOKENS = ".I 2286\n.W\nrecov excit\n\n.I 26151\n.W\nsecond stori\n\n"
QRELS = "E11 2286 1\nECAT 2286 1\nGCAT 26151 1\n"
# As large compressed as plain.
LARGE = TOKENS + ".I 26152\n.W\n" + random.Random(1).randbytes(700_000).hex() + "\n"


class Handler(BaseHTTPRequestHandler):
    """Each path is one way of answering."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Keep tests silent."""

    def do_GET(self) -> None:
        self.close_connection = True
        with suppress(OSError):  # The client went away.
            getattr(self, "answer_" + self.path.strip("/"))()

    def start(self, **headers: str) -> None:
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def drip(self, piece: bytes) -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            self.wfile.write(piece)
            time.sleep(0.02)

    def send_file(self, content: bytes) -> None:
        self.start(Content_Length=str(len(content)))
        self.wfile.write(content)

    def answer_tokens(self) -> None:
        self.send_file(gzip.compress(TOKENS.encode()))

    def answer_qrels(self) -> None:
        self.send_file(gzip.compress(QRELS.encode()))

    def answer_large(self) -> None:
        self.send_file(LARGE.encode())

    def answer_large_without_length(self) -> None:
        self.start()
        self.wfile.write(LARGE.encode())

    def answer_endless(self) -> None:
        self.start()
        for _ in range(2000):
            self.wfile.write(b"x" * 65536)

    def answer_announced(self) -> None:
        self.start(Content_Length=str(10**15))
        self.wfile.write(b"x")

    def answer_slow_status(self) -> None:
        self.drip(b"H")

    def answer_slow_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-")
        self.drip(b"a")

    def answer_slow_chunks(self) -> None:
        self.start(Transfer_Encoding="chunked")
        self.wfile.write(b"5;")
        self.drip(b"a")

    def answer_slow_body(self) -> None:
        self.start(Content_Length="100000")
        self.drip(b"a")

    def answer_cut(self) -> None:
        self.start(Content_Length="100000")
        self.wfile.write(b"half")


BAD = ["endless", "announced", "slow_status", "slow_headers", "slow_chunks", "slow_body", "cut"]


def start_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of a running server."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("TEXTCAT_MIRROR", raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.socket.close()


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    yield from start_server(monkeypatch)


def use_card(monkeypatch: pytest.MonkeyPatch, address: str, *tokens: str) -> CorpusCard:
    """Let RCV1-v2 be two documents, the token file at these addresses in turn."""
    files = (
        RemoteFile(
            name="lyrl2004_tokens_train.dat.gz" if "large" not in tokens[0] else "lyrl2004_tokens_train.dat",
            urls=tuple(address + name for name in tokens),
        ),
        RemoteFile(name="rcv1-v2.topics.qrels.gz", urls=(address + "qrels",)),
    )
    package = Package(title="made files", files=files, max_bytes=MOST_BYTES)
    made = load_card("rcv1").model_copy(update={"packages": (package,), "counts": {"documents": 2}})
    monkeypatch.setattr(fetch_module, "load_card", lambda _: made)
    return made


def left_behind(data: Path) -> list[str]:
    """All files and folders but the lock and the collection."""
    found = [path.relative_to(data).as_posix() for path in data.rglob("*")]
    return sorted(name for name in found if not name.startswith((".locks", "rcv1")))


@pytest.mark.parametrize("bad", ["endless", "slow_chunks"])
def test_the_next_source_is_tried(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    use_card(monkeypatch, address, bad, "tokens")
    report = fetch_corpus("rcv1", tmp_path, retry=QUICK)
    assert report.counts["documents"] == 2
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("bad", BAD)
def test_without_another_source_the_reason_is_given_and_nothing_stays(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    use_card(monkeypatch, address, bad)
    with pytest.raises(DataNotAvailableError) as caught:
        fetch_corpus("rcv1", tmp_path, retry=QUICK)
    message = str(caught.value)
    expected = {
        "endless": "more than 2000000 bytes",
        "announced": "announces 1,000,000,000,000,000 bytes",
        "cut": "received only 4 of 100000 bytes",
    }
    assert expected.get(bad, "too slow") in message
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert files == []


@pytest.mark.parametrize(
    ("tokens", "kilobytes"), [("large", 300), ("large", 2500), ("large_without_length", 1500)]
)
def test_a_full_disk_is_said_once_and_nothing_stays(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokens: str, kilobytes: int
) -> None:
    """It fills up while the file of 1.4 MB is downloaded, or while it is copied to its place."""
    use_card(monkeypatch, address, tokens, "tokens")
    monkeypatch.setattr(archives, "_SPARE_BYTES", -(10**9))
    data = tmp_path / "data"
    if not _mounted(data, "-o", f"size={kilobytes}k"):
        pytest.skip("no small disk can be mounted here (needs root)")
    try:
        with pytest.raises(StageFailedError, match="No space left") as caught:
            fetch_corpus("rcv1", data, retry=QUICK)
        assert "Tried" not in str(caught.value)
        assert str(data) in caught.value.where
        assert left_behind(data) == []
    finally:
        _unmount(data)


def test_a_disk_that_is_too_small_is_said_before_the_download(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_card(monkeypatch, address, "large", "tokens")
    monkeypatch.setattr(archives, "_SPARE_BYTES", 10**15)
    with pytest.raises(StageFailedError, match="the disk is full"):
        fetch_corpus("rcv1", tmp_path, retry=QUICK)
    assert left_behind(tmp_path) == []


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "-l", str(folder)], check=True)
