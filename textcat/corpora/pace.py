"""How fast a transfer goes: what is told of its progress, and when it is given up as endless or creeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from textcat.errors import BadDataError


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one transfer has come."""

    what: str
    done: int
    total: int | None
    rate: float
    seconds_left: float | None


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True)
class Patience:
    """How long and how often to try: seconds, and bytes a second below which a transfer is given up."""

    timeout: float = 30.0
    attempts: int = 4
    first_pause: float = 1.0
    slowest_rate: float = 1000.0
    slow_for: float = 60.0


class TryAgainError(Exception):
    """A failure that may pass: the transfer is taken up again after a pause."""


class Meter:
    """Counts bytes, reports progress, and stops what is too large or too slow."""

    def __init__(
        self,
        what: str,
        held: int,
        total: int | None,
        limit: int,
        patience: Patience,
        report: ProgressCallback | None,
    ) -> None:
        self.what = what
        self.held = held
        self.done = held
        self.total = total
        self.limit = limit
        self.patience = patience
        self.report = report
        self.started = self.window_started = time.monotonic()
        self.window_done = held

    def add(self, number: int) -> None:
        """Note that so many bytes came."""
        self.done += number
        if self.done > self.limit:
            raise BadDataError(
                f"more than {self.limit} bytes came",
                where=self.what,
                hint="The source offers another file: take it from a mirror, or name a folder with --from.",
            )
        now = time.monotonic()
        self._check_pace(now)
        if self.report is not None:
            self.report(self._progress(now))

    def _check_pace(self, now: float) -> None:
        if now - self.window_started < self.patience.slow_for:
            return
        rate = (self.done - self.window_done) / (now - self.window_started)
        if rate < self.patience.slowest_rate:
            raise TryAgainError(f"the transfer crept at {rate:.0f} bytes a second")
        self.window_started, self.window_done = now, self.done

    def _progress(self, now: float) -> Progress:
        rate = (self.done - self.held) / max(now - self.started, 1e-9)
        left = None if self.total is None or rate == 0 else (self.total - self.done) / rate
        return Progress(self.what, self.done, self.total, rate, left)
