"""Options, folders, progress bars and colours that commands share."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from textcat.experiment.steps.step import ProgressReporter


def has_colours() -> bool:
    """Whether standard output is a terminal whose user has not asked for plain text (NO_COLOR)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()


def make_progress_bar() -> ProgressReporter:
    """A bar on a terminal, silence elsewhere or where only errors are wanted."""
    import logging

    from textcat.experiment.steps.step import ignore_progress

    if not sys.stderr.isatty() or not logging.getLogger("textcat").isEnabledFor(logging.WARNING):
        return ignore_progress
    return _ProgressBar()


class _ProgressBar:
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


def make_download_bar() -> Any:
    """The same for transfers: bytes done, rate and time left."""
    bar = make_progress_bar()

    def show(progress: Any) -> None:
        left = f", {progress.seconds_left:.0f} s left" if progress.seconds_left is not None else ""
        bar(progress.done, progress.total, f"{progress.what} at {progress.rate / 1e6:.1f} MB/s{left}")

    return show


CommandFunction = Callable[..., Any]


@dataclass(frozen=True)
class CommandSettings:
    """Where data and results stand, and how much of the machine may be used."""

    data: Path
    results: Path
    mirror: Path | None
    jobs: int
    offline: bool
    dry_run: bool
    quiet: bool = False
    backend: str | None = None
    scheduler: str | None = None

    def print_unless_quiet(self, text: str = "") -> None:
        """Tell a person how it went, on standard output; under --quiet files and the exit code alone do."""
        if not self.quiet:
            click.echo(text)


def add_verbosity_options(command: CommandFunction) -> CommandFunction:
    """-v and -q, for every command."""
    command = click.option("-v", "--verbose", count=True, help="Say more; -vv shows everything.")(command)
    return click.option("-q", "--quiet", is_flag=True, help="Say nothing when all is well, as for cron.")(
        command
    )


def add_folder_options(command: CommandFunction) -> CommandFunction:
    """Where things stand: from flags, then environment, then the folders of the project."""
    command = click.option(
        "--mirror",
        type=click.Path(path_type=Path),
        envvar="TEXTCAT_MIRROR",
        help="A folder of collections to take files from.  [env: TEXTCAT_MIRROR]",
    )(command)
    command = click.option(
        "--results",
        type=click.Path(path_type=Path),
        envvar="TEXTCAT_RESULTS",
        default=Path("results"),
        help="Where reports go.  [env: TEXTCAT_RESULTS; default: results]",
    )(command)
    return click.option(
        "--data",
        type=click.Path(path_type=Path),
        envvar="TEXTCAT_DATA",
        default=Path("data"),
        help="Where collections and the cache stand.  [env: TEXTCAT_DATA; default: data]",
    )(command)


def add_work_options(command: CommandFunction) -> CommandFunction:
    """For commands that do work: folders, --jobs, --offline, --dry-run and verbosity."""
    command = click.option(
        "--dry-run", is_flag=True, help="Say what would be done, stage by stage; do nothing."
    )(command)
    command = click.option("--offline", is_flag=True, help="Use no network.")(command)
    command = click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=1),
        envvar="TEXTCAT_JOBS",
        help="Threads.  [default: all cores]",
    )(command)
    return add_verbosity_options(add_folder_options(command))


def add_backend_options(command: CommandFunction) -> CommandFunction:
    """For commands whose pieces of work others may do: --backend and --scheduler."""
    command = click.option(
        "--scheduler",
        metavar="ADDRESS",
        envvar="TEXTCAT_SCHEDULER",
        help="A Dask scheduler that stands, such as tcp://host:8786; without it --backend dask starts --jobs "
        "workers here.  [env: TEXTCAT_SCHEDULER]",
    )(command)
    return click.option(
        "--backend",
        type=click.Choice(["threads", "processes", "dask"]),
        envvar="TEXTCAT_BACKEND",
        help="Who works on chunks of text, folds, grid points and blocks of categories at the same time.  "
        "[env: TEXTCAT_BACKEND; default: processes for chunks, the rest one after another on --jobs threads]",
    )(command)


def read_command_settings(settings: dict[str, Any]) -> CommandSettings:
    """Take the shared options out of a command's arguments, and set up logging."""
    quiet = settings.pop("quiet", False)
    set_up_logging(settings.pop("verbose", 0), quiet)
    if settings.get("jobs"):
        limit_library_threads(settings["jobs"])
    return CommandSettings(
        data=settings.pop("data"),
        results=settings.pop("results"),
        mirror=settings.pop("mirror"),
        jobs=settings.pop("jobs", None) or os.cpu_count() or 1,
        offline=settings.pop("offline", False),
        dry_run=settings.pop("dry_run", False),
        quiet=quiet,
        backend=settings.pop("backend", None),
        scheduler=settings.pop("scheduler", None),
    )


def limit_library_threads(jobs: int) -> None:
    """Hold the libraries of dense matrices to as many threads; they read this once, when they are loaded."""
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, str(jobs))


def set_up_logging(verbose: int, quiet: bool) -> None:
    """Messages of textcat itself on standard error; results alone go to standard output."""
    if quiet:
        warnings.simplefilter("ignore")
    level = logging.ERROR if quiet else (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        logging.Formatter("%(message)s" if verbose < 2 else "%(levelname)s %(name)s: %(message)s")
    )
    logger = logging.getLogger("textcat")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
