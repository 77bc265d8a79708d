"""Options, folders, progress bars and colours that commands share."""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from textcat.cli.output import VisibleFormatter, print_text
from textcat.experiment.context import ProgressReporter, RunContext, ignore_progress


def has_colours() -> bool:
    """Return whether standard output is a terminal and NO_COLOR is not set."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()


def make_progress_bar() -> ProgressReporter:
    """Return a progress bar on standard error; no bar without a terminal or with --quiet."""
    if not sys.stderr.isatty() or not logging.getLogger("textcat").isEnabledFor(logging.WARNING):
        return ignore_progress
    return _ProgressBar()


class _ProgressBar:
    """Show the current piece of work in one line."""

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


CommandFunction = Callable[..., Any]


@dataclass(frozen=True)
class CommandSettings(RunContext):
    """The run context that a command's options describe, and what only the command itself needs."""

    dry_run: bool = False
    quiet: bool = False
    verbose: bool = False
    backend: str | None = None
    scheduler: str | None = None
    reading: str | None = None

    def print_unless_quiet(self, text: str = "") -> None:
        """Print for people, on standard output; with --quiet print nothing."""
        if not self.quiet:
            print_text(text)


class FolderToWrite(click.Path):
    """A folder that exists or will be made; `-`, files, pipes, devices and symlinks to nothing are refused."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path; fail if it cannot be a folder."""
        if str(value) in ("", "-"):
            self.fail(
                f"{str(value)!r} is not a folder, and a folder is written. Name one, such as ./out.",
                param,
                ctx,
            )
        folder = Path(os.fsdecode(super().convert(value, param, ctx)))
        if os.path.lexists(folder) and not folder.is_dir():
            what = "a symlink to no folder" if folder.is_symlink() else "not a folder"
            self.fail(
                f"{str(folder)!r} is {what}. Name a folder, or a path where nothing is yet.", param, ctx
            )
        return folder


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class Duration(click.ParamType[float]):
    """A time such as 90s, 20m or 2h, in seconds; `units` are the letters that may follow the number."""

    name = "time"

    def __init__(self, units: str = "smh", examples: str = "90s, 20m or 2h") -> None:
        self._units, self._examples = units, examples

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds."""
        found = re.fullmatch(rf"(\d+(?:\.\d+)?)([{self._units}])", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a time such as {self._examples}", param, ctx)
        return float(found[1]) * _SECONDS[found[2]]


def _join_options(*options: CommandFunction) -> CommandFunction:
    """Return a decorator that adds options in the order in which `--help` lists them."""

    def add(command: CommandFunction) -> CommandFunction:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_verbosity = (
    click.option("-q", "--quiet", is_flag=True, help="Print nothing on success."),
    click.option("-v", "--verbose", count=True, help="Print more messages; -vv prints all."),
)
add_data_option = click.option(
    "--data",
    type=FolderToWrite(),
    envvar="TEXTCAT_DATA",
    default=Path("data"),
    help="Folder for collections and the cache.  [env: TEXTCAT_DATA; default: data]",
)
# Each folder has an environment variable and a default.
_folders = (
    add_data_option,
    click.option(
        "--results",
        type=FolderToWrite(),
        envvar="TEXTCAT_RESULTS",
        default=Path("results"),
        help="Folder for reports.  [env: TEXTCAT_RESULTS; default: results]",
    ),
    click.option(
        "--mirror",
        type=click.Path(path_type=Path),
        envvar="TEXTCAT_MIRROR",
        help="Folder with copies of collections.  [env: TEXTCAT_MIRROR]",
    ),
)
# For all commands: folders and verbosity.
add_common_options = _join_options(*_folders, *_verbosity)
add_jobs_option = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    envvar="TEXTCAT_JOBS",
    help="Number of threads.  [default: all cores]",
)
# For commands that do work: also --jobs, --offline and --dry-run.
add_work_options = _join_options(
    *_verbosity,
    *_folders,
    add_jobs_option,
    click.option("--offline", is_flag=True, help="Do not use the network."),
    click.option("--dry-run", is_flag=True, help="Print what would be done for each stage, and do nothing."),
)
add_backend_options = _join_options(
    click.option(
        "--backend",
        type=click.Choice(["threads", "processes", "dask"]),
        envvar="TEXTCAT_BACKEND",
        help="How to run independent work (text chunks, folds, grid points, category blocks, batches to predict) in "
        "parallel.  "
        "[env: TEXTCAT_BACKEND; default: one after another on --jobs threads; own tokenizers in --jobs processes]",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        envvar="TEXTCAT_SCHEDULER",
        help="Address of a running Dask scheduler, such as tcp://host:8786. Without it, --backend dask starts --jobs "
        "local workers.  [env: TEXTCAT_SCHEDULER]",
    ),
)


def read_command_settings(settings: dict[str, Any]) -> CommandSettings:
    """Set up logging and return the settings that the shared options of a command describe."""
    verbose, jobs = settings.get("verbose", 0), settings.get("jobs")
    set_up_logging(verbose, settings.get("quiet", False))
    if jobs:
        # BLAS libraries read these variables when they are loaded.
        for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(name, str(jobs))
    return CommandSettings(**{**settings, "jobs": jobs or os.cpu_count() or 1, "verbose": verbose > 0})


@contextmanager
def start_context(settings: CommandSettings) -> Iterator[CommandSettings]:
    """Yield the settings with progress bars and running workers; during the block the cache is not cleared."""
    from textcat.parallel import start_workers
    from textcat.store.cache_folder import use_cache

    with (
        use_cache(settings.data / "cache"),
        start_workers(settings.backend, settings.jobs, settings.scheduler) as executor,
    ):
        yield replace(settings, progress=make_progress_bar(), executor=executor)


def set_up_logging(verbose: int, quiet: bool) -> None:
    """Send messages of textcat to standard error; standard output is for results."""
    if quiet:
        warnings.simplefilter("ignore")
    level = logging.ERROR if quiet else (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        VisibleFormatter("%(message)s" if verbose < 2 else "%(levelname)s %(name)s: %(message)s")
    )
    logger = logging.getLogger("textcat")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
