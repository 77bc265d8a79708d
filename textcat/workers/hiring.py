"""From the settings of a command to those who carry out its work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec

from textcat.errors import UsageError
from textcat.workers.crew import Crew
from textcat.workers.machine import OfThisMachine

BACKENDS = ("threads", "processes", "dask")


@contextmanager
def hired(backend: str | None, jobs: int, scheduler: str | None = None) -> Iterator[Crew | None]:
    """The crew of a backend for the time of the work; none without a backend: each step goes its own way."""
    if scheduler and backend not in (None, "dask"):
        raise UsageError(
            f"--scheduler is for Dask, not for --backend {backend}",
            hint="Leave it out, or use --backend dask.",
        )
    if scheduler and "://" not in scheduler:
        raise UsageError(
            f"{scheduler!r} is not the address of a scheduler", hint="It looks like tcp://host:8786."
        )
    if backend in ("threads", "processes"):
        yield OfThisMachine("threads" if backend == "threads" else "processes", jobs)
    elif backend == "dask" or scheduler:
        _expect_dask()
        from textcat.workers.dask_cluster import OfCluster  # noqa: PLC0415 - only where it is installed

        with closing(OfCluster(scheduler, jobs)) as crew:
            yield crew
    else:
        yield None


def _expect_dask() -> None:
    if find_spec("distributed") is None:
        raise UsageError("Dask is not installed here", hint="Run `pip install 'textcat[dask]'`.")
