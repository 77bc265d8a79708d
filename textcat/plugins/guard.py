"""Loading and calling what other packages add: whatever goes wrong in it is one message that names the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from textcat.errors import StageFailedError, TextcatError
from textcat.plugins.discovery import Plugin

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@contextmanager
def blaming(plugin: Plugin, what: str) -> Iterator[None]:
    """Turn any error into one that names the plugin; messages of textcat's own kind stay as they are."""
    try:
        yield
    except TextcatError:
        raise
    except Exception as error:
        raise StageFailedError(
            f"{plugin.title} {what}: {type(error).__name__}: {error}",
            where=plugin.entry.value,
            hint=f"This is a fault of {plugin.distribution}, or of how it is used; -vv shows where in it.",
        ) from error


def loaded(plugin: Plugin, expected: type | None = None) -> Any:
    """The object behind the entry point, which must be of a type, or else callable."""
    with blaming(plugin, "cannot be loaded"):
        found = plugin.entry.load()
        if not (callable(found) if expected is None else isinstance(found, expected)):
            wanted = "a function" if expected is None else f"a {expected.__module__}.{expected.__qualname__}"
            raise TypeError(f"it must be {wanted}, and is {found!r}")
    return found


def guarded(plugin: Plugin, function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A plugin's function, whose errors name the plugin."""

    @wraps(function, updated=())
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with blaming(plugin, "failed"):
            return function(*args, **kwargs)

    return call
