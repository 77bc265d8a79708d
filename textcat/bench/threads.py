"""One thread for everybody, where the libraries of linear algebra can be asked for that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra libraries to one thread inside."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        yield
        return
    with threadpool_limits(1):
        yield
