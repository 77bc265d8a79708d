"""A progress bar on standard error when a person watches; nothing when the output is piped."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textcat.experiment.steps.step import Progress


def watcher() -> Progress:
    """A bar on a terminal, silence elsewhere or where only errors are wanted."""
    import logging

    from textcat.experiment.steps.step import silent

    if not sys.stderr.isatty() or not logging.getLogger("textcat").isEnabledFor(logging.WARNING):
        return silent
    return _Bar()


class _Bar:
    """One line that follows the current piece of work."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task: Any = None
        self._what = ""

    def __call__(self, done: int, total: int | None, what: str) -> None:
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task(what, total=total)
        if what != self._what:
            self._bar.reset(self._task, total=total, description=what)
            self._what = what
        self._bar.update(self._task, completed=done, total=total)

    def __del__(self) -> None:
        self._bar.stop()


def download_watcher() -> Any:
    """The same for transfers: bytes done, rate and time left."""
    bar = watcher()

    def show(progress: Any) -> None:
        left = f", {progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
        bar(progress.done, progress.total, f"{progress.what} at {progress.rate / 1e6:.1f} MB/s{left}")

    return show
