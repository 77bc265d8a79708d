"""Download one file over HTTP so that it is either complete and verified, or absent.

The bytes are written to NAME.part beside the target and hashed; the complete file is flushed to disk and renamed.
An interrupted transfer is resumed (Range) if the server can show that the file is the same (If-Range with its ETag
or date) or the sha256 is known. A file with the wrong hash is deleted. Proxies are those of the environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from textcat.corpora.fetch.archives import require_disk_space
from textcat.errors import BadDataError, DataNotAvailableError
from textcat.store.files import flush_to_disk, is_disk_error, make_write_error

if TYPE_CHECKING:
    import http.client
    import urllib.error


# Receives the bytes done, their total if it is known, and the name of the transfer with its rate and the time left.
ProgressCallback = Callable[[int, int | None, str], None]


@dataclass(frozen=True)
class RetryPolicy:
    """Timeouts (seconds), attempts, and the rate (bytes per second) below which a transfer is stopped."""

    timeout: float = 30.0
    attempts: int = 4
    first_pause: float = 1.0
    slowest_rate: float = 1000.0
    slow_for: float = 60.0


class TryAgainError(Exception):
    """A temporary failure: the transfer is retried after a pause."""


@dataclass
class TransferMeter:
    """Counts the bytes received beside those held, reports progress, and stops transfers that are too large."""

    what: str
    held: int
    total: int | None
    limit: int
    report: ProgressCallback | None
    received: int = 0
    started: float = field(default_factory=time.monotonic)

    def add(self, number: int) -> None:
        """Count received bytes."""
        self.received += number
        done = self.held + self.received
        if done > self.limit:
            raise BadDataError(
                f"received more than {self.limit} bytes",
                where=self.what,
                hint="The source has another file: use another one with --from.",
            )
        if self.report is not None:
            rate = self.received / max(time.monotonic() - self.started, 1e-9)
            known = self.total is not None and rate > 0
            left = f", {((self.total or 0) - done) / rate:.0f} s left" if known else ""
            self.report(done, self.total, f"{self.what} at {rate / 1e6:.1f} MB/s{left}")


_READ_BYTES = 1 << 16
# `str.isdigit` accepts signs that `int` refuses, and `int` refuses thousands of digits.
_SIZE = re.compile("[0-9]{1,18}")
_RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass
class Download:
    """The download of one file from one address."""

    url: str
    target: Path
    sha256: str | None = None
    max_bytes: int = 20_000_000_000
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    progress: ProgressCallback | None = None
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise DataNotAvailableError(
                "not an http or https address",
                where=self.url,
                hint="Use such an address, or name a folder with --from.",
            )
        self.continued = False
        self.part = self.target.with_name(self.target.name + ".part")
        self.note = _locate_note(self.target)

    def run(self) -> str:
        """Download the file; return its sha256."""
        self.target.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, self.retry.attempts + 1):
            try:
                return self._accept(self._transfer())
            except TryAgainError as problem:
                last = str(problem)
            if attempt < self.retry.attempts:
                self.sleep(self.retry.first_pause * 2 ** (attempt - 1))
        if self._count_resumable_bytes() == 0:
            self._forget()
        raise DataNotAvailableError(
            f"{last} (tried {self.retry.attempts} times)",
            where=self.url,
            hint="Try again later: the transfer will be resumed.",
        )

    def _accept(self, digest: str) -> str:
        if self.sha256 is not None and digest != self.sha256:
            self._forget()
            what = f"the file has sha256 {digest}, not {self.sha256}; it was deleted"
            if self.continued:
                raise TryAgainError(what)
            raise BadDataError(
                what, where=self.url, hint="Fetch again; if this repeats, use another source with --from."
            )
        self.part.replace(self.target)
        self.note.unlink(missing_ok=True)
        flush_to_disk(self.target.parent)
        return digest

    def _transfer(self) -> str:
        """Try once to complete NAME.part; return its sha256."""
        import http.client  # noqa: PLC0415 - loads ssl
        import urllib.error  # noqa: PLC0415 - loads ssl

        held = self._count_resumable_bytes()
        try:
            with self._open(held) as answer:
                if answer.status != HTTPStatus.PARTIAL_CONTENT:
                    held = 0
                elif not (answer.headers.get("Content-Range") or "").startswith(f"bytes {held}-"):
                    self._forget()
                    raise TryAgainError("the server sent another range than requested")
                self.continued = held > 0
                return self._receive(answer, held)
        except urllib.error.HTTPError as problem:
            raise self._convert_http_error(problem) from problem
        except ValueError as problem:
            raise DataNotAvailableError(
                f"the answer of the server is not valid HTTP ({problem})",
                where=self.url,
                hint="Take the files from a mirror: --mirror, or --from FOLDER.",
            ) from problem
        except (OSError, http.client.HTTPException) as problem:
            if isinstance(problem, OSError) and (is_disk_error(problem) or problem.filename is not None):
                self._forget()
                raise make_write_error(self.part, problem) from problem
            reason = getattr(problem, "reason", None) or problem
            if isinstance(reason, socket.gaierror) and reason.errno == socket.EAI_NONAME:
                raise DataNotAvailableError(
                    "unknown host (no network?)",
                    where=self.url,
                    hint="Check the network, or name a folder with the files with --from.",
                ) from problem
            raise TryAgainError(f"the transfer failed ({reason})") from problem

    def _count_resumable_bytes(self) -> int:
        """Return how many bytes of an earlier attempt can be used."""
        if not self.part.exists():
            return 0
        if self.sha256 is None and self._read_validator() is None:
            self._forget()
            return 0
        return self.part.stat().st_size

    def _read_validator(self) -> str | None:
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return note.get("validator") if note.get("url") == self.url else None

    def _open(self, held: int) -> http.client.HTTPResponse:
        headers = {"User-Agent": "textcat", "Accept-Encoding": "identity"}
        if held:
            headers["Range"] = f"bytes={held}-"
            validator = self._read_validator()
            if validator is not None:
                headers["If-Range"] = validator
        from textcat.corpora.fetch.http_requests import open_address  # noqa: PLC0415 - loads ssl

        return open_address(self.url, headers, self.retry)

    def _convert_http_error(self, problem: urllib.error.HTTPError) -> Exception:
        problem.close()
        if problem.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            self._forget()
            return TryAgainError("the server could not resume the transfer")
        if problem.code in _RETRYABLE_STATUSES:
            return TryAgainError(f"the server answered {problem.code} {problem.reason}")
        return DataNotAvailableError(
            f"the server answered {problem.code} {problem.reason}",
            where=self.url,
            hint="Try again later, or use a mirror with --mirror or --from FOLDER.",
        )

    def _receive(self, answer: http.client.HTTPResponse, held: int) -> str:
        # The size of the whole file, if the server states it.
        length = answer.headers.get("Content-Length")
        total = held + int(length) if length is not None and _SIZE.fullmatch(length) else None
        if total is not None and total > self.max_bytes:
            self._forget()
            raise BadDataError(
                f"the server announces {total:,} bytes, more than {self.max_bytes:,}",
                where=self.url,
                hint="The source has another file: use another one with --from.",
            )
        require_disk_space(self.target.parent, (total or 0) - held)
        validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
        if validator is not None and validator.startswith("W/"):
            validator = answer.headers.get("Last-Modified")
        self.note.write_text(json.dumps({"url": self.url, "validator": validator}), encoding="utf-8")
        digest = hashlib.sha256()
        if held:
            with self.part.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256")
        limit = total if total is not None else self.max_bytes
        meter = TransferMeter(self.target.name, held, total, limit, self.progress)
        with self.part.open("ab" if held else "wb") as out:
            try:
                while step := answer.read1(_READ_BYTES):
                    out.write(step)
                    digest.update(step)
                    meter.add(len(step))
            except BadDataError:
                self._forget()
                raise
            finally:
                out.flush()
                os.fsync(out.fileno())
        if total is not None and held + meter.received != total:
            raise TryAgainError(f"received only {held + meter.received} of {total} bytes")
        return str(digest.hexdigest())

    def _forget(self) -> None:
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _locate_note(target: Path) -> Path:
    return target.with_name(target.name + ".part.json")


def remove_note(target: Path) -> None:
    """Remove the note that a run killed at the end of a download left beside the file."""
    _locate_note(target).unlink(missing_ok=True)
