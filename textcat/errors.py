"""The errors that users see: what went wrong, where, and what to do, each with its exit code."""

from __future__ import annotations


class TextcatError(Exception):
    """An error message for the user; `exit_code` is the exit code of the command line."""

    exit_code = 4

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.where, self.hint)


def _rebuild(kind: type[TextcatError], what: str, where: str, hint: str) -> TextcatError:
    return kind(what, where=where, hint=hint)


class UsageError(TextcatError):
    """A command, setting or configuration file is wrong."""

    exit_code = 2


def make_fit_error(what: str, hint: str) -> UsageError:
    """Return the error for wrong arguments of `textcat.linear.fit`."""
    return UsageError(what, where="fit", hint=hint)


class DataNotAvailableError(TextcatError):
    """The files of a collection are missing and could not be downloaded."""

    exit_code = 3


class BadDataError(TextcatError):
    """The contents of a file break its format; `where` is file:line or a document id."""

    exit_code = 4


class StageFailedError(TextcatError):
    """A stage started and failed."""

    exit_code = 4
