"""Open addresses over HTTP with safe redirects; imported only for a download, because ssl is slow to load."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import IO, Any
from urllib.parse import urlsplit


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


def open_address(url: str, headers: dict[str, str], timeout: float) -> http.client.HTTPResponse:
    """Return the answer of a server; the caller checks the scheme of the address."""
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the scheme is checked by the caller
    opener = urllib.request.build_opener(_SafeRedirectHandler)
    answer: http.client.HTTPResponse = opener.open(request, timeout=timeout)
    return answer
