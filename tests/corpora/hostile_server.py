"""A web server on loopback with faults that a test chooses."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(BODY).hexdigest()
ETAG = '"first"'


@dataclass
class Log:
    """What the server was asked for: paths, and the Range of each request."""

    paths: list[str] = field(default_factory=list)
    ranges: list[str | None] = field(default_factory=list)
    etag: str = ETAG


class Handler(BaseHTTPRequestHandler):
    """Each path is one way of misbehaving; the number of earlier requests for it is `self.turn`."""

    log: Log
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Keep tests silent."""

    def do_GET(self) -> None:
        path = self.path.strip("/").split("/")[0]
        self.turn = sum(each == self.path for each in self.log.paths)
        self.log.paths.append(self.path)
        self.log.ranges.append(self.headers.get("Range"))
        self.close_connection = True
        getattr(self, f"answer_{path.replace('-', '_')}")()

    def send(self, body: bytes, *, status: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def asked_from(self) -> int:
        asked = self.headers.get("Range")
        condition = self.headers.get("If-Range")
        if asked is None or (condition is not None and condition != self.log.etag):
            return 0
        return int(asked.removeprefix("bytes=").removesuffix("-"))

    def send_from(self, start: int, stop: int | None = None) -> None:
        rest = BODY[start:]
        headers = {"ETag": self.log.etag}
        if start:
            headers["Content_Range"] = f"bytes {start}-{len(BODY) - 1}/{len(BODY)}"
        self.send(rest[:stop], status=206 if start else 200, length=len(rest), **headers)

    def answer_good(self) -> None:
        self.send_from(0)

    def answer_unannounced(self) -> None:
        """No Content-Length: the end of the connection is the end of the file."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(BODY)

    def answer_truncated_twice(self) -> None:
        self.send_from(self.asked_from(), 100_000 if self.turn < 2 else None)

    def answer_truncated_without_etag(self) -> None:
        self.send(BODY[:100_000] if self.turn == 0 else BODY, length=len(BODY))

    def answer_always_truncated(self) -> None:
        self.send(BODY[:1000], length=len(BODY))

    def answer_range_ignored(self) -> None:
        self.send(BODY[:100_000] if self.turn == 0 else BODY, length=len(BODY), ETag=ETAG)

    def answer_wrong_range(self) -> None:
        if self.asked_from():
            self.send(BODY, status=206, ETag=ETAG, Content_Range=f"bytes 0-{len(BODY) - 1}/{len(BODY)}")
        else:
            self.send(BODY[:100_000] if self.turn == 0 else BODY, length=len(BODY), ETag=ETAG)

    def answer_range_refused(self) -> None:
        if self.headers.get("Range"):
            self.send(b"", status=416)
        else:
            self.send(BODY[:100_000] if self.turn == 0 else BODY, length=len(BODY), ETag=ETAG)

    def answer_changed_between(self) -> None:
        """The file changes after the first, broken transfer: the pieces must not be glued together."""
        if self.turn == 0:
            self.send(b"x" * 100_000, length=len(BODY), ETag='"older"')
        else:
            self.send_from(self.asked_from())

    def answer_wrong(self) -> None:
        self.send(BODY[:-1] + b"!")

    def answer_missing(self) -> None:
        self.send(b"no", status=404)

    def answer_forbidden(self) -> None:
        self.send(b"no", status=403)

    def answer_busy_then_good(self) -> None:
        if self.turn < 2:
            self.send(b"busy", status=500 if self.turn else 503)
        else:
            self.send(BODY)

    def answer_loop(self) -> None:
        self.send(b"", status=302, Location="/loop")

    def answer_endless_redirects(self) -> None:
        self.send(b"", status=302, Location=f"/endless-redirects/{len(self.log.paths)}")

    def answer_redirect(self) -> None:
        self.send(b"", status=301, Location="/good")

    def answer_redirect_to_file(self) -> None:
        self.send(b"", status=302, Location="file:///etc/hostname")

    def answer_drip(self) -> None:
        """One byte now and then, for ever as far as the client can tell."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        for number in range(100):
            try:
                self.wfile.write(BODY[number : number + 1])
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.02)

    def answer_silence(self) -> None:
        time.sleep(1.0)

    def answer_endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            for _ in range(100):
                self.wfile.write(BODY)
        except OSError:
            return


@contextmanager
def serving() -> Iterator[tuple[str, Log]]:
    """The address of a running server and the log of its requests."""
    log = Log()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"log": log}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/", log
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
