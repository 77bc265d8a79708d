"""Open addresses over HTTP with safe redirects; imported only for a download, because ssl is slow to load."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
import urllib.error
import urllib.request
from functools import partial
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from textcat.corpora.fetch.download import RetryPolicy


class _SafeRedirectHandler(urllib.request.HTTPRedirectHandler):
    """Follow at most ten redirects, only to http or https, and never from https to http."""

    max_redirections = 10

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after not in ("http", "https") or (before == "https" and after == "http"):
            raise urllib.error.HTTPError(newurl, code, f"redirected from {before} to {after}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _PacedReader(io.RawIOBase):
    """Bytes of a connection; reading fails if too few arrive within a time.

    A timeout of the socket alone does not end a transfer that sends one byte now and then, in the header or between
    the pieces of the body, where no other code sees progress.
    """

    def __init__(self, stream: io.RawIOBase, retry: RetryPolicy) -> None:
        self._stream = stream
        self._retry = retry
        self._waited = 0.0
        self._received = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what has arrived; raise TimeoutError if the connection is too slow."""
        started = time.monotonic()
        number = self._stream.readinto(buffer)
        self._waited += time.monotonic() - started
        self._received += number or 0
        if self._waited >= self._retry.slow_for:
            rate = self._received / self._waited
            if number and rate < self._retry.slowest_rate:
                raise TimeoutError(f"too slow: {rate:.0f} bytes per second")
            self._waited, self._received = 0.0, 0
        return int(number) if number is not None else None

    def close(self) -> None:
        """Close the connection too."""
        self._stream.close()
        super().close()


class _PacedResponse(http.client.HTTPResponse):
    """A response that is read at a pace, from its first header on."""

    def __init__(self, sock: socket.socket, *arguments: Any, retry: RetryPolicy, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self.fp = io.BufferedReader(_PacedReader(self.fp.detach(), retry))


def _connect(kind: type[http.client.HTTPConnection], retry: RetryPolicy, host: str, **named: Any) -> Any:
    connection = kind(host, **named)
    connection.response_class = partial(_PacedResponse, retry=retry)  # type: ignore[assignment]
    return connection


class _PacedHttp(urllib.request.HTTPHandler):
    """Open http addresses."""

    def __init__(self, retry: RetryPolicy) -> None:
        super().__init__()
        self._retry = retry

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_connect, http.client.HTTPConnection, self._retry), req)


class _PacedHttps(urllib.request.HTTPSHandler):
    """Open https addresses; certificates are verified."""

    def __init__(self, retry: RetryPolicy) -> None:
        self._verifying = ssl.create_default_context()
        super().__init__(context=self._verifying)
        self._retry = retry

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        connect = partial(_connect, http.client.HTTPSConnection, self._retry)
        return self.do_open(connect, req, context=self._verifying)


def open_address(url: str, headers: dict[str, str], retry: RetryPolicy) -> http.client.HTTPResponse:
    """Return the answer of a server; the caller checks the scheme of the address."""
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the scheme is checked by the caller
    opener = urllib.request.build_opener(_SafeRedirectHandler, _PacedHttp(retry), _PacedHttps(retry))
    answer: http.client.HTTPResponse = opener.open(request, timeout=retry.timeout)
    return answer
